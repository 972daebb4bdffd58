package wgsl

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// paramsOf is the Go struct of every shader's Params.
var paramsOf = map[string]any{
	"attention_scores": attentionParams{}, "attention_scores_cooperative4": attentionParams{}, "attention_scores_cooperative": attentionParams{}, "attention_scores_matrix": attentionParams{}, "attention_scores_narrow": attentionParams{},
	"attention_softmax": attentionParams{}, "attention_softmax_matrix": attentionParams{},
	"attention_values": attentionParams{}, "attention_values_cooperative4": attentionParams{}, "attention_values_cooperative": attentionParams{}, "attention_values_matrix": attentionParams{}, "attention_values_narrow": attentionParams{},
	"avg_down_3d": avgDown3DParams{},
	"conv3d":      conv3dParams{}, "conv3d_columns": conv3dParams{}, "conv3d_cooperative": conv3dParams{}, "conv3d_cooperative4": conv3dParams{},
	"conv3d_f16": conv3dParams{}, "conv3d_matrix": conv3dParams{}, "conv3d_narrow": conv3dParams{}, "conv3d_strided_matrix": conv3dParams{}, "conv3d_tiled": conv3dParams{}, "conv3d_tiled_f16": conv3dParams{},
	"conv3d_winograd_rows": winogradParams{}, "conv3d_winograd_rows_columns": winogradParams{}, "winograd_inputs_rows": winogradInputsRowsParams{},
	"conv3d_winograd": conv3DWinogradParams{}, "conv3d_winograd_cooperative4": conv3DWinogradParams{}, "conv3d_winograd_passes": conv3DWinogradParams{},
	"conv3d_winograd_transformed": winogradParams{}, "conv3d_winograd_columns": winogradParams{}, "winograd_inputs": winogradInputsParams{}, "winograd_inputs_4": winogradInputs4Params{}, "winograd_weights_4": winogradWeights4Params{},
	"conv_up": convUpParams{}, "conv_up_columns": convUpParams{}, "conv_up_columns_cooperative": convUpParams{}, "conv_up_cooperative4": convUpParams{}, "conv_up_f16": convUpParams{}, "conv_up_matrix": convUpParams{}, "conv_up_narrow": convUpParams{},
	"conv_up_winograd": convUpWinogradParams{}, "conv_up_winograd_cooperative4": convUpWinogradParams{}, "conv_up_winograd_passes": convUpWinogradParams{},
	"conv_depthwise": convDepthwiseParams{}, "conv_grouped": convGroupedParams{},
	"dequantise": dequantiseParams{}, "quantise": quantiseParams{},
	"depth_to_space":    depthToSpaceParams{},
	"dup_up_3d":         dupUp3DParams{},
	"fade":              fadeParams{},
	"feather_blend":     featherBlendParams{},
	"feather_normalise": featherNormaliseParams{},
	"fold":              foldParams{},
	"group_norm_apply":  groupNormApplyParams{}, "group_norm_merge": groupNormMergeParams{}, "group_norm_partial": groupNormPartialParams{}, "group_norm_partial_by_group": groupNormPartialParams{},
	"winograd_weights": winogradWeightsParams{},
	"pointwise":        pointwiseParams{}, "pointwise_blocked": pointwiseParams{}, "pointwise_cooperative": pointwiseParams{}, "pointwise_cooperative4": pointwiseParams{},
	"pointwise_f16": pointwiseParams{}, "pointwise_matrix": pointwiseParams{}, "pointwise_narrow": pointwiseParams{}, "pointwise_tiled": pointwiseParams{}, "pointwise_tiled_f16": pointwiseParams{},
	"replicate":      replicateParams{},
	"rms_norm":       rmsNormParams{},
	"sample":         sampleParams{},
	"space_to_depth": spaceToDepthParams{},
	"spatial_norm":   spatialNormParams{},
	"sum_taps":       sumTapsParams{},
	"time_attention": timeAttentionParams{},
	"to_rgba8":       toRGBA8Params{},
	"unpatchify":     unpatchifyParams{},
}

// A shader's Params and its Go struct have equal fields in name, order and type; the Go
// name is the shader's with an upper-case first letter.
func TestParams(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range tables {
		for _, k := range table.kernels {
			for i := range k.shaders {
				h := k.shaders[i].forAdapter(gpu.Info{})
				name := path.Base(h.file)
				seen[name] = true
				t.Run(fmt.Sprintf("%s/%s/%s", table.operation, k.name, name), func(t *testing.T) {
					params := paramsOf[name]
					require.NotNil(t, params, "%s.wgsl has no Go struct in paramsOf", name)
					require.Equal(t, goFields(t, params), shaderFields(t, h.source(F32, F32)), "%T, then its shader", params)
				})
			}
		}
	}
	for file := range paramsOf {
		assert.True(t, seen[file], "%s is in paramsOf and in no table", file)
	}
}

var (
	paramsBlock = regexp.MustCompile(`struct Params \{([^}]*)\}`)
	comment     = regexp.MustCompile(`//.*`)
	fieldEnd    = regexp.MustCompile(`,\s*\n`)
)

// shaderFields lists "Name type" of a shader's struct Params.
func shaderFields(t *testing.T, source string) []string {
	block := paramsBlock.FindStringSubmatch(source)
	require.NotNil(t, block, "no struct Params")
	var fields []string
	for _, field := range fieldEnd.Split(comment.ReplaceAllString(block[1], ""), -1) {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, typ, ok := strings.Cut(field, ":")
		require.True(t, ok, "field %q", field)
		name = strings.TrimSpace(name)
		fields = append(fields, strings.ToUpper(name[:1])+name[1:]+" "+strings.TrimSpace(typ))
	}
	return fields
}

// goFields lists "Name type" of a Go struct.
func goFields(t *testing.T, params any) []string {
	wgsl := map[reflect.Type]string{
		reflect.TypeFor[gpu.First]():     "vec4<u32>",
		reflect.TypeFor[uint32]():        "u32",
		reflect.TypeFor[int32]():         "i32",
		reflect.TypeFor[float32]():       "f32",
		reflect.TypeFor[[4]uint32]():     "vec4<u32>",
		reflect.TypeFor[[4]float32]():    "vec4<f32>",
		reflect.TypeFor[[6][4]float32](): "array<vec4<f32>, 6>",
	}
	typ := reflect.TypeOf(params)
	assert.Equal(t, reflect.TypeFor[gpu.First](), typ.Field(0).Type, "the first field of %v", typ)
	fields := make([]string, typ.NumField())
	offset := 0
	for i := range fields {
		f := typ.Field(i)
		name := wgsl[f.Type]
		require.NotEmpty(t, name, "%v.%s: a uniform has no %v", typ, f.Name, f.Type)
		if strings.Contains(name, "vec4") {
			assert.Zero(t, offset%16, "%v.%s: a vec4 at offset %d, not a multiple of 16", typ, f.Name, offset)
		}
		offset += int(f.Type.Size())
		fields[i] = f.Name + " " + name
	}
	return fields
}

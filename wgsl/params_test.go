package wgsl

import (
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"tessera/gpu"
)

// paramsOf is the Go struct of every shader's Params.
var paramsOf = map[string]any{
	"attention_scores":   attentionParams{},
	"attention_softmax":  attentionParams{},
	"attention_values":   attentionParams{},
	"avg_down_3d":        avgDown3DParams{},
	"conv3d":             conv3dParams{},
	"conv3d_strided":     conv3dParams{},
	"dup_up_3d":          dupUp3DParams{},
	"feather_blend":      featherBlendParams{},
	"feather_normalise":  featherNormaliseParams{},
	"group_norm_apply":   groupNormApplyParams{},
	"group_norm_merge":   groupNormMergeParams{},
	"group_norm_partial": groupNormPartialParams{},
	"pointwise":          pointwiseParams{},
	"rms_norm":           rmsNormParams{},
	"sample":             sampleParams{},
	"to_rgba8":           toRGBA8Params{},
	"unpatchify":         unpatchifyParams{},
}

// A shader's Params and its Go struct have the same fields, in name, order and
// type; the Go name is the shader's with its first letter upper case.
func TestParams(t *testing.T) {
	names, err := filepath.Glob("*.wgsl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no shaders: %v", err)
	}
	for _, file := range names {
		name := strings.TrimSuffix(file, ".wgsl")
		t.Run(name, func(t *testing.T) {
			params := paramsOf[name]
			if params == nil {
				t.Fatalf("%s has no Go struct in paramsOf", file)
			}
			got := shaderFields(t, Source(name, F32, F32))
			want := goFields(t, params)
			if len(got) != len(want) {
				t.Fatalf("shader has %d fields %v, %T has %d %v", len(got), got, params, len(want), want)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("field %d is %s in the shader, %s in %T", i, got[i], want[i], params)
				}
			}
		})
	}
	if len(names) != len(paramsOf) {
		t.Errorf("%d shaders, %d structs", len(names), len(paramsOf))
	}
}

var (
	paramsBlock = regexp.MustCompile(`struct Params \{([^}]*)\}`)
	comment     = regexp.MustCompile(`//.*`)
)

// shaderFields lists "Name type" of a shader's struct Params.
func shaderFields(t *testing.T, source string) []string {
	block := paramsBlock.FindStringSubmatch(source)
	if block == nil {
		t.Fatal("no struct Params")
	}
	var fields []string
	for _, field := range strings.Split(comment.ReplaceAllString(block[1], ""), ",") {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, typ, ok := strings.Cut(field, ":")
		if !ok {
			t.Fatalf("field %q", field)
		}
		name = strings.TrimSpace(name)
		fields = append(fields, strings.ToUpper(name[:1])+name[1:]+" "+strings.TrimSpace(typ))
	}
	return fields
}

// goFields lists the same of a Go struct.
func goFields(t *testing.T, params any) []string {
	wgsl := map[reflect.Type]string{
		reflect.TypeFor[gpu.First]():  "vec4<u32>",
		reflect.TypeFor[uint32]():     "u32",
		reflect.TypeFor[int32]():      "i32",
		reflect.TypeFor[float32]():    "f32",
		reflect.TypeFor[[4]uint32]():  "vec4<u32>",
		reflect.TypeFor[[4]float32](): "vec4<f32>",
	}
	typ := reflect.TypeOf(params)
	if typ.Field(0).Type != reflect.TypeFor[gpu.First]() {
		t.Errorf("%v does not begin with gpu.First", typ)
	}
	fields := make([]string, typ.NumField())
	offset := 0
	for i := range fields {
		f := typ.Field(i)
		name := wgsl[f.Type]
		if name == "" {
			t.Fatalf("%v.%s: a uniform has no %v", typ, f.Name, f.Type)
		}
		if strings.HasPrefix(name, "vec4") && offset%16 != 0 {
			t.Errorf("%v.%s: a vec4 at offset %d, not a multiple of 16", typ, f.Name, offset)
		}
		offset += int(f.Type.Size())
		fields[i] = f.Name + " " + name
	}
	return fields
}

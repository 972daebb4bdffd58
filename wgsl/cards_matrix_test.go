//go:build !js

package wgsl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// The matrix kernels are for halves, on adapters with matrices of halves and f32 sums.
// Every set of such an adapter accepts them as a choice; sets that store f32, and
// weights that they can't take, keep the default kernel.
func TestMatricesChosen(t *testing.T) {
	card := able(16, 16, 16, 32)
	wide, narrow := Shape{O: 64, I: 32, KT: 3, KS: 3}, Shape{O: 3, I: 128, KT: 3, KS: 3}
	for operation, packing := range map[string]func(s *Set, at Shape) *Packing{
		"conv3d":         func(s *Set, at Shape) *Packing { return s.ConvPacking(at, 1) },
		"conv3d_strided": func(s *Set, at Shape) *Packing { return s.ConvPacking(at, 2) },
		"conv_up":        func(s *Set, at Shape) *Packing { at.KS, at.O = 2, 4*at.O; return s.ConvUpPacking(at) },
		"pointwise":      func(s *Set, at Shape) *Packing { return s.PointwisePacking(at) },
	} {
		choice := Choices{operation: "matrix"}
		s, err := NewSet(F16, card, choice)
		require.NoError(t, err)
		assert.Same(t, map[string]*Packing{"conv3d": rows16x64, "conv3d_strided": rows16x128, "conv_up": rows16x64, "pointwise": rows16x128}[operation], packing(s, wide), operation)
		assert.Same(t, blocks4x8, packing(s, narrow), operation)
		all := Kernels(operation, F16, card)
		assert.Equal(t, "matrix", all[len(all)-1])
		ofAll := slices.DeleteFunc(slices.Clone(all), func(name string) bool { // without those that multiply halves
			return name == "matrix" || strings.HasSuffix(name, "f16")
		})

		s, err = NewSet(F16, card, nil)
		require.NoError(t, err)
		assert.Same(t, blocks4x8, packing(s, wide), "%s, not chosen", operation)
		for _, e := range []Elem{F32, Packed} {
			s, err := NewSet(e, card, choice)
			require.NoError(t, err)
			assert.Same(t, blocks4x8, packing(s, wide), "%s of %v", operation, e)
			assert.Equal(t, ofAll, Kernels(operation, e, card))
		}
		for why, change := range map[string]func(i *gpu.Info){
			"no f16":                  func(i *gpu.Info) { i.F16 = false },
			"no subgroups":            func(i *gpu.Info) { i.Subgroups = false },
			"no matrices":             func(i *gpu.Info) { i.Matrices = nil },
			"other matrices":          func(i *gpu.Info) { i.Matrices = i.Matrices[:1] },
			"unknown subgroups":       func(i *gpu.Info) { i.SubgroupMax = 128 },
			"little workgroup memory": func(i *gpu.Info) { i.Limits.MaxWorkgroupMemory = 16 << 10 },
		} {
			other := card
			change(&other)
			_, err := NewSet(F16, other, choice)
			assert.ErrorContains(t, err, `no kernel "matrix" of "`+operation+`"`, why)
		}
	}
}

// Attention's matrix kernels are for the same sets; how they store exponentials is up
// to them.
func TestAttentionMatricesChosen(t *testing.T) {
	card := able(16, 8, 16, 32)
	require.Equal(t, []string{"plain", "matrix"}, Kernels("attention", F16, card))
	require.Equal(t, []string{"plain"}, Kernels("attention", Packed, card))
	card.Limits.MaxInvocations = 128 // a workgroup has 256
	require.Equal(t, []string{"plain"}, Kernels("attention", F16, card))
}

// Intel's cards have subgroups of several sizes; the layouts are for the smallest one,
// which the shader sets.
func TestIntelMatrices(t *testing.T) {
	for _, card := range []gpu.Info{able(8, 16, 16, 16), able(8, 8, 16, 8)} {
		card.SubgroupMax = 32
		l := layoutOf(card)
		require.NotNil(t, l)
		for operation, of := range map[string]int{"conv3d": 0, "conv3d_strided": 0, "conv_up": 0, "pointwise": 0, "attention": 2} {
			h := row(t, operation, "matrix").shaders[of].forAdapter(card)
			assert.Contains(t, h.source(F16, Packed), fmt.Sprintf("@compute @subgroup_size(%d) @workgroup_size(WG)\n", card.SubgroupMin), operation)
			assert.LessOrEqual(t, h.count("ROWS")*h.count("COLUMNS")*l.m*l.n/l.subgroup, 32, "%s: more sums spill", operation)
			assert.Zero(t, h.wg%card.SubgroupMax, "%s: Dawn requires workgroups of whole largest subgroups", operation)
		}
		card.SubgroupSize = false
		assert.Nil(t, layoutOf(card), "without a choice of sizes")
	}
}

// Each layout's matrices cover the block of channels that weights are packed for, in
// workgroups of whole subgroups.
func TestLayouts(t *testing.T) {
	for _, l := range layouts {
		info := able(l.m, l.n, l.k, l.subgroup)
		require.Equal(t, l, *layoutOf(info))
		require.Contains(t, matrices, [4]int{l.m, l.n, l.k, l.subgroup}, "TestAllTexts has a text for each")
		assert.Equal(t, matrixBlock, l.across*l.columns*l.n, "%+v", l)
		assert.Zero(t, matrixDepth%l.k, "%+v", l)
		scores, values := row(t, "attention", "matrix").shaders[0], row(t, "attention", "matrix").shaders[2]
		for _, h := range []shader{row(t, "conv3d", "matrix").shaders[0], row(t, "conv3d_strided", "matrix").shaders[0], row(t, "conv_up", "matrix").shaders[0], row(t, "pointwise", "matrix").shaders[0], scores, values} {
			h := h.forAdapter(info)
			assert.Zero(t, h.wg%l.subgroup, "%+v: %s", l, h.file)
			assert.LessOrEqual(t, h.wg, info.Limits.MaxInvocations, "%+v: %s", l, h.file)
			source := h.source(F16, Packed)
			assert.True(t, strings.HasPrefix(source, "enable f16;\nenable subgroups;\nenable chromium_experimental_subgroup_matrix;\n"), h.file)
			assert.NotRegexp(t, `#unroll|#end|\{\w+\}`, source, h.file)
			assert.LessOrEqual(t, sharedBytes(t, h), l.memory, "%+v: %s", l, h.file)
			assert.Equal(t, h.count("ROWS")*h.count("COLUMNS"), strings.Count(source, "\n    var sum"), h.file)
		}
	}
}

// On NVIDIA's and AMD's cards the sums of pointwise fill half of an invocation's
// registers: the more sums, the fewer loads of matrices per product.
func TestPointwiseFillsRegisters(t *testing.T) {
	for _, l := range layouts {
		if l.m < 16 {
			continue
		}
		h := row(t, "pointwise", "matrix").shaders[0].forAdapter(able(l.m, l.n, l.k, l.subgroup))
		assert.Equal(t, 128, h.count("ROWS")*h.count("COLUMNS")*l.m*l.n/l.subgroup, "%+v", l)
	}
}

// On these cards a workgroup computes 256 queries of attention's values, which it
// transposes. With half as many, in subgroups of 64, a tenth of the loop was moves.
func TestValuesForManyQueries(t *testing.T) {
	for _, l := range layouts {
		if l.m < 16 {
			continue
		}
		h := row(t, "attention", "matrix").shaders[2].forAdapter(able(l.m, l.n, l.k, l.subgroup))
		assert.Equal(t, 256, h.count("DOWN")*h.count("ROWS")*l.m, "%+v", l)
	}
}

// sharedBytes returns how many bytes a matrix kernel declares in workgroup memory.
func sharedBytes(t *testing.T, h *shader) int {
	up := func(a, b int) int { return (a + b - 1) / b }
	wide := h.count("COLUMNS") * h.count("N")
	if h.name() != "conv3d_matrix" && h.name() != "conv_up_matrix" { // BLOCK outputs, in whole subgroups, and separate sums
		sums := 4 * h.count("M") * h.count("N") * h.count("DOWN") * h.count("ACROSS")
		deep, outputs := h.count("FETCHES")*h.wg/2, h.block
		if h.name() != "attention_values_matrix" {
			outputs = h.count("WEIGHTS") * h.wg / 2
		}
		long := h.count("M") * h.count("PITCH") * h.count("AHEAD")
		if h.name() == "conv3d_strided_matrix" && h.count("PITCH") == 2 { // plus room for values that are no pixel of x
			long += long/2 + 1
		}
		return 16*(long*up(deep, h.count("M"))+h.count("PITCH")*h.count("AHEAD")*up(outputs, wide)*wide) + sums
	}
	long := h.count("M") + h.count("SIDE") - 1
	pixels := up(h.count("FETCHES")*h.wg/2, long) * long
	return 16 * h.count("PITCH") * (pixels + up(h.count("WEIGHTS")*h.wg/2, wide)*wide)
}

// The layouts of cards with larger matrices differ from lavapipe's in the number of
// sums per subgroup and in unrolling; so do these.
func TestMatricesInOtherLayouts(t *testing.T) {
	dev := gputest.Open(t)
	info := dev.Info()
	own := layoutOf(info)
	if own == nil {
		t.Skipf("%s has no matrices that a kernel is for", info.Name)
	}
	before := *own
	t.Cleanup(func() { *own = before })
	other := before
	other.rows, other.columns, other.down, other.across, other.pitch, other.written = 2, 2, 2, 4, 3, 3
	intel := other
	intel.rows, intel.columns, intel.across, intel.set = 1, 1, 8, info.SubgroupSize
	for name, l := range map[string]layout{"other": other, "intel": intel} {
		t.Run(name, func(t *testing.T) {
			*own = l
			checkMatrices(t, dev)
		})
	}
}

// checkMatrices runs a case of each matrix kernel.
func checkMatrices(t *testing.T, dev *gpu.Device) {
	s, err := NewSet(F16, dev.Info(), Choices{"attention": "matrix", "conv3d": "matrix", "conv3d_strided": "matrix", "conv_up": "matrix", "pointwise": "matrix"})
	require.NoError(t, err)
	for _, stride := range []int{1, 2} {
		test := convVariant{convCase: convCase{"", 1, 5, 11, 20, 64, 1, 1, stride, true, false}}.test(s, Packed)
		test.Run(t, dev)
	}
	convUpCase{T: 1, h: 5, w: 11, C: 20, O: 64, kt: 2, z: 2, y0: -1, x0: 1, H: 11, W: 21}.run(t, dev, s, Packed)
	checkPointwise(t, dev, s, convVariant{convCase: convCase{T: 1, H: 3, W: 17, C: 36, O: 80, add: true}}, Packed)
	const n = 7 * 11 * 36
	checkAttention(t, dev, s, Attention{Queries: 48, Keys: 40}, 1, 7, 11, 36, random(1, n, 0, 1), random(2, n, 0, 1), random(3, n, 0.5, 1), boundSum)
}

//go:build !js

package wgsl

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/testenv"
)

// throughDXC is a card as Dawn describes it through Direct3D 12. It has halves, which
// texts of other storages do not need.
var throughDXC = gpu.Info{Vendor: "nvidia", Backend: "d3d12", Type: "discrete", F16: true, Subgroups: true, SubgroupMin: 32, SubgroupMax: 128}

// Unrolled shaders have no loop of #loop, and fuse products with sums.
func TestUnrolledTexts(t *testing.T) {
	h := row(t, "conv3d", "plain").shaders[0]
	loop := "for (var p = 0u; p < PIXELS; p++) {"
	assert.Contains(t, h.forCompiler(gpu.Info{Backend: "vulkan", Subgroups: true}).source(F32, F32), loop)
	assert.Contains(t, h.forCompiler(gpu.Info{Backend: "d3d12"}).source(F32, F32), loop, "FXC unrolls")
	text := h.forCompiler(throughDXC).source(F32, F32)
	assert.NotContains(t, text, loop)
	assert.Contains(t, text, "fma(")
}

// Through Direct3D 12 a card takes no kernel of halves: their bitcasts convert there.
func TestHalvesThroughDXC(t *testing.T) {
	for _, operation := range []string{"conv3d", "conv3d_strided", "pointwise"} {
		assert.Equal(t, []string{"plain", "tiled"}, slices.DeleteFunc(Kernels(operation, F16, throughDXC), func(name string) bool { return name == "narrow" }), operation)
	}
}

// TestUnrolled runs cases of the kernels that cards take as they are compiled through
// Direct3D 12.
func TestUnrolled(t *testing.T) {
	otherKernels(t)
	dev := gputest.Open(t)
	if of := dev.Info(); isLlvmpipe(of) || of.Backend == "d3d12" {
		t.Skipf("%s compiles each of these texts for half a minute; SwiftShader runs them", of.Name)
	}
	set := func(t *testing.T, e Elem, c Choices) *Set {
		s, err := NewSet(e, throughDXC, c)
		require.NoError(t, err)
		return s
	}
	run := func(name string, long bool, test func(t *testing.T, e Elem)) {
		for _, e := range []Elem{F32, Packed} {
			t.Run(name+"/"+e.String(), func(t *testing.T) {
				if long || e != F32 {
					testenv.Long(t)
				}
				test(t, e)
			})
		}
	}
	for _, kernel := range []string{"plain", "tiled"} {
		c := Choices{"conv3d": kernel, "conv3d_strided": kernel, "pointwise": kernel}
		for _, of := range convCases {
			if of.C < 16 && kernel == "tiled" || !slices.Contains([]string{"exact_integers", "primes", "width_128", "several_tiles_of_40_inputs", "down_time"}, of.name) {
				continue
			}
			run(kernel+"/"+of.name, of.name == "width_128", func(t *testing.T, e Elem) {
				checkConv(t, dev, set(t, e, c), convVariant{convCase: of}, e)
			})
		}
		run(kernel+"/part", true, func(t *testing.T, e Elem) {
			test := convVariant{convCase: convCase{"", 2, 5, 11, 20, 40, 3, 1, 1, true, false}, zeros: true, y0: 1, x0: -2, h: 7, w: 9}.test(set(t, e, c), e)
			test.Run(t, dev)
		})
		run(kernel+"/strided", false, func(t *testing.T, e Elem) {
			checkConv(t, dev, set(t, e, c), convVariant{convCase: convCase{"", 2, 7, 11, 20, 40, 3, 1, 2, false, false}}, e)
		})
		run(kernel+"/time", false, func(t *testing.T, e Elem) {
			test := timeCase{T: 3, H: 3, W: 25, C: 20, O: 40, step: 1, phases: 2}.test(set(t, e, c), e)
			test.Run(t, dev)
		})
		run(kernel+"/point", true, func(t *testing.T, e Elem) {
			checkPointwise(t, dev, set(t, e, c), convVariant{convCase: convCase{T: 1, H: 4, W: 6, C: 512, O: 32, add: true}}, e)
		})
	}
	run("up", false, func(t *testing.T, e Elem) {
		convUpCase{T: 2, h: 7, w: 11, C: 20, O: 12, kt: 2, z: 2, H: 14, W: 22}.run(t, dev, set(t, e, nil), e)
	})
	for _, kernel := range []string{"fused", "passes"} {
		for _, of := range winogradCases {
			if of.name != "primes" && of.name != "exact_integers" {
				continue
			}
			run(kernel+"/"+of.name, of.name == "primes" || kernel == "fused", func(t *testing.T, e Elem) {
				test := winogradCase(set(t, e, Choices{"conv3d_winograd": kernel}), of, e, 2)
				test.Run(t, dev)
			})
		}
	}
	run("grouped", false, func(t *testing.T, e Elem) {
		groupedCase{name: "group_of_16", T: 1, H: 3, W: 17, C: 48, group: 16, relu: true}.run(t, dev, set(t, e, nil), e)
	})
	run("attention", false, func(t *testing.T, e Elem) {
		n := 2 * 7 * 11 * 36
		checkAttention(t, dev, set(t, e, nil), Attention{Queries: 16, Keys: 8}, 2, 7, 11, 36,
			random(1, n, 0, 1), random(2, n, 0, 1), random(3, n, 0.5, 1), bound(e, boundSum))
	})
	run("time_attention", false, func(t *testing.T, e Elem) {
		n := 3 * 3 * 5 * 36
		checkTimeAttention(t, dev, set(t, e, nil), [4]int{3, 3, 5, 36}, 1, true, random(1, n, 0, 1), random(2, n, 0, 1), random(3, n, 0.5, 1), bound(e, boundSum))
	})
}

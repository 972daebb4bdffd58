//go:build !js

package wgsl

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/testenv"
)

// narrowOperations have a kernel in narrow subgroups.
var narrowOperations = []string{"attention", "conv3d", "conv3d_strided", "conv_up", "pointwise"}

// Intel's cards take the kernels in narrow subgroups first. Other cards take them by
// trial if they have subgroups of several sizes; processors never do.
func TestNarrowChosen(t *testing.T) {
	intel := gpu.Info{Vendor: "intel", Backend: "vulkan", Type: "discrete", Subgroups: true, SubgroupSize: true, SubgroupMin: 8, SubgroupMax: 32}
	first := func(operation string, info gpu.Info) string {
		return (&Set{info: info, tables: tables}).find(operation, nil).name
	}
	for _, operation := range narrowOperations {
		assert.Equal(t, "narrow", first(operation, intel), operation)
		for why, change := range map[string]func(i *gpu.Info){
			"no choice of sizes": func(i *gpu.Info) { i.SubgroupSize = false },
			"one size":           func(i *gpu.Info) { i.SubgroupMin = 32 },
			"a processor":        func(i *gpu.Info) { i.Type = "cpu" },
			"Direct3D 12":        func(i *gpu.Info) { i.Backend = "d3d12" },
		} {
			other := intel
			change(&other)
			assert.Equal(t, "plain", first(operation, other), "%s: %s", operation, why)
			assert.NotContains(t, Kernels(operation, F32, other), "narrow", "%s: %s", operation, why)
		}
		page := intel
		page.Backend = "webgpu"
		assert.Equal(t, "plain", first(operation, page), "%s: a browser, on an unknown backend", operation)
		assert.Contains(t, Kernels(operation, F32, page), "narrow", operation)
		adreno := gpu.Info{Vendor: "qualcomm", Type: "integrated", Subgroups: true, SubgroupSize: true, SubgroupMin: 64, SubgroupMax: 128}
		assert.Equal(t, "plain", first(operation, adreno), operation)
		assert.Contains(t, Kernels(operation, F32, adreno), "narrow", operation)
	}
}

// The texts set the adapter's smallest subgroups, and hold no extension where it has no
// choice.
func TestNarrowTexts(t *testing.T) {
	for _, operation := range narrowOperations {
		for _, h := range row(t, operation, "narrow").shaders {
			if !h.narrow {
				continue
			}
			text := h.forAdapter(gpu.Info{SubgroupSize: true, SubgroupMin: 16, SubgroupMax: 32}).source(F32, F32)
			assert.True(t, strings.HasPrefix(text, "enable subgroup_size_control;\n"), h.file)
			assert.Equal(t, 1, strings.Count(text, "@compute @subgroup_size(16) @workgroup_size(WG)\n"), h.file)
			assert.False(t, strings.Contains(h.forAdapter(gpu.Info{SubgroupMin: 16, SubgroupMax: 32}).source(F32, F32), "subgroup_size"), h.file)
		}
	}
}

// TestNarrow runs cases of the kernels in narrow subgroups, as cards run them.
func TestNarrow(t *testing.T) {
	dev := gputest.Open(t)
	of := dev.Info()
	card := gpu.Info{Type: "discrete", SubgroupSize: of.SubgroupSize, SubgroupMin: of.SubgroupMin, SubgroupMax: of.SubgroupMax}
	all := slices.Clone(tables)
	choices := Choices{}
	for i := range all {
		if !slices.Contains(narrowOperations, all[i].operation) {
			continue
		}
		choices[all[i].operation] = "narrow"
		all[i].kernels = slices.Clone(all[i].kernels)
		for j := range all[i].kernels {
			if all[i].kernels[j].name == "narrow" {
				all[i].kernels[j].needs = nil // subgroups of one size do, too
			}
		}
	}
	for _, e := range []Elem{F32, Packed} {
		s, err := newSet(e, card, choices, all)
		require.NoError(t, err)
		weights := e
		run := func(name string, long bool, test func(t *testing.T)) {
			t.Run(name+"/"+e.String(), func(t *testing.T) {
				if long {
					testenv.Long(t)
				}
				test(t)
			})
		}
		for _, c := range convCases {
			run(c.name, c.name != "primes" && c.name != "exact_integers", func(t *testing.T) {
				checkConv(t, dev, s, convVariant{convCase: c}, weights)
			})
		}
		run("part", true, func(t *testing.T) {
			test := convVariant{convCase: convCase{"", 2, 5, 11, 20, 40, 3, 1, 1, true, false}, zeros: true, y0: 1, x0: -2, h: 7, w: 9}.test(s, weights)
			test.Run(t, dev)
		})
		run("up", false, func(t *testing.T) {
			convUpCase{T: 2, h: 7, w: 11, C: 20, O: 12, kt: 2, z: 2, H: 14, W: 22}.run(t, dev, s, weights)
		})
		run("up_part", true, func(t *testing.T) {
			convUpCase{T: 1, h: 5, w: 11, C: 72, O: 64, kt: 3, z: 2, y0: -1, x0: 1, H: 11, W: 21}.run(t, dev, s, weights)
		})
		run("time", false, func(t *testing.T) {
			test := timeCase{T: 3, H: 3, W: 25, C: 20, O: 20, step: 1, phases: 2}.test(s, weights)
			test.Run(t, dev)
		})
		run("width_512_at_a_point", true, func(t *testing.T) {
			checkPointwise(t, dev, s, convVariant{convCase: convCase{T: 1, H: 4, W: 6, C: 512, O: 32, add: true}}, weights)
		})
		run("attention", false, func(t *testing.T) {
			n := 2 * 7 * 11 * 36
			checkAttention(t, dev, s, Attention{Queries: 16, Keys: 8}, 2, 7, 11, 36,
				random(1, n, 0, 1), random(2, n, 0, 1), random(3, n, 0.5, 1), bound(e, boundSum))
		})
		run("attention_at_once", true, func(t *testing.T) {
			n := 19 * 13 * 70
			checkAttention(t, dev, s, Attention{}, 1, 19, 13, 70,
				random(1, n, 0, 1), random(2, n, 0, 1), random(3, n, 0.5, 1), bound(e, boundSum))
		})
	}
}

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

// TestHalves runs some cases of the kernels of halves, as cards run them. Drivers for
// processors take seconds to compile one; with TABLES=f16, or tiled_f16, the
// operations' own tests run all cases.
func TestHalves(t *testing.T) {
	dev := gputest.Open(t)
	if !dev.Info().F16 {
		t.Skipf("%s has no shader-f16", dev.Info().Name)
	}
	card := gpu.Info{Type: "discrete", F16: true}
	set := func(t *testing.T, operation, name string) *Set {
		at := slices.IndexFunc(tables, func(of table) bool { return of.operation == operation })
		i := slices.IndexFunc(tables[at].kernels, func(k kernel) bool { return k.name == name })
		s, err := newSet(F16, card, Choices{operation: name}, forAll(at, i))
		require.NoError(t, err)
		return s
	}
	for _, name := range []string{"f16", "tiled_f16"} {
		for _, weights := range []Elem{F32, Packed} {
			for _, c := range convCases {
				if !slices.Contains([]string{"exact_integers", "primes", "width_512", "down_time"}, c.name) {
					continue
				}
				t.Run(name+"/"+c.name+"/"+weights.String(), func(t *testing.T) {
					if c.name != "primes" || weights == F32 {
						testenv.Long(t)
					}
					checkConv(t, dev, set(t, convOperation(c.stride), name), convVariant{convCase: c}, weights)
				})
			}
			if testenv.Short(t) {
				continue
			}
			t.Run(name+"/time/"+weights.String(), func(t *testing.T) {
				test := timeCase{T: 2, H: 3, W: 25, C: 20, O: 20, step: 1, phases: 2}.test(set(t, "pointwise", name), weights)
				test.Run(t, dev)
			})
			t.Run(name+"/width_512_at_a_point/"+weights.String(), func(t *testing.T) {
				checkPointwise(t, dev, set(t, "pointwise", name), convVariant{convCase: convCase{T: 1, H: 4, W: 6, C: 512, O: 32, add: true}}, weights)
			})
		}
	}
	for _, weights := range []Elem{F32, Packed} {
		if testenv.Short(t) {
			break
		}
		t.Run("halves/up/"+weights.String(), func(t *testing.T) {
			c := convUpCase{T: 2, h: 7, w: 11, C: 20, O: 12, kt: 2, z: 2, H: 14, W: 22}
			c.run(t, dev, set(t, "conv_up", "f16"), weights)
		})
	}
	assert.Equal(t, []string{"plain", "tiled", "f16", "tiled_f16"}, Kernels("conv3d", F16, card))
	assert.Equal(t, []string{"plain", "tiled"}, Kernels("conv3d", Packed, card))
}

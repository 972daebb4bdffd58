//go:build !js

package wgsl

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// Kernels of halves as cards run them. Drivers for processors compile one for seconds,
// so that these are some of the cases; with TABLES=halves the operations' own tests try
// all.
func TestHalves(t *testing.T) {
	dev := gputest.Open(t)
	if !dev.Info().F16 {
		t.Skipf("%s has no shader-f16", dev.Info().Name)
	}
	card := gpu.Info{Type: "discrete", F16: true}
	s, err := NewSet(F16, card, Choices{"conv3d": "halves", "conv3d_strided": "halves", "conv_up": "halves", "pointwise": "halves"})
	require.NoError(t, err)
	for _, weights := range []Elem{F32, Packed} {
		for _, c := range convCases {
			if slices.Contains([]string{"exact_integers", "primes", "width_512", "down_time"}, c.name) {
				t.Run(c.name+"/"+weights.String(), func(t *testing.T) { checkConv(t, dev, s, convVariant{convCase: c}, weights) })
			}
		}
		t.Run("time/"+weights.String(), func(t *testing.T) {
			test := timeCase{T: 2, H: 3, W: 25, C: 20, O: 20, step: 1, phases: 2}.test(s, weights)
			test.Run(t, dev)
		})
		t.Run("width_512_at_a_point/"+weights.String(), func(t *testing.T) {
			checkPointwise(t, dev, s, convCase{T: 1, H: 4, W: 6, C: 512, O: 32, add: true}, weights)
		})
		t.Run("up/"+weights.String(), func(t *testing.T) {
			c := convUpCase{T: 2, h: 7, w: 11, C: 20, O: 12, kt: 2, z: 2, H: 14, W: 22}
			c.run(t, dev, s, weights)
		})
	}
	assert.Equal(t, []string{"plain", "staged", "halves"}, Kernels("conv3d", F16, card))
	assert.Equal(t, []string{"plain", "staged"}, Kernels("conv3d", Packed, card))
}

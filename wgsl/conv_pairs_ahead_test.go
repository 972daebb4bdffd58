//go:build !js

package wgsl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
)

func init() { // pages have no such kernels
	paramsOf["conv_pairs_ahead"] = convPairsAheadParams{}
	paramsOf["conv_pairs_columns"] = convPairsAheadParams{}
	paramsOf["pair_frames"] = pairFramesParams{}
	paramsOf["quad_frames"] = quadFramesParams{}
	paramsOf["quad_taps"] = pairTapsParams{}
}

// Sums that are made for few rows at a time give the same frames.
func TestPairsAheadInRows(t *testing.T) {
	dev := gputest.Open(t)
	if !eights(dev.Info()) {
		t.Skipf("%s has no subgroups of eight", dev.Info().Name)
	}
	all, least := sumsAhead, sumsLeast
	sumsLeast = 1
	defer func() { sumsAhead, sumsLeast = all, least }()
	for _, kernel := range []string{"ahead", "columns"} {
		if kernel == "columns" && !columned(dev.Info()) {
			continue
		}
		s, err := NewSet(F32, dev.Info(), Choices{"conv_pairs": kernel})
		require.NoError(t, err)
		for _, c := range pairCases {
			t.Run(kernel+"/"+c.name, func(t *testing.T) {
				h, w := c.size()
				x := Tensor{H: h, W: w, C: c.C}
				for _, rows := range []int{1, 3} { // between one above and one below
					for _, of := range []int{2, 4} {
						if c.T%of == 0 {
							sumsAhead = (rows + 2) * int(sumsRow(&x, of))
							test := pairCase(s, c, F32, of)
							test.Run(t, dev)
						}
					}
				}
			})
		}
	}
}

//go:build !js

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
)

// Every operation runs as on the adapter, and two frames at once equal separate frames.
func TestOurs(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []Case{
		{Op: conv3d, In: 32, Out: 32, T: 4, H: 8, W: 32},
		{Op: conv2d, In: 32, Out: 16, T: 1, H: 8, W: 16},
		{Op: norm, In: 64, Out: 64, T: 1, H: 8, W: 16},
		{Op: attention, In: 64, Out: 64, T: 1, H: 4, W: 8},
	} {
		t.Run(c.Op, func(t *testing.T) {
			var made [2][]float32
			for i, single := range []bool{false, true} {
				o, err := newOurs(dev, c, c.numbers(), single)
				require.NoError(t, err)
				defer o.close()
				for n := range o.out {
					o.out[n] = 0xff // not numbers
				}
				require.NoError(t, o.once())
				made[i] = o.lay()
			}
			var off, all float64
			for i, v := range made[0] {
				d := float64(v) - float64(made[1][i])
				off, all = off+d*d, all+float64(v)*float64(v)
			}
			require.Positive(t, all)
			assert.LessOrEqual(t, off/all, 1e-9, fmt.Sprint(c))
		})
	}
}

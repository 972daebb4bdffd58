//go:build !js

package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// What a layer makes in bands is bound a band at a time.
func TestFramesBeyondABinding(t *testing.T) {
	s := newRecordings("net", network(func(g *Graph, x Value) Value {
		return (&Unpatchify{Name: "decoder.last", Side: 8, C: 4}).Forward(g, x)
	}), &feed{}, plain(t), gpu.DefaultLimits, false)
	r, err := s.of(t.Context(), tileShape{h: 512, w: 512, c: 256}, Slice{t: 0, n: 1, at: Whole}) // 4096 x 4096 pixels, 256 MiB, of as much
	require.NoError(t, err)
	require.Greater(t, len(r.batch.Commands), 1)
	for _, c := range r.batch.Commands {
		for _, v := range c.Bindings {
			require.LessOrEqual(t, v.Bytes(), gpu.DefaultLimits.MaxBinding)
		}
	}
}

package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// A layer's bands are bound one at a time.
func TestFramesBeyondABinding(t *testing.T) {
	s := newRecordings("net", network(func(g *Graph, x Value) Value {
		return (&Unpatchify{Name: "decoder.last", Side: 8, C: 4}).Forward(g, x)
	}), Clip{}, plain(t), gpu.DefaultLimits, false)
	r, err := s.of(t.Context(), tileShape{h: 512, w: 512, c: 256}, Slice{T: 0, N: 1, at: Whole}) // 4096 x 4096 pixels, 256 MiB, from as much
	require.NoError(t, err)
	require.Greater(t, len(r.batch.Commands), 1)
	for _, c := range r.batch.Commands {
		for _, v := range c.Bindings {
			require.LessOrEqual(t, v.Bytes(), gpu.DefaultLimits.MaxBinding)
		}
	}
}

// A tile that cannot be bound at once is added to its frame in bands that can.
func TestTilesBeyondABinding(t *testing.T) {
	j := job(t, 60, 70)
	j.Network = newDoubling(j.Kernels.Plain, 4)
	const tile = 64 * 64 * 16 // bytes
	j.Adapter.Limits.MaxBinding = tile / 2
	p := plan(t, j, cut(Feather))
	counted(t, p)
	v := p.Work.Joiner.(*canvas)
	require.LessOrEqual(t, v.part.Buffer.Size, int64(tile/2))
	blends := 0
	for _, step := range v.Add(TileFrame{X: p.Work.Last().output()}, true) {
		run, ok := step.(*RunBatch)
		if !ok {
			continue
		}
		blends++
		for _, view := range run.Batch.Commands[0].Bindings {
			require.LessOrEqual(t, view.Bytes(), int64(tile/2))
		}
	}
	require.Equal(t, 3, blends, "two bands are larger than a binding by what that is aligned to")
}

package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The budget decides the length of slices: at least three quarters of it stay free.
func TestAutoChunk(t *testing.T) {
	j := job(t, 90, 160)
	j.Frames = 21
	for name, o := range map[string]Options{"one tile": {}, "exact tiles": cut(Exact), "feathered tiles": cut(Feather)} {
		bytes := map[int]int64{}
		for _, n := range []int{1, 2, 4} {
			o.Chunk = n
			p := plan(t, j, o)
			bytes[n] = p.Bytes()
			require.Equal(t, n, p.Chunk)
		}
		require.Less(t, bytes[1], bytes[2], name)
		require.Less(t, bytes[2], bytes[4], name)
		for _, c := range []struct {
			budget int64
			want   int
		}{{100 * bytes[4], 4}, {4 * bytes[4], 4}, {4*bytes[4] - 4, 2}, {4 * bytes[2], 2}, {4*bytes[2] - 4, 1}, {bytes[1], 1}} {
			o.Chunk, o.Budget = AutoChunk, c.budget
			p := plan(t, j, o)
			require.Equal(t, c.want, p.Chunk, "%s, a budget of %d", name, c.budget)
			require.Equal(t, bytes[c.want], p.Bytes(), "%s, a budget of %d", name, c.budget)
			counted(t, p)
			o.Chunk = c.want
			asked := plan(t, j, o)
			require.Equal(t, asked.Cost, p.Cost, name)
			require.Equal(t, []any{asked.Tiling, asked.Tile, asked.Untiled, asked.Slices}, []any{p.Tiling, p.Tile, p.Untiled, p.Slices}, name)
		}
	}
}

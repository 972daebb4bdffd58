package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/wgsl"
)

// taken are buffers of an arena of those sizes, all of them taken.
func taken(t *testing.T, a *arena, sizes ...int64) []*gpu.Buffer {
	t.Helper()
	var all []*gpu.Buffer
	for _, size := range sizes {
		b, err := a.take("x", size)
		require.NoError(t, err)
		all = append(all, b)
	}
	return all
}

func TestArenaTakesTheBestFit(t *testing.T) {
	a := newArena(1 << 20)
	b := taken(t, a, 400, 100, 200, 300)
	require.Len(t, a.buffers, 4)
	for _, i := range []int{0, 2, 3, 1} {
		a.give(b[i])
	}
	for _, c := range []struct {
		size int64
		want int
	}{{150, 2}, {101, 3}, {100, 1}} {
		require.Same(t, b[c.want], taken(t, a, c.size)[0], "for %d bytes", c.size)
	}
	require.EqualValues(t, 1000, a.bytes())
}

func TestArenaGrowsTheLargest(t *testing.T) {
	a := newArena(1 << 20)
	b := taken(t, a, 100, 300, 500)
	a.give(b[0])
	a.give(b[1])
	grown := taken(t, a, 401)[0]
	require.Same(t, b[1], grown, "the largest that is free")
	require.EqualValues(t, 404, grown.Size, "a multiple of 4")
	require.EqualValues(t, 100+404+500, a.bytes())
	taken(t, a, 90)
	require.EqualValues(t, 100, b[0].Size, "a larger buffer keeps its size")
	require.Len(t, a.buffers, 3)
	taken(t, a, 8)
	require.Len(t, a.buffers, 4, "none was free")
}

func TestArenaRefuses(t *testing.T) {
	a := newArena(100)
	taken(t, a, 100)
	_, err := a.take("decoder.conv_in", 101)
	require.ErrorIs(t, err, gpu.ErrTooLarge)
	require.ErrorContains(t, err, "decoder.conv_in: activation of 101 bytes, device allows 100 bytes")
	require.Len(t, a.buffers, 1)
	a.give(a.buffers[0])
	require.PanicsWithValue(t, "engine: arena 0 freed twice", func() { a.give(a.buffers[0]) })
}

// Tiles of all shapes share a layer's memory, as large as the largest needs.
func TestMemoryIsShared(t *testing.T) {
	m := newMemoryBank()
	small := wgsl.Tensor{T: 5, H: 2, W: 3, C: 4}
	large := wgsl.Tensor{T: 1, H: 4, W: 5, C: 4}
	a, b := m.of("conv", 2, large), m.of("conv", 2, small)
	m.of("other", 1, small)
	require.Len(t, m.order, 3)
	for i := range 2 {
		require.Same(t, a[i].Buffer, b[i].Buffer)
		require.Equal(t, large.FrameBytes(), b[i].Buffer.Size)
		require.Equal(t, [3]int{1, 2, 3}, [3]int{b[i].T, b[i].H, b[i].W}, "one frame like the tile's")
	}
	require.Equal(t, 2*large.FrameBytes()+small.FrameBytes(), sum(m.order))
}

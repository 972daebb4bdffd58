package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/wgsl"
)

// lie allocates a buffer of each size at the first position of its letter in `lives` and
// frees it at the second, and returns the arena buffer of each.
func lie(t *testing.T, a *arena, lives string, sizes map[rune]int64) map[rune]*gpu.Buffer {
	t.Helper()
	own := map[rune]*gpu.Buffer{}
	for _, c := range lives {
		if own[c] != nil {
			a.free(own[c])
			continue
		}
		b, err := a.alloc(string(c), sizes[c])
		require.NoError(t, err)
		own[c] = b
	}
	in := a.place()
	for c, b := range own {
		own[c] = in[b]
	}
	return own
}

// Uses at different times share a buffer; the largest are placed first, so that no buffer
// grows for a later one.
func TestArenaPlacesTheLargestFirst(t *testing.T) {
	a := newArena(1 << 20)
	in := lie(t, a, "abacbdcd", map[rune]int64{'a': 100, 'b': 200, 'c': 399, 'd': 90})
	require.EqualValues(t, 400+200, a.bytes(), "multiples of 4, and the largest two that live at once")
	require.Same(t, in['a'], in['c'])
	require.Same(t, in['b'], in['d'])
	require.Len(t, a.buffers, 2)
}

// Of free buffers of one size, the one that was used last is taken: the other stays free
// for longer uses.
func TestArenaLeavesGaps(t *testing.T) {
	a := newArena(1 << 20)
	in := lie(t, a, "abbxaccx", map[rune]int64{'a': 100, 'b': 100, 'c': 80, 'x': 60})
	require.Same(t, in['a'], in['c'])
	require.Same(t, in['b'], in['x'])
	require.EqualValues(t, 200, a.bytes())
}

// With many uses, each is placed as a search through all placed uses would: in the
// smallest buffer, of equal ones in the one that became free last.
func TestArenaTakesTheBest(t *testing.T) {
	a, r := newArena(1<<20), rand.New(rand.NewPCG(13, 0))
	for a.batch = range 3 {
		var live []*gpu.Buffer
		for range 200 {
			if len(live) > 8 || len(live) > 0 && r.IntN(2) == 0 {
				n := r.IntN(len(live))
				a.free(live[n])
				live = append(live[:n], live[n+1:]...)
				continue
			}
			b, err := a.alloc("x", int64(4*(1+r.IntN(20))))
			require.NoError(t, err)
			live = append(live, b)
		}
		for _, b := range live {
			a.free(b)
		}
	}
	in := a.place()
	slices.SortStableFunc(a.uses, func(u, o *use) int { return int(o.own.Size - u.own.Size) })
	for n, u := range a.uses {
		var best *gpu.Buffer
		latest := 0
		for _, b := range a.buffers {
			until, free := 0, false
			for _, o := range a.uses[:n] {
				if o.in != b {
					continue
				}
				free = true // as far as it is placed by now
				if o.batch == u.batch && o.from < u.till && u.from < o.till {
					free = false
					break
				}
				if o.batch == u.batch && o.till <= u.from {
					until = max(until, o.till)
				}
			}
			if free && (best == nil || b.Size < best.Size || b.Size == best.Size && until > latest) {
				best, latest = b, until
			}
		}
		if best == nil {
			require.Equal(t, u.own.Size, u.in.Size, "its own buffer")
			continue
		}
		require.Same(t, best, in[u.own])
	}
}

// Batches run one after another, so that they share all buffers.
func TestBatchesShareTheArena(t *testing.T) {
	a := newArena(1 << 20)
	for _, size := range []int64{100, 300, 200} {
		for range 2 {
			_, err := a.alloc("x", size)
			require.NoError(t, err)
		}
		for _, u := range a.uses[len(a.uses)-2:] {
			a.free(u.own)
		}
		a.batch++
	}
	a.place()
	require.Len(t, a.buffers, 2)
	require.EqualValues(t, 600, a.bytes())
}

func TestArenaRefuses(t *testing.T) {
	a := newArena(100)
	b, err := a.alloc("decoder.conv_in", 100)
	require.NoError(t, err)
	_, err = a.alloc("decoder.conv_in", 101)
	require.ErrorIs(t, err, gpu.ErrTooLarge)
	require.ErrorContains(t, err, "decoder.conv_in: activation of 101 bytes, device allows 100 bytes")
	a.free(b)
	require.PanicsWithValue(t, "engine: decoder.conv_in freed twice", func() { a.free(b) })
}

// Tiles of all shapes share a layer's memory, as large as the largest needs.
func TestMemoryIsShared(t *testing.T) {
	m := newMemoryBank()
	small := wgsl.Tensor{T: 5, H: 2, W: 3, C: 4}
	large := wgsl.Tensor{T: 1, H: 4, W: 5, C: 4}
	a, b := m.of("conv", 2, large, 4, 0), m.of("conv", 2, small, 2, 0)
	m.of("other", 1, small, 2, 0)
	require.Len(t, m.order, 3)
	for i := range 2 {
		require.Same(t, a[i].Buffer, b[i].Buffer)
		require.Equal(t, large.FrameBytes(), b[i].Buffer.Size)
		require.Equal(t, [3]int{1, 2, 3}, [3]int{b[i].T, b[i].H, b[i].W}, "one frame like the tile's")
	}
	require.Equal(t, 2*large.FrameBytes()+small.FrameBytes(), sum(m.order))
}

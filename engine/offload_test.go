package engine

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/memory"
	"tessera/wgsl"
)

// bytesOf is the content of buffers.
type bytesOf map[*gpu.Buffer][]byte

func (b bytesOf) view(v gpu.View) []byte {
	if len(b[v.Buffer]) == 0 {
		b[v.Buffer] = make([]byte, v.Buffer.Size)
	}
	return b[v.Buffer][v.Offset:][:v.Bytes()]
}

// host is the content of slots on the host.
type host map[*HostMemory][][]byte

// rows returns rows of a slot.
func (h host) rows(at *HostRows) []byte {
	if h[at.Of] == nil {
		for _, n := range at.Of.Sizes {
			h[at.Of] = append(h[at.Of], make([]byte, n))
		}
	}
	return h[at.Of][at.Slot][at.At:][:at.N]
}

// moved executes transfers.
func (b bytesOf) moved(t *testing.T, h host, all []transfer) {
	for _, m := range all {
		switch s := m.step.(type) {
		case *Upload:
			copy(b.view(s.To), h.rows(s.From.(*HostRows)))
		case *Download:
			copy(h.rows(s.To.(*HostRows)), b.view(s.From))
		case *Clear:
			clear(h.rows(&s.Of))
		case *Rotate:
			for range s.N { // the oldest becomes the latest
				h[s.Of] = append(h[s.Of][1:], h[s.Of][0])
			}
		default:
			require.Fail(t, "another step", "%T", s)
		}
	}
}

// A layer in bands of rows with memory on the host reads of each row what it would read
// of the whole clip, however that is cut into slices; and in a second clip, nothing of
// the first one.
func TestMemoryOnTheHost(t *testing.T) {
	const high, wide = 7, 3
	around := reach{by: 1, from: -1, to: 1, per: 1}
	for _, c := range times {
		if c.kept() == 0 {
			continue
		}
		for _, rows := range []int{high, 3, 2, 1} {
			for _, later := range [][]int{{2, 2, 2}, {2, 4, 2}, {4, 2, 6}} {
				t.Run(fmt.Sprintf("%s/%d rows/%v", c.name, rows, later), func(t *testing.T) {
					bank, held, beside := newMemoryBank(), bytesOf{}, host{}
					bank.away = true
					for range 2 {
						frames, made := 0, 0
						for i, n := range append([]int{1}, later...) {
							at := Steady
							if i < 2 {
								at = []Position{First, Second}[i]
							}
							x := wgsl.Tensor{Elem: wgsl.F32, T: n, H: high, W: wide, C: 4, Buffer: &gpu.Buffer{Label: "x"}}
							x.Buffer.Size = x.Bytes()
							all := held.view(x.Buffer.All())
							for row := range n * high { // each number identifies frame and row
								for k := range wide * 4 {
									binary.LittleEndian.PutUint32(all[(row*wide*4+k)*4:], uint32(1000*(frames+1)+row/high*1000+row%high))
								}
							}
							e := &emitter{bank: bank, arena: newArena(1 << 20), limits: gpu.DefaultLimits, at: at, batch: &gpu.Batch{}}
							outputs := c.frames(at, n) - c.head(at)
							for _, b := range (&node{reach: around}).bands(rows, high, high) {
								e.x, e.b = x.Part(b.lo, b.hi-b.lo), b
								l := e.time("layer", c.Causal)
								held.moved(t, beside, e.transfers)
								e.transfers = nil
								for f := range outputs {
									taps, want := l.taps(f), naive(c.Causal, made+c.head(at)+f)
									for len(want) > len(taps) {
										require.Equal(t, zeros, want[0])
										want = want[1:]
									}
									for k, tap := range taps {
										for y := range b.hi - b.lo {
											number := binary.LittleEndian.Uint32(held.view(gpu.View{Buffer: tap.X.Buffer, Offset: tap.X.At(tap.T) + int64(y)*tap.X.RowBytes(), Size: 4}))
											expected := uint32(0)
											if want[k] != zeros {
												expected = uint32(1000*(want[k]+1) + b.lo + y)
											}
											require.Equal(t, expected, number, "output %d, tap %d, row %d", made+f, k, b.lo+y)
										}
									}
								}
								l.keep(e, "layer")
								e.releaseBand()
							}
							e.rotate()
							held.moved(t, beside, e.transfers)
							frames, made = frames+n, made+outputs+c.head(at)
						}
					}
					require.Empty(t, bank.buffers())
				})
			}
		}
	}
}

// Causal memory goes to the host if a card's budget requires it, but never uses more
// there than allowed: otherwise tiles are smaller.
func TestOffloadByItself(t *testing.T) {
	j := job(t, 40, 40)
	off := plan(t, j, Options{Offload: OffloadOff})
	on := plan(t, j, Options{Offload: OffloadOn})
	require.Zero(t, off.Host+off.Moved)
	require.Equal(t, []int64{0, off.Causal}, []int64{on.Causal, on.Host})
	short := Options{Budget: off.Bytes() - off.Staging - 1}
	_, err := NewPlan(t.Context(), j, short)
	require.ErrorIs(t, err, ErrMemory, "the adapter shares the host's memory")
	j.Adapter.Type = "discrete"
	require.Zero(t, plan(t, j, Options{}).Host, "though there is room")
	weights := plan(t, j, short)
	require.Equal(t, []int64{weights.Streamed, off.Weights}, []int64{weights.Host, weights.Weights + weights.Streamed})
	require.Positive(t, weights.Host)
	short.Budget = needed(weights) - 1
	require.True(t, plan(t, j, short).Away)
	short.Host = on.Host - 1
	_, err = NewPlan(t.Context(), j, short)
	require.ErrorIs(t, err, ErrMemory)
	require.ErrorContains(t, err, "on the device")
	short.Shrink = true
	smaller := plan(t, j, short)
	require.False(t, smaller.Tiles.Whole())
	require.LessOrEqual(t, smaller.Host, short.Host)
	short.Offload, short.Host = OffloadOn, 1
	_, err = NewPlan(t.Context(), j, short)
	require.ErrorIs(t, err, ErrMemory)
	require.ErrorContains(t, err, "of host memory, the limit is 1 bytes")
	require.ErrorIs(t, err, ErrHost)
	short.Offload = "perhaps"
	_, err = NewPlan(t.Context(), j, short)
	require.ErrorContains(t, err, `offload "perhaps", expected auto, on or off`)
}

// By default the free host memory limits what a job uses of it.
func TestHostBudget(t *testing.T) {
	require.Equal(t, int64(5), Options{Host: 5}.HostBudget())
	free, known := memory.Free()
	if !known {
		require.Equal(t, int64(2<<30), Options{}.HostBudget())
		return
	}
	require.Less(t, Options{}.HostBudget(), free)
	require.Equal(t, Options{}.HostBudget() > 0, free > 4)
	for _, n := range []int64{0, 1, 2, 3, 4, 1<<30 + 1} {
		require.GreaterOrEqual(t, HostFree(n)/4*3, n)
		require.Less(t, (HostFree(n)-4)/4*3, n)
	}
}

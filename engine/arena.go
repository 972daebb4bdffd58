package engine

import (
	"cmp"
	"fmt"
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// arena allocates memory for activations, without a device. While a batch is recorded, each
// activation has its own placeholder buffer. When all lifetimes are known, place puts them
// into buffers that all batches share.
type arena struct {
	limit   int64 // bytes per buffer
	buffers []*gpu.Buffer
	times   schedule // uses of each buffer
	uses    []*use
	batch   int    // number of the batch that is being recorded
	now     int    // clock: counts allocations and frees
	layer   string // being recorded
}

// use is an activation's placeholder buffer, its lifetime, and the arena buffer that holds it.
type use struct {
	_ gpu.Incomparable

	own        *gpu.Buffer
	in         *gpu.Buffer // the arena's, once placed
	batch      int         // number of its batch
	last       string      // last layer that reads it
	from, till int
}

func newArena(limit int64) *arena { return &arena{limit: limit} }

// alloc declares a buffer of at least size bytes.
func (a *arena) alloc(label string, size int64) (*gpu.Buffer, error) {
	if size > a.limit {
		return nil, fmt.Errorf("engine: %s: activation of %s, device allows %s in a buffer: %w", label, Bytes(size), Bytes(a.limit), gpu.ErrTooLarge)
	}
	a.now++
	b := &gpu.Buffer{Label: label, Size: (size + 3) &^ 3}
	a.uses = append(a.uses, &use{own: b, batch: a.batch, from: a.now})
	return b, nil
}

// free ends the lifetime of a buffer.
func (a *arena) free(b *gpu.Buffer) {
	for i := len(a.uses) - 1; i >= 0; i-- { // not found if alloc refused it
		if u := a.uses[i]; u.own == b {
			if u.till > 0 {
				panic(fmt.Sprintf("engine: %s freed twice", b.Label))
			}
			a.now++
			u.till, u.last = a.now, a.layer
			return
		}
	}
}

// place assigns each use to an arena buffer, the largest use first, by best fit. It returns
// the arena buffer of each placeholder.
func (a *arena) place() map[*gpu.Buffer]*gpu.Buffer {
	sorted := slices.Clone(a.uses)
	slices.SortStableFunc(sorted, func(u, o *use) int { return cmp.Compare(o.own.Size, u.own.Size) })
	in := map[*gpu.Buffer]*gpu.Buffer{}
	for _, u := range sorted {
		a.fit(u)
		in[u.own] = u.in
	}
	return in
}

// fit assigns u to the smallest buffer that no other use of its batch has while u lives;
// of several, to the one that became free last. Uses are placed in order of size, so
// earlier ones are no smaller than u.
func (a *arena) fit(u *use) {
	best, latest := -1, 0
	for n, b := range a.buffers {
		until := a.times.until(n, u)
		if until >= 0 && (best < 0 || b.Size < a.buffers[best].Size || b.Size == a.buffers[best].Size && until > latest) {
			best, latest = n, until
		}
	}
	if best < 0 {
		best = len(a.buffers)
		a.buffers = append(a.buffers, &gpu.Buffer{Label: fmt.Sprintf("arena %d", best), Size: u.own.Size})
	}
	u.in = a.buffers[best]
	a.times.add(best, u)
}

// bytes returns the size of all arena buffers.
func (a *arena) bytes() int64 { return sum(a.buffers) }

// memoryBank keeps the frames that causal convolutions read in the next slice,
// one buffer a frame, named by layer. Tiles run one after another, so those of
// all shapes share it, each buffer as large as the largest tile needs.
type memoryBank struct {
	frames map[string][]*gpu.Buffer
	order  []*gpu.Buffer
	across int64                    // see Internals.Across
	away   bool                     // it lives on the host; the buffers are placeholders
	i8     bool                     // frames are kept in 8 bits
	hosts  map[*gpu.Buffer]HostSlot // place of each buffer on the host
	parked map[int]*HostMemory      // frames that wait for their portion, by the portion's depth
}

// buffers returns the memory's buffers on the device.
func (m *memoryBank) buffers() []*gpu.Buffer {
	if m.away {
		return nil
	}
	return m.order
}

func newMemoryBank() *memoryBank { return &memoryBank{frames: map[string][]*gpu.Buffer{}} }

// of returns the memory of a layer: rows from y on of n frames that are high rows high
// and otherwise like those of x.
func (m *memoryBank) of(layer string, n int, x wgsl.Tensor, high, y int) []wgsl.Tensor {
	buffers := m.frames[layer]
	if buffers == nil {
		for i := range n {
			buffers = append(buffers, &gpu.Buffer{Label: fmt.Sprintf("memory %s %d", layer, i)})
		}
		m.frames[layer] = buffers
		m.order = append(m.order, buffers...)
	}
	frames := make([]wgsl.Tensor, n)
	rows := x.H
	x.T, x.H, x.Row, x.Rows = 1, high, 0, 0
	for i, b := range buffers {
		x.Buffer = b
		frames[i] = x.Part(y, rows)
		b.Size = max(b.Size, x.FrameBytes())
	}
	return frames
}

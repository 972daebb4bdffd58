package engine

import (
	"cmp"
	"fmt"
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// arena gives activations memory, without a device. While a batch is recorded each
// has a buffer of its own; then, as it is known how long each lives, they are
// placed in buffers that all batches share.
type arena struct {
	limit   int64 // bytes in one buffer
	buffers []*gpu.Buffer
	times   schedule // what lies in each of them
	uses    []*use
	batch   int    // that is recorded
	now     int    // counts what is taken and given
	layer   string // that is recorded
}

// use is a buffer of an activation: what lies in one of the arena's, from when to
// when.
type use struct {
	_ gpu.Incomparable

	own        *gpu.Buffer
	in         *gpu.Buffer // the arena's, once it is placed
	batch      int         // that it is in
	last       string      // layer that reads it
	from, till int
}

func newArena(limit int64) *arena { return &arena{limit: limit} }

// take declares a buffer of at least size bytes.
func (a *arena) take(label string, size int64) (*gpu.Buffer, error) {
	if size > a.limit {
		return nil, fmt.Errorf("engine: %s: activation of %s, device allows %s in a buffer: %w", label, Bytes(size), Bytes(a.limit), gpu.ErrTooLarge)
	}
	a.now++
	b := &gpu.Buffer{Label: label, Size: (size + 3) &^ 3}
	a.uses = append(a.uses, &use{own: b, batch: a.batch, from: a.now})
	return b, nil
}

// give says that a buffer is needed no more.
func (a *arena) give(b *gpu.Buffer) {
	for i := len(a.uses) - 1; i >= 0; i-- { // none has it where it was refused
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

// place puts what batches use into the arena's buffers, the largest first, each
// where it fits best, and tells where each then lies.
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

// fit puts u into a buffer that none of its batch's others has while u lives: the
// smallest, and of several the one that was in use until shortly before. Those that
// came before are no smaller than u.
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

// bytes is what the arena's buffers take together.
func (a *arena) bytes() int64 { return sum(a.buffers) }

// memoryBank keeps the frames that causal convolutions read in the next slice,
// one buffer a frame, named by layer. Tiles run one after another, so those of
// all shapes share it, each buffer as large as the largest tile needs.
type memoryBank struct {
	frames map[string][]*gpu.Buffer
	order  []*gpu.Buffer
	across int64                    // see Internals.Across
	away   bool                     // it lives on the host: the buffers only stand for it
	i8     bool                     // frames are kept in 8 bits
	hosts  map[*gpu.Buffer]HostSlot // where, for each
	parked map[int]*HostMemory      // frames that wait for their portion, by its depth
}

// buffers are what is on the device of it.
func (m *memoryBank) buffers() []*gpu.Buffer {
	if m.away {
		return nil
	}
	return m.order
}

func newMemoryBank() *memoryBank { return &memoryBank{frames: map[string][]*gpu.Buffer{}} }

// of is the memory of a layer: rows from y on of n frames, like those of x, that are
// so high.
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

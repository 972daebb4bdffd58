package engine

import (
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

// arena gives activations memory while batches are recorded, without a device.
// Commands run in the order they are recorded, so a buffer is free again as
// soon as its last reader is recorded; a later tensor takes the free buffer
// that fits best, or the largest one grows. Every batch recorded with an arena
// shares its buffers.
type arena struct {
	limit   int64 // bytes in one buffer
	buffers []*gpu.Buffer
	free    map[*gpu.Buffer]bool
}

func newArena(limit int64) *arena {
	return &arena{limit: limit, free: map[*gpu.Buffer]bool{}}
}

// take finds a buffer of at least size bytes.
func (a *arena) take(label string, size int64) (*gpu.Buffer, error) {
	if size > a.limit {
		return nil, fmt.Errorf("engine: %s: activation of %s, device allows %s in a buffer: %w", label, Bytes(size), Bytes(a.limit), gpu.ErrTooLarge)
	}
	var fits, largest *gpu.Buffer
	for _, b := range a.buffers {
		if !a.free[b] {
			continue
		}
		if b.Size >= size && (fits == nil || b.Size < fits.Size) {
			fits = b
		}
		if largest == nil || b.Size > largest.Size {
			largest = b
		}
	}
	b := fits
	if b == nil {
		b = largest
	}
	if b == nil {
		b = &gpu.Buffer{Label: fmt.Sprintf("arena %d", len(a.buffers))}
		a.buffers = append(a.buffers, b)
	}
	b.Size = max(b.Size, (size+3)&^3)
	delete(a.free, b)
	return b, nil
}

// give returns a buffer.
func (a *arena) give(b *gpu.Buffer) {
	if a.free[b] {
		panic(fmt.Sprintf("engine: %s freed twice", b.Label))
	}
	a.free[b] = true
}

// bytes is what the arena's buffers take together.
func (a *arena) bytes() int64 { return sum(a.buffers) }

// memoryBank keeps the frames that causal convolutions read in the next slice,
// one buffer a frame, named by layer. Tiles run one after another, so those of
// all shapes share it, each buffer as large as the largest tile needs.
type memoryBank struct {
	frames map[string][]*gpu.Buffer
	order  []*gpu.Buffer
}

func newMemoryBank() *memoryBank { return &memoryBank{frames: map[string][]*gpu.Buffer{}} }

// of is the memory of a layer: n frames like those of x.
func (m *memoryBank) of(layer string, n int, x wgsl.Tensor) []wgsl.Tensor {
	buffers := m.frames[layer]
	if buffers == nil {
		for i := range n {
			buffers = append(buffers, &gpu.Buffer{Label: fmt.Sprintf("memory %s %d", layer, i)})
		}
		m.frames[layer] = buffers
		m.order = append(m.order, buffers...)
	}
	frames := make([]wgsl.Tensor, n)
	for i, b := range buffers {
		frames[i] = x
		frames[i].T, frames[i].Buffer = 1, b
		b.Size = max(b.Size, x.FrameBytes())
	}
	return frames
}

package vae

import (
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

// position says which part of a clip a slice is; it decides what the taps of a
// causal convolution read before the slice and whether its end is kept. The
// reference calls them DISABLED, INITIALIZING and ACTIVE
// (causal_inflation_lib.py, MemoryState).
type position int

const (
	whole  position = iota // the clip is one slice: the past repeats frame 0, nothing is kept
	first                  // frames 0 on: the same past, the end is kept
	steady                 // the past is what the slice before kept
)

// recorder turns a model's layers into the commands of one slice.
type recorder struct {
	set    *wgsl.Set
	arena  *arena
	memory *memoryBank
	limits gpu.Limits
	at     position
	cut    windows // of the layers that have one
	batch  *gpu.Batch
	marks  []mark // outputs of named modules, for traces
	err    error  // the first one; recording goes on to keep layers simple
}

// window is the part of its output that a layer makes: h x w pixels from row y,
// column x on. What y and x count is the layer's own matter.
type window struct{ y, x, h, w int }

// windows are those of a network's layers. An empty one is the whole output.
type windows [4]window

// window is number n of the recorder's, counted from 1, or whole.
func (r *recorder) window(n int, whole window) window {
	if n == 0 || r.cut[n-1] == (window{}) {
		return whole
	}
	return r.cut[n-1]
}

// mark says that after command End the output of a module is in Out.
type mark struct {
	Name string
	End  int
	Out  wgsl.Tensor
}

// tensor takes memory for an activation.
func (r *recorder) tensor(label string, t, h, w, c int) wgsl.Tensor {
	x := wgsl.Tensor{Elem: r.set.Elem, T: t, H: h, W: w, C: c}
	if x.FrameBytes() > r.limits.MaxBinding {
		r.fail(fmt.Errorf("vae: %s: one frame of %dx%d pixels and %d channels is %d bytes, device allows %d in a binding: %w",
			label, w, h, c, x.FrameBytes(), r.limits.MaxBinding, gpu.ErrTooLarge))
	}
	b, err := r.arena.take(label, x.Bytes())
	if err != nil {
		r.fail(err)
		b = &gpu.Buffer{Label: label, Size: x.Bytes()}
	}
	x.Buffer = b
	return x
}

// scratch takes memory for f32 values that are no activation.
func (r *recorder) scratch(label string, bytes int64) *gpu.Buffer {
	b, err := r.arena.take(label, bytes)
	if err != nil {
		r.fail(err)
		b = &gpu.Buffer{Label: label, Size: bytes}
	}
	return b
}

// free gives memory back after its last reader is recorded.
func (r *recorder) free(x wgsl.Tensor) {
	if r.err == nil {
		r.arena.give(x.Buffer)
	}
}

func (r *recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// remember keeps in memory the last frames of memory ++ x. At the start of a
// clip what lies before frame head counts as zeros; with a negative head as
// frame 0.
func (r *recorder) remember(name string, x wgsl.Tensor, memory []wgsl.Tensor, head int) {
	bytes := x.FrameBytes()
	for i, m := range memory {
		to := gpu.View{Buffer: m.Buffer, Size: bytes}
		f := x.T - len(memory) + i
		switch {
		case f >= max(head, 0) || r.at != steady && head < 0:
			r.batch.Copy(name+" memory", to, gpu.View{Buffer: x.Buffer, Offset: int64(max(f, 0)) * bytes, Size: bytes})
		case r.at == steady:
			r.batch.Copy(name+" memory", to, gpu.View{Buffer: memory[len(memory)+f].Buffer, Size: bytes})
		default:
			r.batch.Clear(name+" memory", to)
		}
	}
}

// copied is a copy of x.
func (r *recorder) copied(label string, x wgsl.Tensor) wgsl.Tensor {
	y := r.tensor(label, x.T, x.H, x.W, x.C)
	r.batch.Copy(label, gpu.View{Buffer: y.Buffer, Size: x.Bytes()}, gpu.View{Buffer: x.Buffer, Size: x.Bytes()})
	return y
}

// mark names a module's output.
func (r *recorder) mark(name string, out wgsl.Tensor) {
	r.marks = append(r.marks, mark{name, len(r.batch.Commands), out})
}

// atOnce is how many frames of x one dispatch may bind.
func (r *recorder) atOnce(x ...wgsl.Tensor) int {
	n := 1 << 30
	for _, x := range x {
		n = min(n, int(r.limits.MaxBinding/x.FrameBytes()))
	}
	return max(n, 1)
}

// memoryBank keeps the frames that causal convolutions read in the next slice,
// one buffer a frame, named by layer. Tiles run one after another, so plans of
// all tile shapes share it, each buffer as large as the largest tile needs.
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

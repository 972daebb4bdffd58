package vae

import (
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

// plan is one slice of one tile shape, recorded: pure data that is submitted
// again for every such slice.
type plan struct {
	batch   *gpu.Batch
	in, out wgsl.Tensor // out is valid until the next submission of the session
	marks   []mark
	cost    gpu.Cost
}

// session is what running a module at some tile shapes needs: a plan per shape
// and slice position, and the memory they share.
type session struct {
	name   string
	net    module
	set    *wgsl.Set
	limits gpu.Limits
	arena  *arena
	memory *memoryBank
	plans  map[planKey]*plan
}

type planKey struct {
	shape tileShape
	t     int
	at    position
}

// tileShape is the input of a module: h x w cells of c channels, and how the
// layers cut what they make.
type tileShape struct {
	h, w, c int
	cut     windows
}

func newSession(name string, net module, set *wgsl.Set, limits gpu.Limits) *session {
	return &session{name, net, set, limits, newArena(limits.MaxBuffer), newMemoryBank(), map[planKey]*plan{}}
}

// plan records the module on a slice's frames of a shape, once.
func (s *session) plan(shape tileShape, at slice) (*plan, error) {
	key := planKey{shape, at.n, at.at}
	if p := s.plans[key]; p != nil {
		return p, nil
	}
	r := &recorder{
		set: s.set, arena: s.arena, memory: s.memory, limits: s.limits, at: at.at, cut: shape.cut,
		batch: &gpu.Batch{Label: fmt.Sprintf("%s %dx%dx%d", s.name, at.n, shape.h, shape.w)},
	}
	in := r.tensor("input", at.n, shape.h, shape.w, shape.c)
	out := s.net.Forward(r, in)
	r.free(out)
	if r.err != nil {
		return nil, r.err
	}
	for _, b := range s.memory.order {
		if b.Size > s.limits.MaxBuffer {
			return nil, fmt.Errorf("vae: %s: %d bytes, device allows %d in a buffer: %w", b.Label, b.Size, s.limits.MaxBuffer, gpu.ErrTooLarge)
		}
	}
	p := &plan{batch: r.batch, in: in, out: out, marks: r.marks, cost: r.batch.Cost()}
	s.plans[key] = p
	return p, nil
}

// bytes is what the session's buffers take.
func (s *session) bytes() int64 { return s.arena.bytes() + sum(s.memory.order) }

// buffers are the session's own, weights not among them.
func (s *session) buffers() []*gpu.Buffer {
	return append(append([]*gpu.Buffer(nil), s.arena.buffers...), s.memory.order...)
}

// slice is n frames of a clip from frame t on.
type slice struct {
	t, n int
	at   position
}

// cut divides total frames into head frames, then step at a time; a clip that
// is no longer than head is one slice, as in the reference (slicing_encode and
// slicing_decode of attn_video_vae.py).
func cut(total, head, step int) []slice {
	if total <= head {
		return []slice{{0, total, whole}}
	}
	all := []slice{{0, head, first}}
	for t := head; t < total; t += step {
		all = append(all, slice{t, min(step, total-t), steady})
	}
	return all
}

// pictures are total frames by themselves, each a clip of one.
func pictures(total int) []slice {
	var all []slice
	for t := range total {
		all = append(all, slice{t, 1, whole})
	}
	return all
}

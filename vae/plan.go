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

// session is what running one network at some tile shapes needs: a plan per
// shape and slice position, and the memory they share.
type session struct {
	net    *network
	set    *wgsl.Set
	limits gpu.Limits
	arena  *arena
	memory *memoryBank
	plans  map[planKey]*plan
}

type planKey struct {
	h, w, t int
	at      position
}

func newSession(net *network, set *wgsl.Set, limits gpu.Limits) *session {
	return &session{net, set, limits, newArena(limits.MaxBuffer), newMemoryBank(), map[planKey]*plan{}}
}

// plan records the network on t frames of h x w cells with c channels, once.
func (s *session) plan(h, w, c int, at slice) (*plan, error) {
	key := planKey{h, w, at.n, at.at}
	if p := s.plans[key]; p != nil {
		return p, nil
	}
	r := &recorder{
		set: s.set, arena: s.arena, memory: s.memory, limits: s.limits, at: at.at,
		batch: &gpu.Batch{Label: fmt.Sprintf("%s %dx%dx%d", s.net.name, at.n, h, w)},
	}
	in := r.tensor("input", at.n, h, w, c)
	out := s.net.Forward(r, in)
	r.free(in)
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

package engine

import "slices"

// Allocation is the content of a device buffer during an interval.
type Allocation struct {
	Buffer string // its name
	Size   int64  // bytes of the buffer
	Slice  int    // input frames of the slices that make it; 0: it is permanent
	What   string // the layer that makes it, or the buffer's name
	Bytes  int64
	Until  string // the last layer that reads it
}

// MemoryMap lists the plan's device memory: the activations of the first tile by kind of
// slice, in the order of their creation, then permanent buffers. Weights are one
// entry.
func (p *Plan) MemoryMap() []Allocation {
	w := p.largest()
	all := []Allocation{{Buffer: "weights", Size: p.Weights, What: "weights", Bytes: p.Weights}}
	for _, r := range w.Recorded[0] {
		for _, u := range w.recordings.arena.uses {
			if r == nil || u.batch != r.number {
				continue
			}
			all = append(all, Allocation{u.in.Label, u.in.Size, r.In.T, u.own.Label, u.own.Size, u.last})
		}
	}
	for _, b := range slices.Concat(w.recordings.memory.buffers(), p.Shared()) {
		all = append(all, Allocation{Buffer: b.Label, Size: b.Size, What: b.Label, Bytes: b.Size})
	}
	return all
}

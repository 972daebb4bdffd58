package engine

import "slices"

// Lies is the content of a device buffer during an interval.
type Lies struct {
	Buffer string // its name
	Size   int64  // of the buffer, bytes
	Slice  int    // of so many frames of the input it is made in, for those of one kind; 0: it is there always
	What   string // the layer that makes it, or the buffer's name
	Bytes  int64
	Until  string // the layer that is the last to read it
}

// Map lists the plan's device memory: the activations of the first tile by kind of
// slice, in the order of their creation, then permanent buffers. Weights are one
// entry.
func (p *Plan) Map() []Lies {
	w := p.largest()
	all := []Lies{{Buffer: "weights", Size: p.Weights, What: "weights", Bytes: p.Weights}}
	for _, r := range w.Recorded[0] {
		for _, u := range w.recordings.arena.uses {
			if r == nil || u.batch != r.number {
				continue
			}
			all = append(all, Lies{u.in.Label, u.in.Size, r.In.T, u.own.Label, u.own.Size, u.last})
		}
	}
	for _, b := range slices.Concat(w.recordings.memory.buffers(), p.Shared()) {
		all = append(all, Lies{Buffer: b.Label, Size: b.Size, What: b.Label, Bytes: b.Size})
	}
	return all
}

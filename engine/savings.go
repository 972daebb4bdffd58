package engine

import (
	"errors"
	"math"
	"slices"

	"tessera/tiling"
)

// A plan that does not fit the budget saves memory and does more work: by portions
// (portions.go), by convolutions that overwrite their input (bands_in_place.go), and by
// offload (offload.go, offload_activations.go). The planner tries the fastest first.

// tiled plans a job at one tile size, with the fastest saving that fits. If none fits, it
// returns the plan with the least memory.
func (p *planner) tiled(tile tiling.Size) (*Plan, error) {
	var least *Plan
	all := p.savings()
	for i, s := range all {
		l, err := p.lay(tile, s)
		if err != nil && !doesNotFit(err) {
			return nil, err
		}
		if err == nil && (least == nil || l.Bytes() < least.Bytes()) {
			least = l
		}
		switch {
		case least != nil && (i == len(all)-1 || least.Bytes() <= p.budget && !p.o.Internals.Least):
			return least, nil
		case i == len(all)-1:
			return nil, err
		}
	}
	return nil, nil // not reached: savings is never empty
}

// saving is a way to use less memory, for more work.
type saving struct {
	depth   int   // of portions
	streams int   // weights that a slice uses at most this often live on the host
	away    bool  // so does causal memory
	rows    bool  // convolutions overwrite their input
	hosts   int64 // larger activations, in bytes, live on the host; 0: none do
}

// savings lists the savings that the job can use, the fastest first.
func (p *planner) savings() []saving {
	deepest := p.deepest()
	var all []saving
	for _, away := range []bool{false, true} {
		if away && !p.mayOffload() || !away && p.o.Offload == OffloadOn && p.mayOffload() {
			continue
		}
		for depth := range deepest + 1 {
			all = append(all, p.resident(saving{depth: depth, away: away})...)
		}
		all = append(all, p.resident(saving{depth: deepest, away: away, rows: true})...)
	}
	if p.mayOffload() {
		all = append(all, saving{depth: deepest, streams: math.MaxInt, away: true, rows: true})
	}
	if p.mayUseHost() && !p.mayOffload() {
		s := saving{depth: deepest, rows: true}
		for _, s.hosts = range p.hostedAbove() {
			all = append(all, s)
		}
		s.streams = math.MaxInt
		all = append(all, s)
	}
	return all
}

// hostedAbove lists the sizes to try above which activations live on the host.
func (p *planner) hostedAbove() []int64 {
	if p.o.Internals.Across > 0 {
		return []int64{p.o.Internals.Across}
	}
	return []int64{2 << 30, 1 << 30, 1 << 28, 1 << 26}
}

// resident returns a saving, and the saving with those weights on the host that a slice
// uses once.
func (p *planner) resident(s saving) []saving {
	all := []saving{s}
	if p.mayUseHost() {
		s.streams = 1
		all = append(all, s)
	}
	return all
}

// least plans a job at one tile size with the least memory. If the host has no room, it
// saves memory on the device alone.
func (p *planner) least(tile tiling.Size) (l *Plan, err error) {
	for _, s := range slices.Backward(p.savings()) {
		if s.depth < p.deepest() {
			continue
		}
		if l, err = p.lay(tile, s); !errors.Is(err, ErrMemory) {
			break
		}
	}
	return l, err
}

// frugal reports whether the plan uses a saving.
func (p *Plan) frugal() bool { return p.Depth > 0 || p.Away || p.InPlace || p.Hosted || p.streams > 0 }

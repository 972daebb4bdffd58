package engine

import (
	"fmt"
	"math"
	"slices"

	"tessera/memory"
)

// mayOffload reports whether the job has causal memory and this may live on the host.
// Without causal memory, activations may.
func (p *planner) mayOffload() bool {
	return p.mayUseHost() && !p.Independent && p.Frames > p.First(p.o.Chunk*p.InFrames)
}

// mayUseHost reports whether anything may live on the host: by default if the device has its
// own memory.
func (p *planner) mayUseHost() bool {
	return p.o.Offload == OffloadOn || p.o.Offload != OffloadOff && p.Adapter.Type == "discrete"
}

// offload checks the options of offload and sets the host's budget.
func (o *Options) offload() error {
	if !slices.Contains([]Offload{"", OffloadAuto, OffloadOn, OffloadOff}, o.Offload) {
		return fmt.Errorf("engine: offload %.20q, expected auto, on or off", string(o.Offload))
	}
	o.Host = o.HostBudget()
	return nil
}

// HostBudget returns the host memory that a job may use: by default three quarters of
// what is free or, if that is unknown, 2 GiB or as much as requested.
func (o Options) HostBudget() int64 {
	free, known := memory.Free()
	switch {
	case o.Host > 0:
		return o.Host
	case known:
		return free / 4 * 3
	case o.Offload == OffloadOn:
		return math.MaxInt64
	}
	return 2 << 30
}

// HostFree returns the free host memory that gives the HostBudget budget.
func HostFree(budget int64) int64 { return (budget + 2) / 3 * 4 }

// hosted counts the bytes on the host and the transfers; it fails if they do not fit on
// the host.
func (p *planner) hosted(l *Plan) error {
	l.count()
	if l.Host > p.o.Host {
		return fmt.Errorf("engine: the %s needs %s of host memory, the limit is %s: %w",
			p.Network.Name, Bytes(l.Host), Bytes(p.o.Host), ErrHost)
	}
	return nil
}

// count sums the bytes on the host and the transfers.
func (p *Plan) count() {
	for _, w := range p.Work.Passes {
		if bank := w.recordings.memory; bank.away {
			host := sum(bank.order)
			for _, a := range bank.parked {
				host += a.Sizes[0]
			}
			p.Host = max(p.Host, host)
		}
		p.Host = max(p.Host, w.recordings.hosts.bytes())
		p.Work.Streamed = append(p.Work.Streamed, w.recordings.streamed...)
		recordings, times := w.times()
		for _, r := range recordings {
			for _, t := range r.transfers {
				p.Moved += times[r] * t.bytes
				if !t.weight() {
					p.Work.Piece = max(p.Work.Piece, t.bytes)
				}
			}
		}
	}
	p.Streamed = sum(p.Work.Streamed)
	p.Host += p.Streamed
}

package engine

import (
	"fmt"
	"slices"
	"strings"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// Plan describes how a job will run: how it is cut, and every buffer that it needs. It
// may run any number of times, but not twice at once.
type Plan struct {
	Tiling  Tiling
	Tiles   tiling.Plan
	Tile    tiling.Size // pixels; zero for one tile
	Overlap tiling.Size // pixels
	Halo    tiling.Size // most pixels that an exact tile reads beyond an edge
	Shrunk  bool        // Tile is smaller than requested, see Options.Shrink
	Slices  int         // per tile
	Chunk   int         // most latent frames in a slice after the first
	Frames  int         // of the result, without trimming
	Depth   int         // of the portions that slices run in if the budget requires it; 0 is no portions
	InPlace bool        // convolutions overwrite their input, if the budget requires it

	// Bytes on the device.
	Weights     int64
	Activations int64 // of the larger pass, if there are two
	Causal      int64 // memory of causal convolutions, of the same pass
	Canvas      int64 // for assembling tiles
	Transfer    int64 // results and previews during download
	Staging     int64 // part of Transfer: buffers that let results leave while the device computes the next; with a smaller budget there are none

	CausalI8 bool  // causal memory has 8 bits, except for sums
	Hosted   bool  // the largest activations of pictures live on the host
	Away     bool  // causal memory lives on the host and is transferred
	Streamed int64 // bytes of weights on the host, transferred for each layer that uses them
	Host     int64 // bytes of all these on the host
	Moved    int64 // bytes transferred to the device and back, in the whole job

	Spool   int64 // bytes outside of the device
	Budget  int64 // bytes allowed on the device
	Untiled int64 // for exact tiles: bytes on the device in one tile; 0 if that exceeds its limits

	Cost gpu.Cost // of the whole job

	Helpers  []*Helper // compute tiles too; see Share
	Unshared []string  // devices that cannot, and why

	// Work is the list of steps that package runner executes.
	Work Work

	job     *Job
	options Options
	streams int   // see saving
	hosts   int64 // likewise
}

// Bytes returns the planned peak on the device: the size of Buffers.
func (p *Plan) Bytes() int64 {
	return p.Weights + p.Activations + p.Causal + p.Canvas + p.Transfer
}

// Reads returns how often a part of the clip is read at most: once if one tile reads its
// frames in order.
func (p *Plan) Reads() int {
	w := p.Work.Passes[0]
	if len(w.Slices) > 1 && w.Slices[1].T < w.Slices[0].N {
		return 2 * len(w.Tiles)
	}
	return len(w.Tiles)
}

// Buffers returns all buffers that exist on the device at once: those of the larger pass,
// if there are two.
func (p *Plan) Buffers() []*gpu.Buffer {
	all := append(slices.Clone(p.Work.Weights), p.largest().recordings.buffers()...)
	return append(all, p.Shared()...)
}

// Shared returns the buffers that outlive a pass, without weights.
func (p *Plan) Shared() []*gpu.Buffer {
	var all []*gpu.Buffer
	if p.Work.Joiner != nil {
		all = slices.Clone(p.Work.Joiner.buffers())
	}
	return append(all, p.transfer()...)
}

// transfer returns the buffers that results and previews pass through.
func (p *Plan) transfer() []*gpu.Buffer {
	all := p.Work.Results.buffers()
	if p.Work.Preview != nil {
		all = append(all, p.Work.Preview.bytes)
	}
	if p.Work.FromHelper != nil {
		all = append(all, p.Work.FromHelper)
	}
	return append(all, p.Work.Staging...)
}

// largest returns the pass that needs the most memory.
func (p *Plan) largest() *Pass {
	most := p.Work.Passes[0]
	for _, w := range p.Work.Passes[1:] {
		if sum(w.recordings.buffers()) > sum(most.recordings.buffers()) {
			most = w
		}
	}
	return most
}

// CausalMemory describes the causal memory of all passes and tiles in order: a text that
// is equal only for plans with the same memory, and its bytes.
func (p *Plan) CausalMemory() (text string, bytes int64) {
	var b strings.Builder
	for _, w := range p.Work.Passes {
		fmt.Fprintf(&b, "%d tiles, %d slices", len(w.Tiles), len(w.Slices))
		if p.CausalI8 {
			b.WriteString(", i8")
		}
		for _, m := range w.Memory() {
			fmt.Fprintf(&b, ", %s: %d", m.Label, m.Size)
		}
		b.WriteByte('\n')
		bytes += int64(len(w.Tiles)) * sum(w.Memory())
	}
	return b.String(), bytes
}

// lay plans a job at one tile size with the given saving.
func (p *planner) lay(tile tiling.Size, w saving) (*Plan, error) {
	l := &Plan{
		Chunk: p.chunk(p.o.Chunk), Depth: w.depth, CausalI8: p.o.MemoryFormat == MemoryI8, Away: w.away, InPlace: w.rows, Hosted: w.hosts > 0, hosts: w.hosts, streams: w.streams, Tiling: p.o.Tiling, Tile: tile, Overlap: p.overlap(), Budget: p.budget,
		Frames: p.Direction.Frames(p.Frames, p.Independent), job: p.Job, options: p.o, Work: Work{NewSpool: p.o.Internals.Spool},
	}
	linear, err := p.tiles(p.Height, p.Width, l.Tiling, tiling.Options{Tile: tile, Overlap: l.Overlap})
	if err != nil {
		return nil, err
	}
	l.Tiles = linear.Plan
	if l.Tiling == Exact && (!l.Tiles.Whole() || p.joint() && len(p.slices(p.Frames, p.o.Chunk*p.InFrames, false)) > 1) {
		err = p.exact(l)
	} else {
		l.Work.Passes = []*Pass{p.whole(l, l.Tiles.Tiles)}
	}
	if err != nil {
		return nil, err
	}
	for _, w := range l.Work.Passes {
		if err := p.record(l, w); err != nil {
			return nil, err
		}
	}
	l.Work.Weights = l.read(p.Network.Weights)
	l.Weights = sum(l.Work.Weights)
	most := l.largest().recordings
	l.Activations, l.Causal = most.arena.bytes(), sum(most.memory.buffers())
	if err := p.hosted(l); err != nil {
		return nil, err
	}
	p.join(l, linear)
	return l, nil
}

// read returns the weights that the plan's commands read: some are only for a clip's
// first frames, or only for later ones.
func (p *Plan) read(w *Weights) []*gpu.Buffer {
	bound := map[*gpu.Buffer]bool{}
	for _, s := range p.Work.Passes {
		for _, r := range s.recordings.byShape {
			for _, step := range r.Steps {
				if run, ok := step.(*RunBatch); ok {
					for i := range run.Batch.Commands {
						for _, v := range run.Batch.Commands[i].Bindings {
							bound[v.Buffer] = true
						}
					}
				}
			}
		}
	}
	return slices.DeleteFunc(w.Buffers(), func(b *gpu.Buffer) bool { return !bound[b] })
}

// Of reports whether the plan is for a job of this network.
func (p *Plan) Of(n *Network) bool { return p.job.Network == n }

// Network returns the network that the plan runs.
func (p *Plan) Network() *Network { return p.job.Network }

// whole returns a pass of the whole network.
func (p *planner) whole(l *Plan, tiles []tiling.Tile) *Pass {
	w := &Pass{
		recordings: p.recordings(l, p.Network.Name, p.Network.Whole, Clip{}), Tiles: tiles,
		Slices: p.slices(p.Frames, p.o.Chunk*p.InFrames, p.Independent), cell: p.InPatch, c: p.InChannels,
	}
	if p.joint() {
		w.Slices = wholeClip(p.Frames)
	}
	if p.Network.Lookahead && len(w.Slices) > 1 && !p.Independent {
		w.Slices, w.recordings.lookaheads = lookaheadSlices(timeOpsOf(p.Network.Whole, p.InChannels), p.Frames, p.o.Chunk*p.OutFrames)
	}
	return w
}

func (p *planner) recordings(l *Plan, name string, net Module, from Source) *recordings {
	r := newRecordings(name, net, from, p.Kernels.Activations, p.Adapter.Limits, p.NoFold)
	r.outputs, r.depth, r.rows, r.memory.away, r.memory.i8, r.memory.across = p.OutChannels, l.Depth, l.InPlace, l.Away, l.CausalI8, p.o.Internals.Across
	r.full = p.full(p.Frames, p.Independent)
	r.weights, r.streams, r.hosts.above = p.Network.Weights, l.streams, l.hosts
	return r
}

// record makes a pass's recordings and adds their cost to l. Its time depends on the
// number of different recordings, not of slices.
func (p *planner) record(l *Plan, w *Pass) error {
	var kinds []Slice // the first slice of each
	count := map[int]int64{}
	for _, s := range w.Slices {
		if count[s.Kind]++; count[s.Kind] == 1 {
			kinds = append(kinds, s)
		}
	}
	w.Recorded = make([][]*Recording, len(w.Tiles))
	for i := range w.Tiles {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		shape := w.shape(i)
		w.Recorded[i] = make([]*Recording, kinds[len(kinds)-1].Kind+1)
		for _, s := range kinds {
			r, err := w.recordings.of(p.ctx, shape, s)
			if err != nil {
				return err
			}
			w.Recorded[i][s.Kind] = r
			l.Cost.Add(r.Cost, count[s.Kind])
		}
	}
	w.recordings.place()
	l.Slices = max(l.Slices, len(w.Slices))
	return nil
}

// join declares what combines tiles and downloads results.
func (p *planner) join(l *Plan, linear tiling.Linear) {
	out := l.Work.Last().output()
	if len(l.Work.Last().Tiles) > 1 {
		if p.Output.Preview && p.Output.Form != Draws {
			l.Work.Preview = newPreviews(p.Job, l.Tiles.Tiles, p.output(l))
		}
		if l.Tiling == Diffusers {
			l.Work.Joiner = newLinearCanvas(p.Job, linear, l.Frames)
		} else {
			l.Work.Joiner = p.canvas(l)
		}
		out = l.Work.Joiner.bands()
	} else {
		out.H = l.boundRows(out)
	}
	l.Work.Results = newResults(p.Job, p.output(l), l.Tiles.Out, out)
	l.Transfer = sum(l.transfer())
	if l.Work.Joiner != nil {
		l.Canvas = sum(l.Work.Joiner.buffers())
		l.Spool += spooled(l.Work.Joiner)
	}
	l.stage(out)
}

// stage declares the buffers that results like `out` leave by, as far as the budget
// allows; without them the device waits for each result. A job of one slice needs none.
func (p *Plan) stage(out wgsl.Tensor) {
	if p.options.Internals.Least || len(p.Work.Passes) == 1 && len(p.Work.Last().Tiles)*len(p.Work.Last().Slices) == 1 {
		return
	}
	most := out.FrameBytes() // draws are not larger
	if p.Work.Results.rgba != nil {
		most = p.Work.Results.rgba.Size
	}
	if p.Work.Preview != nil {
		most = max(most, p.Work.Preview.bytes.Size)
	}
	if v, ok := p.Work.Joiner.(*canvas); ok && v.frames == nil {
		most = max(most, v.partBytes(v.y.C))
	}
	if p.Work.Intermediate != nil {
		first := p.Work.Passes[0].output()
		most = max(most, first.FrameBytes())
	}
	frames := p.Work.Last().output().T
	if p.Work.Piece > 0 {
		most, frames = max(most, p.Work.Piece), max(frames, 2)
	}
	p.Work.Staging = Stagings(most, frames)
	for len(p.Work.Staging) > 0 && p.Bytes()+sum(p.Work.Staging) > p.Budget {
		p.Work.Staging = p.Work.Staging[1:]
	}
	p.Staging = sum(p.Work.Staging)
	p.Transfer += p.Staging
}

// canvas returns a canvas on the device if the budget allows it, else in a spool.
func (p *planner) canvas(l *Plan) *canvas {
	frame := int64(l.Tiles.Out.H) * int64(l.Tiles.Out.W) * int64(wgsl.Pad4(p.OutChannels)) * 4
	if p.o.Internals.Least || int64(l.Frames)*frame > l.Budget { // a hundred thousand frames are not worth declaring in vain
		return newCanvas(p.Job, l.Tiles, l.Frames, true)
	}
	v := newCanvas(p.Job, l.Tiles, l.Frames, false)
	transfer := sum(newResults(p.Job, p.output(l), l.Tiles.Out, v.bands()).buffers())
	if l.Work.Preview != nil {
		transfer += l.Work.Preview.bytes.Size
	}
	if v.y.FrameBytes() <= p.Adapter.Limits.MaxBinding-bindAlign && l.Weights+l.Activations+l.Causal+sum(v.buffers())+transfer <= l.Budget {
		return v
	}
	return newCanvas(p.Job, l.Tiles, l.Frames, true)
}

// output returns the requested output, with what it trims.
func (p *planner) output(l *Plan) Output {
	o := p.Output
	o.Frames = trimmed(o.Frames, l.Frames)
	o.Height, o.Width = trimmed(o.Height, l.Tiles.Out.H), trimmed(o.Width, l.Tiles.Out.W)
	return o
}

// trimmed returns n, limited to all; 0 is all.
func trimmed(n, all int) int {
	if n <= 0 || n > all {
		return all
	}
	return n
}

// Output returns the result's form and its size after trimming.
func (p *Plan) Output() Output { return p.Work.Results.Output }

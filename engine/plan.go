package engine

import (
	"context"
	"slices"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// Plan is a job as it will be done, known before anything runs: how it is cut,
// and every buffer it will need. It may be run any number of times, once at a
// time.
type Plan struct {
	Tiling  Tiling
	Tiles   tiling.Plan
	Tile    tiling.Size // pixels; zero for one tile
	Overlap tiling.Size // pixels
	Halo    tiling.Size // pixels that an exact tile reads beyond each of its edges, at most
	Shrunk  bool        // Tile is smaller than asked for, see Options.Shrink
	Slices  int         // of each tile
	Chunk   int         // latent frames that a slice has at most, but for the first
	Frames  int         // that come out, without trimming
	Depth   int         // of the portions that slices run in, where the budget asks for them: 0 is none
	Rows    bool        // convolutions write over what they read, where the budget asks for that

	// Bytes on the device.
	Weights     int64
	Activations int64 // of the larger pass, where there are two
	Causal      int64 // memory of causal convolutions, of the same
	Canvas      int64 // puts tiles together
	Transfer    int64 // results and previews on their way out
	Ahead       int64 // of Transfer: lets them leave while the device makes the next; a smaller budget goes without

	Eight    bool  // causal memory is kept in 8 bits, but for sums
	Away     bool  // causal memory lives on the host, and crosses
	Streamed int64 // bytes of weights that live there, and cross for each layer that uses them
	Host     int64 // bytes of both there
	Moved    int64 // bytes of both that cross, to the device and back, in the whole job

	Spool   int64 // bytes outside of the device
	Budget  int64 // bytes allowed on the device
	Untiled int64 // bytes on the device in one tile, of exact tiles; 0 where that is beyond its limits

	Cost gpu.Cost // of the whole job

	Helpers  []*Helper // that take tiles too; see Share
	Unshared []string  // devices that can't, and why

	job      *Job
	options  Options
	weights  []*gpu.Buffer // that its commands read
	streams  int           // see way
	streamed []*gpu.Buffer // weights that are on the host
	passes   []*Pass
	between  *Between // of two passes
	joiner   joiner   // nil for one tile
	outlet   *outlet
	preview  *preview      // nil where none is wanted
	guest    *gpu.Buffer   // a frame that a helper made; nil where there are none
	staging  []*gpu.Buffer // that results leave by, readbacks
	piece    int64         // of causal memory that crosses at once, at most
}

// Helper is a plan of the same job, in the same tiles, on another device. It
// takes tiles of the plan that it helps, each when it is free.
type Helper struct {
	Plan *Plan
	Dev  *gpu.Device
	Load func(ctx context.Context) error // has the plan's weights on the device

	Tiles int // that it made, in all runs
}

// Bytes is the planned peak on the device: the size of Buffers.
func (p *Plan) Bytes() int64 {
	return p.Weights + p.Activations + p.Causal + p.Canvas + p.Transfer
}

// Reads is how often each part of the clip is read, at most: once where its frames
// are fed to one tile, from the first to the last.
func (p *Plan) Reads() int { return len(p.passes[0].Tiles) }

// Buffers are all that the plan has on the device at once: those of the larger
// pass, where there are two.
func (p *Plan) Buffers() []*gpu.Buffer {
	all := append(slices.Clone(p.weights), p.largest().recordings.buffers()...)
	return append(all, p.shared()...)
}

// shared are the buffers that outlive a pass, weights not among them.
func (p *Plan) shared() []*gpu.Buffer {
	var all []*gpu.Buffer
	if p.joiner != nil {
		all = slices.Clone(p.joiner.buffers())
	}
	return append(all, p.transfer()...)
}

// transfer are the buffers that results and previews pass through.
func (p *Plan) transfer() []*gpu.Buffer {
	all := p.outlet.buffers()
	if p.preview != nil {
		all = append(all, p.preview.bytes)
	}
	if p.guest != nil {
		all = append(all, p.guest)
	}
	return append(all, p.staging...)
}

// largest is the pass that takes the most memory.
func (p *Plan) largest() *Pass {
	most := p.passes[0]
	for _, w := range p.passes[1:] {
		if sum(w.recordings.buffers()) > sum(most.recordings.buffers()) {
			most = w
		}
	}
	return most
}

// last is the pass whose tiles are put together.
func (p *Plan) last() *Pass { return p.passes[len(p.passes)-1] }

// pass is one way through the clip: a module on every slice of every tile.
type Pass struct {
	recordings *recordings
	Tiles      []tiling.Tile // In is what the module is fed with
	windows    []Windows     // of each tile; nil: none
	parts      []tiling.Rect // of each tile's output, the part to keep; nil: all
	Slices     []Slice
	cell       int // samples of In along the side of a pixel of the module's input
	c          int // channels of the module's input

	Recorded [][]*Recording // of each kind of slice of each tile
}

// shape is what the module is fed with for tile i.
func (w *Pass) shape(i int) tileShape {
	in := w.Tiles[i].In.Size()
	s := tileShape{h: in.H / w.cell, w: in.W / w.cell, c: w.c}
	if w.windows != nil {
		s.windows = w.windows[i]
	}
	return s
}

// part is what is kept of tile i's output, which is of a size.
func (w *Pass) part(i int, size tiling.Size) tiling.Rect {
	if w.parts != nil {
		return w.parts[i]
	}
	return tiling.Rect{Y1: size.H, X1: size.W}
}

// tiled plans a job at one tile size: in portions where it doesn't fit without. What
// fits not even so is the plan that takes least.
func (p *planner) tiled(tile tiling.Size) (*Plan, error) {
	var least *Plan
	ways := p.ways()
	for i, w := range ways {
		l, err := p.portioned(tile, w)
		if err != nil && !unfit(err) {
			return nil, err
		}
		if err == nil && (least == nil || l.Bytes() < least.Bytes()) {
			least = l
		}
		switch {
		case least != nil && (i == len(ways)-1 || least.Bytes() <= p.budget && !p.o.Least):
			return least, nil
		case i == len(ways)-1:
			return nil, err
		}
	}
	return nil, nil // there is a way always
}

// way is how little memory is used, for more work.
type way struct {
	depth   int  // of portions
	streams int  // weights that a slice uses at most so often live on the host
	away    bool // and so does causal memory
	rows    bool // convolutions write over what they read
}

// deepest is how deep portions are nested at most. A clip in one slice keeps no causal
// memory, and would for them; in long slices, that somebody asked for, what all
// portions do would take longer to record than to forgo.
func (p *planner) deepest() int {
	if p.Independent || p.Frames <= p.First(p.o.Chunk*p.InFrames) || p.o.Chunk > longest {
		return 0
	}
	return deepest
}

func (p *planner) portioned(tile tiling.Size, w way) (*Plan, error) {
	l := &Plan{
		Chunk: p.o.Chunk, Depth: w.depth, Eight: p.o.MemoryFormat == MemoryI8, Away: w.away, Rows: w.rows, streams: w.streams, Tiling: p.o.Tiling, Tile: tile, Overlap: p.overlap(), Budget: p.budget,
		Frames: p.Direction.Frames(p.Frames, p.Independent), job: p.Job, options: p.o,
	}
	linear, err := p.tiles(p.Height, p.Width, l.Tiling, tiling.Options{Tile: tile, Overlap: l.Overlap})
	if err != nil {
		return nil, err
	}
	l.Tiles = linear.Plan
	if l.Tiling == Exact && !l.Tiles.Whole() {
		err = p.exact(l)
	} else {
		l.passes = []*Pass{p.whole(l, l.Tiles.Tiles)}
	}
	if err != nil {
		return nil, err
	}
	for _, w := range l.passes {
		if err := p.record(l, w); err != nil {
			return nil, err
		}
	}
	l.weights = l.read(p.Network.Weights)
	l.Weights = sum(l.weights)
	most := l.largest().recordings
	l.Activations, l.Causal = most.arena.bytes(), sum(most.memory.buffers())
	if err := p.hosted(l); err != nil {
		return nil, err
	}
	p.join(l, linear)
	return l, nil
}

// read are the weights that commands of the plan read: some are for the first
// frames of a clip, or for later ones.
func (p *Plan) read(w *Weights) []*gpu.Buffer {
	bound := map[*gpu.Buffer]bool{}
	for _, s := range p.passes {
		for _, r := range s.recordings.byShape {
			for _, step := range r.Steps {
				if run, ok := step.(*runBatch); ok {
					run.bound(bound)
				}
			}
		}
	}
	return slices.DeleteFunc(w.Buffers(), func(b *gpu.Buffer) bool { return !bound[b] })
}

// Of says whether the plan is of a job of this network.
func (p *Plan) Of(n *Network) bool { return p.job.Network == n }

// Load has the weights that the plan reads on the device, and those that stream on the
// host, and no others of the network. told is called as bytes of those that were
// missing are done, if not nil.
func (p *Plan) Load(ctx context.Context, dev *gpu.Device, from Tensors, told func(done, total int64)) error {
	needed := map[*gpu.Buffer]bool{}
	for _, b := range p.weights {
		needed[b] = true
	}
	p.job.Network.Weights.host.hold(p.streamed)
	return p.job.Network.Weights.upload(ctx, dev, from, needed, told)
}

// whole is a pass of the whole network.
func (p *planner) whole(l *Plan, tiles []tiling.Tile) *Pass {
	return &Pass{
		recordings: p.recordings(l, p.Network.Name, p.Network.Whole, &feed{}), Tiles: tiles,
		Slices: p.slices(p.Frames, p.o.Chunk*p.InFrames, p.Independent), cell: p.InPatch, c: p.InChannels,
	}
}

func (p *planner) recordings(l *Plan, name string, net Module, from source) *recordings {
	r := newRecordings(name, net, from, p.Kernels.Activations, p.Adapter.Limits, p.NoFold)
	r.outputs, r.depth, r.rows, r.memory.away, r.memory.eight, r.memory.across = p.OutChannels, l.Depth, l.Rows, l.Away, l.Eight, p.o.Across
	r.weights, r.streams = p.Network.Weights, l.streams
	return r
}

// record makes a pass's recordings and adds what they cost to l. It takes the
// time of the different ones, however many slices there are.
func (p *planner) record(l *Plan, w *Pass) error {
	var kinds []Slice // the first of each
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

// join declares what puts tiles together and what results leave by.
func (p *planner) join(l *Plan, linear tiling.Linear) {
	out := l.last().output()
	if len(l.last().Tiles) > 1 {
		if p.Output.Preview && p.Output.Form != Draws {
			l.preview = newPreview(l.Tiles.Tiles, p.output(l), p.Adapter.Limits)
		}
		if l.Tiling == Diffusers {
			l.joiner = newLinearCanvas(p.Job, linear, l.Frames)
		} else {
			l.joiner = p.canvas(l)
		}
		out = l.joiner.bands()
	} else {
		out.H = l.boundRows(out)
	}
	l.outlet = newOutlet(p.Job, p.output(l), l.Tiles.Out, out)
	l.Transfer = sum(l.transfer())
	if l.joiner != nil {
		l.Canvas = sum(l.joiner.buffers())
		l.Spool += l.joiner.spooled()
	}
	l.stage(out)
}

// stage declares what results like `out` leave by, as far as the budget allows:
// without, the device waits for each. Nothing follows the only slice of all.
func (p *Plan) stage(out wgsl.Tensor) {
	if p.options.Least || len(p.passes) == 1 && len(p.last().Tiles)*len(p.last().Slices) == 1 {
		return
	}
	most := out.FrameBytes() // draws are no more
	if p.outlet.rgba != nil {
		most = p.outlet.rgba.Size
	}
	if p.preview != nil {
		most = max(most, p.preview.bytes.Size)
	}
	if v, ok := p.joiner.(*canvas); ok && v.frames == nil {
		most = max(most, v.partBytes(v.y.C))
	}
	if p.between != nil {
		first := p.passes[0].output()
		most = max(most, first.FrameBytes())
	}
	frames := p.last().output().T
	if p.piece > 0 {
		most, frames = max(most, p.piece), max(frames, 2)
	}
	p.staging = stagings(most, frames)
	for len(p.staging) > 0 && p.Bytes()+sum(p.staging) > p.Budget {
		p.staging = p.staging[1:]
	}
	p.Ahead = sum(p.staging)
	p.Transfer += p.Ahead
}

// canvas is one on the device where the budget allows, else in a spool.
func (p *planner) canvas(l *Plan) *canvas {
	frame := int64(l.Tiles.Out.H) * int64(l.Tiles.Out.W) * int64(wgsl.Pad4(p.OutChannels)) * 4
	if p.o.Least || int64(l.Frames)*frame > l.Budget { // not declared in vain: there may be a hundred thousand
		return newCanvas(p.Job, l.Tiles, l.Frames, true)
	}
	v := newCanvas(p.Job, l.Tiles, l.Frames, false)
	transfer := sum(newOutlet(p.Job, p.output(l), l.Tiles.Out, v.bands()).buffers())
	if l.preview != nil {
		transfer += l.preview.bytes.Size
	}
	if v.y.FrameBytes() <= p.Adapter.Limits.MaxBinding-bindAlign && l.Weights+l.Activations+l.Causal+sum(v.buffers())+transfer <= l.Budget {
		return v
	}
	return newCanvas(p.Job, l.Tiles, l.Frames, true)
}

// output is the output asked for, with what it trims.
func (p *planner) output(l *Plan) Output {
	o := p.Output
	o.Frames = trimmed(o.Frames, l.Frames)
	o.Height, o.Width = trimmed(o.Height, l.Tiles.Out.H), trimmed(o.Width, l.Tiles.Out.W)
	return o
}

// trimmed is n where it is set and no more than all.
func trimmed(n, all int) int {
	if n <= 0 || n > all {
		return all
	}
	return n
}

// Output is what comes out: the form, and what is left after trimming.
func (p *Plan) Output() Output { return p.outlet.Output }

package engine

import (
	"iter"
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Attend is the kind of layers whose multiply-adds grow with the square of the
// frame size.
const Attend = "attention"

// Layer is the work of one layer of a network in a whole job, or other work: "blend", "normalise", "to_rgba8", "sample".
type Layer struct {
	Name, Kind string
	MACs       int64 // multiply-adds of convolutions and products
	Reference  int64 // multiply-adds of the same layer in the original implementation
	Bytes      int64 // read and written if each command moved each operand once
	Dispatches int64 // as recorded; a device splits long ones
}

// Layers lists the plan's work by layer, in network order, beside that of the
// original implementation for the same job, which computes every temporal tap, also
// of zeros and repeated frames, and every output, also dropped ones. It uses the
// plan's tiles, or the whole frame instead of exact tiles.
func (p *Plan) Layers() []Layer {
	t := &tally{byName: map[string]*Layer{}}
	for _, w := range p.Work.Passes {
		t.pass(w)
	}
	p.results(func(steps []Step) {
		for _, c := range commands(steps) {
			t.layer(c.Label, c.Label).add(c, 1)
		}
	})
	t.reference(p)
	all := make([]Layer, len(t.order))
	for i, l := range t.order {
		all[i] = *l
	}
	return all
}

// tally sums layers.
type tally struct {
	byName map[string]*Layer
	order  []*Layer
	at     int // index of the last named layer
}

// layer returns the layer of a name. A new one follows the one named last.
func (t *tally) layer(name, kind string) *Layer {
	l := t.byName[name]
	if l == nil {
		l = &Layer{Name: name, Kind: kind}
		t.byName[name] = l
		t.order = slices.Insert(t.order, min(t.at+1, len(t.order)), l)
	}
	t.at = slices.Index(t.order, l)
	return l
}

// add adds a command that runs n times.
func (l *Layer) add(c *gpu.Command, n int64) {
	l.MACs += n * c.Cost.MACs
	l.Bytes += n * c.Cost.Bytes
	if c.Program != nil {
		l.Dispatches += n
	}
}

// Programs returns the work of each program of the network in the whole job.
func (p *Plan) Programs() map[*gpu.Program]gpu.Cost {
	all := map[*gpu.Program]gpu.Cost{}
	for _, w := range p.Work.Passes {
		recordings, times := w.times()
		for _, r := range recordings {
			for _, c := range commands(r.Steps) {
				if c.Program != nil {
					sum := all[c.Program]
					sum.Add(c.Cost, times[r])
					all[c.Program] = sum
				}
			}
		}
	}
	return all
}

// times returns how often each of a pass's recordings runs.
func (w *Pass) times() (recordings []*Recording, times map[*Recording]int64) {
	var kinds []int
	slices := map[int]int64{}
	for _, s := range w.Slices {
		if slices[s.Kind]++; slices[s.Kind] == 1 {
			kinds = append(kinds, s.Kind)
		}
	}
	times = map[*Recording]int64{}
	for _, recorded := range w.Recorded[:len(w.Tiles)] {
		for _, kind := range kinds {
			r := recorded[kind]
			if times[r] == 0 {
				recordings = append(recordings, r)
			}
			times[r] += slices[kind]
		}
	}
	return recordings, times
}

// pass adds the work of a pass.
func (t *tally) pass(w *Pass) {
	recordings, times := w.times()
	for _, r := range recordings {
		layers := r.layers
		for i, c := range commands(r.Steps) {
			for i == layers[0].end {
				layers = layers[1:]
			}
			t.layer(layers[0].name, layers[0].kind).add(c, times[r])
		}
	}
}

// commands yields the commands of the steps' batches, numbered.
func commands(steps []Step) iter.Seq2[int, *gpu.Command] {
	return func(yield func(int, *gpu.Command) bool) {
		n := 0
		for _, s := range steps {
			b, ok := s.(*RunBatch)
			for i := 0; ok && i < len(b.Batch.Commands); i++ {
				if !yield(n, &b.Batch.Commands[i]) {
					return
				}
				n++
			}
		}
	}
}

// reference adds the work of the original implementation. Its slices make no difference:
// it makes each frame once.
func (t *tally) reference(p *Plan) {
	w, clips, times := p.Work.Passes[0], []int{p.job.Frames}, int64(1)
	shapes := make([]tileShape, len(w.Tiles))
	for i := range shapes {
		shapes[i] = w.shape(i)
	}
	if len(p.Work.Passes) > 1 {
		shapes = []tileShape{{h: p.job.Height / p.job.InPatch, w: p.job.Width / p.job.InPatch, c: p.job.InChannels}}
	}
	if p.job.Independent {
		clips, times = []int{p.job.fed()}, int64(p.job.Frames)
	} else if p.job.Temporal.Step > 0 {
		clips = nil
		for _, s := range w.Slices {
			clips = append(clips, s.N)
		}
	} else if p.job.Groups {
		clips = []int{p.job.Direction.Frames(p.job.Frames, false) * p.job.InFrames}
	}
	for _, s := range shapes {
		for _, frames := range clips {
			g := &Graph{at: Whole}
			p.job.Network.Whole.Forward(g, g.record(node{label: "input", out: Value{T: frames, H: s.h, W: s.w, C: s.c}}))
			for _, n := range g.nodes {
				if n.macs > 0 {
					t.layer(n.label, n.kind).Reference += times * n.macs
				}
			}
		}
	}
}

// macs returns n multiply-adds for each frame of h x w pixels and each pair of channels.
func macs(n, frames, h, w, in, out int) int64 {
	return int64(n) * int64(frames) * int64(h) * int64(w) * int64(in) * int64(out)
}

// results calls do with the steps that combine tiles and download results, without
// previews.
func (p *Plan) results(do func(steps []Step)) {
	w := p.Work.Last()
	for i := range w.Tiles {
		frame := 0
		for _, s := range w.Slices {
			x := w.Recorded[i][s.Kind].Out
			for t := range x.T {
				p.result(TileFrame{x, t, i, frame}, do)
				frame++
			}
		}
	}
}

// result does this for one frame of a tile.
func (p *Plan) result(out TileFrame, do func(steps []Step)) {
	w := &p.Work
	if w.Joiner == nil {
		p.Bound(out.X, func(x wgsl.Tensor, y0 int) error {
			do(w.Results.Take(x, out.T, out.Frame, y0))
			return nil
		})
		return
	}
	do(w.Joiner.Add(out, true))
	if out.Tile < len(p.Work.Last().Tiles)-1 {
		return
	}
	for y0, x := 0, (wgsl.Tensor{}); y0 < p.Tiles.Out.H; y0 += x.H {
		var steps []Step
		steps, x = w.Joiner.Band(out.Frame, y0, true)
		do(steps)
		do(w.Results.Take(x, 0, out.Frame, y0))
	}
}

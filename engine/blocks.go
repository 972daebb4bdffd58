package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// Blocks of pixels become channels, or the reverse, in two ways. In SpaceToDepth and
// DepthToSpace the channels of a pixel are adjacent, and the first frame of a clip is a
// block of one frame. In Unshuffle and Shuffle, as in PyTorch's pixel_unshuffle, the
// pixels of a channel are adjacent, and the first frame of a clip counts as all frames of
// a block.

// SpaceToDepth packs Side x Side pixels and Time frames into one pixel, with each input
// pixel's channels adjacent. It averages more than Out channels. The first frame of a
// clip becomes one frame alone: its channels are averaged over fewer, or repeated if
// there are too few.
type SpaceToDepth struct {
	Name       string
	Out        int // channels
	Time, Side int // 1 or 2
	Means      int // number of channels in each mean; 0: the number that gives Out
}

// Forward returns x in fewer pixels.
func (d *SpaceToDepth) Forward(g *Graph, x Value) Value { return d.Add(g, x, Value{}) }

// Add adds x in fewer pixels to y in place. No later layer may read y.
func (d *SpaceToDepth) Add(g *Graph, x, y Value) Value {
	head := g.headFrames(d.Time)
	frames := head + (x.T-head)/d.Time
	whole := g.window(d.Name, Window{H: x.H / d.Side, W: x.W / d.Side})
	return g.record(node{
		label: d.Name, kind: "space_to_depth", reads: []Value{x}, onto: y, out: Value{T: frames, H: whole.H, W: whole.W, C: d.Out},
		reach: reach{by: d.Side, from: whole.Y, to: whole.Y, per: 1}, joint: d.Time,
		emit: func(e *emitter, out wgsl.Tensor) {
			in, at := e.x, e.window(whole)
			make := func(time, xt, yt, n int) {
				means := d.Means
				if means == 0 {
					means = max(1, time*d.Side*d.Side*in.C/out.C)
				}
				e.set.SpaceToDepth(e.batch, d.Name, wgsl.SpaceToDepth{
					FT: time, FS: d.Side, G: means, Y0: at.Y, X0: at.X, X: in, XT: xt, Y: out, YT: yt, N: n, Add: y.id != 0,
				})
			}
			if head == 1 {
				make(1, 0, 0, 1)
			}
			for _, r := range wgsl.Runs(frames-head, max(1, min(e.atOnce(&in)/d.Time, e.atOnce(&out))), nil) {
				make(d.Time, head+r.T*d.Time, head+r.T, r.N)
			}
		},
	})
}

// DepthToSpace unpacks one pixel into Side x Side pixels of Time frames, each with some
// consecutive channels. It repeats too few channels. The first frame of a clip becomes
// one frame, whose pixels have the first Out channels.
type DepthToSpace struct {
	Name       string
	Out        int // channels
	Time, Side int // 1 or 2
}

// Forward returns x in more pixels.
func (d *DepthToSpace) Forward(g *Graph, x Value) Value { return d.Add(g, x, Value{}) }

// Add adds x in more pixels to y in place. No later layer may read y.
func (d *DepthToSpace) Add(g *Graph, x, y Value) Value {
	head := g.headFrames(d.Time)
	whole := g.window(d.Name, Window{H: d.Side * x.H, W: d.Side * x.W})
	return g.record(node{
		label: d.Name, kind: "depth_to_space", reads: []Value{x}, onto: y, out: Value{T: head + (x.T-head)*d.Time, H: whole.H, W: whole.W, C: d.Out},
		reach: reach{by: 1, from: whole.Y, to: whole.Y + d.Side - 1, per: d.Side}, makes: d.Time,
		emit: func(e *emitter, out wgsl.Tensor) {
			in, at := e.x, e.window(whole)
			make := func(time, xt, yt, n int) {
				phases := time * d.Side * d.Side
				e.set.DepthToSpace(e.batch, d.Name, wgsl.DepthToSpace{
					FT: time, FS: d.Side, Stride: max(out.C, in.C/phases), Rep: max(1, phases*out.C/in.C),
					Y0: at.Y, X0: at.X, X: in, XT: xt, Y: out, YT: yt, N: n, Add: y.id != 0,
				})
			}
			if head == 1 {
				make(1, 0, 0, 1)
			}
			for _, r := range wgsl.Runs(in.T-head, max(1, min(e.atOnce(&in), e.atOnce(&out)/d.Time)), nil) {
				make(d.Time, head+r.T, head+r.T*d.Time, r.N)
			}
		},
	})
}

// Unshuffle packs Time frames and Space x Space pixels into one, whose channels are those
// of the packed pixels, channel slowest, or means of groups of them. If the number of
// frames is odd, as at the start of most clips, the first frame is repeated in front.
type Unshuffle struct {
	_ gpu.Incomparable

	Name        string
	Out         int // channels
	Time, Space int // 1 to 4
}

// Forward returns x at the smaller size.
func (d *Unshuffle) Forward(g *Graph, x Value) Value { return d.Add(g, x, Value{}) }

// Add adds x at the smaller size to y in place.
func (d *Unshuffle) Add(g *Graph, x, y Value) Value {
	frames := (x.T + d.Time - 1) / d.Time
	from := x.T - frames*d.Time
	return g.record(node{
		label: d.Name, kind: "pixel_unshuffle", reads: []Value{x}, onto: y, out: Value{T: frames, H: x.H / d.Space, W: x.W / d.Space, C: d.Out},
		reach: reach{by: d.Space, per: 1}, joint: d.Time,
		emit: func(e *emitter, out wgsl.Tensor) {
			in := e.x
			for _, r := range wgsl.Runs(frames, max(1, min(e.atOnce(&in)/d.Time, e.atOnce(&out))), nil) {
				e.set.AvgDown3D(e.batch, d.Name, wgsl.AvgDown3D{
					FT: d.Time, FS: d.Space, X: in, XT: from + r.T*d.Time, Y: out, YT: r.T, N: r.N, Add: y.id != 0, Repeat: true,
				})
			}
		},
	})
}

// Shuffle unpacks a frame's channels into Time frames and Space x Space pixels, channel
// slowest; fewer than Out channels are repeated. If the first frame of a clip becomes two
// frames, the first is dropped; of four, none.
type Shuffle struct {
	_ gpu.Incomparable

	Name        string
	Out         int // channels
	Time, Space int // 1, 2 or 4
}

// Forward returns x at the larger size.
func (d *Shuffle) Forward(g *Graph, x Value) Value {
	if d.Time == 2 {
		g.addTimeOp(true)
	}
	return d.Add(g, x, Value{})
}

// Add adds x at the larger size to y in place.
func (d *Shuffle) Add(g *Graph, x, y Value) Value {
	head := g.headFrames(d.Time)
	return g.record(node{
		label: d.Name, kind: "pixel_shuffle", reads: []Value{x}, onto: y, out: Value{T: d.Time*x.T - head, H: d.Space * x.H, W: d.Space * x.W, C: d.Out},
		reach: reach{by: 1, to: d.Space - 1, per: d.Space}, step: d.Space, makes: d.Time,
		emit: func(e *emitter, out wgsl.Tensor) {
			e.dupUp(d.Name, wgsl.DupUp3D{FT: d.Time, FS: d.Space, X: e.x, Y: out, Turns: true, Write: y.id == 0}, head, d.Time)
		},
	})
}

package engine

import "tessera/wgsl"

// SpaceToDepth makes a pixel of Side x Side, and a frame of Time, whose channels become
// its own, those of a pixel together; they are averaged where there are more than Out.
// The first frame of a clip becomes one by itself: its channels are averaged over fewer,
// or come twice where there are not enough.
type SpaceToDepth struct {
	Name       string
	Out        int // channels
	Time, Side int // 1 or 2
	Means      int // channels that each is the mean of; 0: as many as make Out of them
}

// Forward is x in fewer pixels.
func (d *SpaceToDepth) Forward(g *Graph, x Value) Value { return d.Add(g, x, Value{}) }

// Add adds x in fewer pixels to y in place, which nobody may read later.
func (d *SpaceToDepth) Add(g *Graph, x, y Value) Value {
	head := g.alone(d.Time)
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

// DepthToSpace makes Side x Side pixels of one, and Time frames, each of which has some of
// its channels that lie together; they are repeated where there are fewer than it takes.
// The first frame of a clip becomes one, whose pixels have the first Out of more.
type DepthToSpace struct {
	Name       string
	Out        int // channels
	Time, Side int // 1 or 2
}

// Forward is x in more pixels.
func (d *DepthToSpace) Forward(g *Graph, x Value) Value { return d.Add(g, x, Value{}) }

// Add adds x in more pixels to y in place, which nobody may read later.
func (d *DepthToSpace) Add(g *Graph, x, y Value) Value {
	head := g.alone(d.Time)
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

package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// Copy returns a copy of x.
func Copy(g *Graph, name string, x Value) Value {
	return g.record(node{
		label: name, kind: "copy", reads: []Value{x}, out: Value{T: x.T, H: x.H, W: x.W, C: x.C},
		emit: func(e *emitter, y wgsl.Tensor) {
			in := e.x
			e.batch.Copy(name, gpu.View{Buffer: y.Buffer, Size: in.Bytes()}, gpu.View{Buffer: in.Buffer, Size: in.Bytes()})
		},
	})
}

// Drop drops the first N frames of a clip, which lie in its first slice, and of each
// cycle.
type Drop struct {
	_ gpu.Incomparable

	Name string
	N    int
}

// Forward returns x, or a copy of the remaining frames.
func (d *Drop) Forward(g *Graph, x Value) Value {
	if d.N == 0 || g.full || !g.Head() && !g.begins {
		return x
	}
	return g.copyFrames(Value{T: x.T - d.N, H: x.H, W: x.W, C: x.C}, Value{}, 0, x, d.N)
}

// AvgDown packs Time frames and 2x2 pixels into one, by means over groups of the packed
// channels. Zeros precede the first frame of a clip. Window is the part of its output to
// compute.
type AvgDown struct {
	_ gpu.Incomparable

	Name     string
	Out      int  // channels
	Time     int  // 1 or 2
	PerFrame bool // each frame is a separate clip, so the number of frames stays
	Window   Window
}

// Forward returns x at the smaller size.
func (d *AvgDown) Forward(g *Graph, x Value) Value {
	frames, from, time := x.T/d.Time, 0, d.Time
	switch {
	case d.PerFrame:
		frames, time = x.T, 1
	case d.Time == 2 && g.Head():
		frames, from = (x.T-1)/2+1, -1
	}
	return g.record(node{
		label: d.Name, kind: "avg_down", reads: []Value{x}, out: Value{T: frames, H: d.Window.H, W: d.Window.W, C: d.Out},
		reach: reach{by: 2, from: d.Window.Y, to: d.Window.Y, per: 1}, joint: time,
		emit: func(e *emitter, y wgsl.Tensor) {
			in, at := e.x, e.window(d.Window)
			most := max(1, min(e.atOnce(&in)/time, e.atOnce(&y)))
			if d.PerFrame {
				most = 1
			}
			for _, r := range wgsl.Runs(frames, most, nil) {
				e.set.AvgDown3D(e.batch, d.Name, wgsl.AvgDown3D{
					FT: d.Time, FS: 2, Y0: at.Y, X0: at.X, X: in, XT: from + r.T*time, Y: y, YT: r.T, N: r.N, Alone: d.PerFrame,
				})
			}
		},
	})
}

// AddMeans adds x to y in place, averaging groups of channels if x has more.
func AddMeans(g *Graph, name string, x, y Value) Value {
	return g.record(node{label: name, kind: "add_means", reads: []Value{x}, onto: y, reach: each, emit: func(e *emitter, out wgsl.Tensor) {
		in := e.x
		for _, r := range wgsl.Runs(out.T, e.atOnce(&in, &out), nil) {
			e.set.AvgDown3D(e.batch, name, wgsl.AvgDown3D{FT: 1, FS: 1, X: in, XT: r.T, Y: out, YT: r.T, N: r.N, Add: true})
		}
	}})
}

// DupUp makes Time frames and 2x2 pixels from one by repeating channels. If the first
// frame of a clip becomes two frames, the first is dropped.
type DupUp struct {
	_ gpu.Incomparable

	Name     string
	Time     int  // 1 or 2
	PerFrame bool // each frame is the first of a clip
	Window   Window
}

// Add adds x at the larger size to y in place.
func (d *DupUp) Add(g *Graph, x, y Value) Value {
	head, time := 0, d.Time
	switch {
	case d.PerFrame:
		time = 1
	case d.Time == 2 && g.Head():
		head = 1
	}
	rows := reach{by: 1, from: d.Window.Y, to: d.Window.Y + 1, per: 2}
	return g.record(node{label: d.Name, kind: "dup_up", reads: []Value{x}, onto: y, reach: rows, makes: time, emit: func(e *emitter, out wgsl.Tensor) {
		at := e.window(d.Window)
		e.dupUp(d.Name, wgsl.DupUp3D{FT: d.Time, FS: 2, Y0: at.Y, X0: at.X, X: e.x, Y: out}, head, time)
	}})
}

// dupUp records k for all frames of its input: each of the first head frames makes one
// frame, the others time each.
func (e *emitter) dupUp(label string, k wgsl.DupUp3D, head, time int) {
	k.N, k.Phases = 1, 1
	if head == 1 {
		e.set.DupUp3D(e.batch, label, k)
	}
	for _, r := range wgsl.Runs(k.X.T-head, max(1, min(e.atOnce(&k.X), e.atOnce(&k.Y)/time)), nil) {
		r.T += head
		k.XT, k.N, k.YT, k.Phases = r.T, r.N, r.T*time-head, time
		e.set.DupUp3D(e.batch, label, k)
	}
}

// Unpatchify unpacks each pixel of x into Side x Side pixels of C channels.
type Unpatchify struct {
	_ gpu.Incomparable

	Name    string
	Side, C int
	Rows    bool // the pixels of a square are ordered row by row, as in PyTorch's pixel_shuffle
}

// Forward returns x with its pixels unpacked.
func (u *Unpatchify) Forward(g *Graph, x Value) Value {
	return g.record(node{
		label: u.Name, kind: "unpatchify", reads: []Value{x}, out: Value{T: x.T, H: u.Side * x.H, W: u.Side * x.W, C: u.C},
		reach: reach{by: 1, to: u.Side - 1, per: u.Side}, step: u.Side,
		emit: func(e *emitter, y wgsl.Tensor) {
			in := e.x
			for _, r := range wgsl.Runs(in.T, e.behind(&in, &y), nil) {
				e.set.Unpatchify(e.batch, u.Name, wgsl.Unpatchify{X: in, XT: r.T, Y: y, YT: r.T, N: r.N, Patch: u.Side, Rows: u.Rows})
			}
		},
	})
}

// Repeat repeats each frame Time times, except a clip's first, and each pixel
// Space x Space times.
type Repeat struct {
	Name        string
	Time, Space int // 1 or 2
}

// Forward returns x at the larger size.
func (d *Repeat) Forward(g *Graph, x Value) Value { return d.Add(g, x, Value{}) }

// Add adds x at the larger size to y in place. No later layer may read y.
func (d *Repeat) Add(g *Graph, x, y Value) Value {
	head := g.headFrames(d.Time)
	return g.record(node{
		label: d.Name, kind: "repeat", reads: []Value{x}, onto: y, out: Value{T: d.Time*x.T - head, H: d.Space * x.H, W: d.Space * x.W, C: x.C},
		reach: reach{by: 1, to: d.Space - 1, per: d.Space}, step: d.Space, makes: d.Time,
		emit: func(e *emitter, out wgsl.Tensor) {
			e.dupUp(d.Name, wgsl.DupUp3D{FT: d.Time, FS: d.Space, X: e.x, Y: out, Write: y.id == 0}, head, d.Time)
		},
	})
}

// Doubled is a convolution of single frames whose output repeats each frame twice, except
// the first of an odd number.
type Doubled struct {
	_ gpu.Incomparable

	Name string
	Conv *Conv
}

// Forward returns the convolution of x in twice as many frames.
func (d *Doubled) Forward(g *Graph, x Value) Value {
	y := d.Conv.Forward(g, x)
	if y.T == 1 {
		return y
	}
	out := y
	out.T = 2*y.T - oddHead(y.T)
	conv := &g.nodes[len(g.nodes)-1]
	conv.macs = conv.macs / int64(y.T) * int64(out.T) // the original convolves each of them
	return g.record(node{label: d.Name, kind: "copy", reads: []Value{y}, out: out, emit: func(e *emitter, out wgsl.Tensor) {
		in := e.x
		for t := range out.T {
			e.batch.Copy(d.Name, frameOf(&out, t), frameOf(&in, (t+oddHead(in.T))/2))
		}
	}})
}

package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// Conv is a 3x3 convolution with Time.Kernel temporal taps, which read only the
// past, unless Time.Lookahead is set.
type Conv struct {
	Name    string
	Weights wgsl.Weights
	Still   wgsl.Weights // for pictures, by Weights.Still; unset: use Weights
	Out     int          // channels
	Differ  int          // number of different channels, of which the others repeat the last; 0: all differ
	Time    Causal
	Stride  int  // in space; 0 is 1
	Around  bool // with a Stride of 2, frames are padded by one pixel on each side, not only on the right and below
	ReLU    bool // apply it to the result
	Enlarge bool // the input is read twice as high and wide, each pixel repeated
	Folded  bool // Enlarge is part of the weights, by Weights.Enlarging; for single frames
	Edges   bool // frames are padded with their edges, not with zeros
	Mirror  bool // with Edges: padded with mirrored pixels instead
}

// Reach is how many pixels to each side an output pixel reads.
func (c *Conv) Reach() int { return 1 }

// First computes only the first n outputs.
func (c *Conv) First(n int) *Conv {
	first := *c
	first.Out = n
	return &first
}

// Window returns the part of its output that the convolution computes from x.
func (c *Conv) Window(g *Graph, x Value) Window {
	stride := max(c.Stride, 1)
	whole := Window{H: x.H / stride, W: x.W / stride}
	switch {
	case c.Enlarge:
		whole.H, whole.W = 2*x.H, 2*x.W
	case c.Edges: // the last pixel is computed from one pixel and the edge after it
		whole.H, whole.W = (x.H+stride-1)/stride, (x.W+stride-1)/stride
	case c.Around:
		whole = Window{Y: -1, X: -1, H: (x.H + 1) / 2, W: (x.W + 1) / 2}
	}
	return g.window(c.Name, whole)
}

// Forward returns the convolution of x.
func (c *Conv) Forward(g *Graph, x Value) Value { return c.Add(g, x, Value{}) }

// Add adds the convolution of x to y in place. No later layer may read y.
func (c *Conv) Add(g *Graph, x, y Value) Value {
	w := c.Window(g, x)
	if c.Edges {
		x = withEdges(g, c.Name, x, c.Mirror)
		w = c.within(w)
	}
	frames, lag := g.lookahead(c.Time, x)
	differ := c.Out
	if c.Differ > 0 {
		differ = min(differ, c.Differ)
	}
	return g.record(node{
		label: c.Name, kind: "conv", macs: macs(9*max(c.Time.Kernel, 1), frames, w.H, w.W, x.C, differ), reads: []Value{x}, onto: y,
		out:   Value{T: frames, H: w.H, W: w.W, C: c.Out},
		reach: c.reach(w.Y), keeps: c.Time.kept(), inPlace: !c.Edges,
		joins: func(e *emitter, y *wgsl.Tensor) bool { return c.joins(e, y) },
		emit:  func(e *emitter, out wgsl.Tensor) { c.emit(e, out, w, lag, y.id != 0) },
	})
}

// within returns the window on frames with edges around them. With a stride, the first
// output begins at the edge.
func (c *Conv) within(w Window) Window {
	if c.Stride <= 1 {
		w.Y, w.X = w.Y+1, w.X+1
	}
	return w
}

// withEdges returns x with one pixel of repeated or mirrored edge on each side.
func withEdges(g *Graph, name string, x Value, mirror bool) Value {
	name += " edges"
	rows := reach{by: 1, from: -1, to: -1, per: 1}
	if mirror {
		rows.from, rows.to = -3, 1
	}
	return g.record(node{
		label: name, kind: "replicate", reads: []Value{x}, out: Value{T: x.T, H: x.H + 2, W: x.W + 2, C: x.C},
		reach: rows,
		emit: func(e *emitter, y wgsl.Tensor) {
			in, at := e.x, e.window(Window{Y: -1, X: -1})
			for _, r := range wgsl.Runs(in.T, e.atOnce(&in, &y), nil) {
				e.set.Replicate(e.batch, name, wgsl.Replicate{Y0: at.Y, X0: at.X, Mirror: mirror, Height: x.H, Top: e.b.lo, X: in, XT: r.T, Y: y, YT: r.T, N: r.N})
			}
		},
	})
}

// reach returns how output rows depend on rows of x, for a window from row top on.
func (c *Conv) reach(top int) reach {
	switch {
	case c.Enlarge:
		return cells(top)
	case c.Stride > 1:
		return reach{by: c.Stride, from: top, to: top + 3 - c.Stride, per: 1}
	}
	return reach{by: 1, from: top - 1, to: top + 1, per: 1}
}

func (c *Conv) emit(e *emitter, y wgsl.Tensor, whole Window, lag int, add bool) {
	l, w := c.timeline(e, y, whole.H, add), e.window(whole)
	l.lag = lag
	frames := c.frames(e, &l.x, &y)
	frames.Y0, frames.X0, frames.Pixels, frames.Add = w.Y, w.X, whole.H*whole.W, add
	frames.Taps = l.taps
	frames.Given = func(t int) bool { return l.addGiven(e, c.Name, frameOf(&y, t), t) }
	e.convolve(c.Name, &frames)
	if l.sums {
		c.keepSums(e, l, w)
	} else {
		l.keep(e, c.Name)
	}
}

// frames returns the convolution's frames of y, made from x.
func (c *Conv) frames(e *emitter, x, y *wgsl.Tensor) wgsl.Convolution {
	return wgsl.Convolution{
		Weights: c.Weights, Still: c.Still, KT: c.Time.Kernel, Step: c.Time.step(), Stride: c.Stride, Upsample: c.Enlarge, Enlarges: c.Folded,
		X: *x, Y: *y, N: y.T, ReLU: c.ReLU, Clip: e.at != Whole, NoFold: e.noFold,
	}
}

// convolve records frames of a convolution, with memory that is freed after the
// operation.
func (e *emitter) convolve(label string, frames *wgsl.Convolution) {
	e.made.Most, e.made.Release, e.made.Going = e.limits.MaxBinding, e.release, e.proceed
	e.made.Take = func(label string, bytes int64) *gpu.Buffer { return e.temporary(label, bytes).Buffer }
	e.set.Convolve(e.batch, label, frames, &e.made)
}

// timeline returns the time around the input, for an output of high rows. If y has fewer
// channels than x and memory is short, it keeps the sums that frames add to later ones,
// which takes more dispatches. It keeps frames if these have fewer bytes in 8 bits.
func (c *Conv) timeline(e *emitter, y wgsl.Tensor, high int, add bool) *timeline {
	if e.depth == 0 || add || c.Time.Lookahead > 0 || e.bank.i8 && y.C4()*y.Elem.Bytes() > e.x.C4() || c.Time.Kernel != 3 || c.Time.step() > 1 || y.C4() >= e.x.C4() || c.framesInstead(e, &y) {
		return e.time(c.Name, c.Time)
	}
	l := &timeline{Causal: c.Time, at: e.at, x: e.x, sums: true}
	if e.at != Whole {
		l.memory = e.bank.of(c.Name, c.Time.kept(), y, high, e.b.y0)
		e.useHost(l, c.Name)
	}
	return l
}

// framesInstead reports whether to keep frames on the host, not sums. Both then need
// equally little memory on the device, and one command cannot make several frames that
// add to sums.
func (c *Conv) framesInstead(e *emitter, y *wgsl.Tensor) bool {
	return e.bank.away && !e.rows && c.joins(e, y)
}

// joins reports whether one command makes several frames.
func (c *Conv) joins(e *emitter, y *wgsl.Tensor) bool {
	frames := c.frames(e, &e.x, y)
	return e.set.Joins(&frames, e.limits.MaxBinding)
}

// keepSums records that the sums which the frames so far add to each later frame are
// kept, without the bias.
func (c *Conv) keepSums(e *emitter, l *timeline, w Window) {
	if len(l.memory) == 0 {
		return
	}
	weights := &e.unbiased
	if weights.Weight == nil {
		none := e.temporary(c.Name+" no bias", c.Weights.Bias.Size)
		e.batch.Clear(c.Name+" memory", none)
		*weights = c.Weights
		weights.Bias = none.Buffer
	}
	sums := l.memory[0]
	if l.away != nil {
		e.close(c.Name+" memory", &sums)
	}
	for i, m := range l.memory {
		if l.away != nil {
			m = sums
		}
		given := l.addGiven(e, c.Name, frameOf(&m, 0), l.x.T+i)
		taps := l.taps(l.x.T + i) // the last of them read later frames
		e.set.Conv3D(e.batch, c.Name+" memory", wgsl.Conv3D{
			Weights: *weights, KT: 3, Later: 1 + i, Taps: taps[:len(taps)-1-i], Step: 1, Stride: max(c.Stride, 1), Upsample: c.Enlarge, Y0: w.Y, X0: w.X, Y: m, N: 1, Add: given,
		})
		if l.away != nil {
			e.downloadSlot(l, i, allOf(m))
		}
	}
}

// TimeConv is a convolution over time only, with Phases output frames per input frame. It
// halves the frames, by Time.Step, or doubles them.
type TimeConv struct {
	Name    string
	Weights wgsl.Weights
	Out     int // channels
	Time    Causal
	Phases  int
	ReLU    bool // apply it to the result
	Early   bool // the original does it after an enlargement, with four times the work
}

// Forward returns the convolution of x.
func (c *TimeConv) Forward(g *Graph, x Value) Value { return c.Add(g, x, Value{}) }

// Add adds the convolution of x to y in place. No later layer may read y, and Time.Passes
// must be unset.
func (c *TimeConv) Add(g *Graph, x, y Value) Value {
	head := c.Time.head(g.at)
	frames := c.Time.frames(g.at, x.T) - head
	if frames == 0 { // there is only the frame that passes by
		g.record(node{label: c.Name, kind: "time_conv", reads: []Value{x}, emit: func(e *emitter, _ wgsl.Tensor) {
			e.b = entire(0, x.H)
			e.time(c.Name, c.Time).keep(e, c.Name)
		}})
		return x
	}
	original := 1
	if c.Early {
		original = 4
	}
	return g.record(node{
		label: c.Name, kind: "time_conv", macs: macs(original*c.Time.Kernel*c.Phases, frames, x.H, x.W, x.C, c.Out), reads: []Value{x}, onto: y,
		out:   Value{T: head + frames*c.Phases, H: x.H, W: x.W, C: c.Out},
		reach: each, makes: c.Phases, keeps: c.Time.kept(),
		emit: func(e *emitter, out wgsl.Tensor) { c.emit(e, out, head, frames, y.id != 0) },
	})
}

func (c *TimeConv) emit(e *emitter, y wgsl.Tensor, head, frames int, add bool) {
	l, step := e.time(c.Name, c.Time), c.Time.step()
	if head == 1 {
		e.batch.Copy(c.Name, frameOf(&y, 0), frameOf(&e.x, 0))
	}
	most := max(1, min((e.atOnce(&e.x)+step-1)/step, e.atOnce(&y)/c.Phases))
	for _, r := range l.runs(frames, most) {
		e.set.TimeConv(e.batch, c.Name, wgsl.TimeConv{
			Weights: c.Weights, KT: c.Time.Kernel, Taps: l.taps(r.T), Step: step, Phases: c.Phases, Y: y, T: head + r.T*c.Phases, N: r.N, ReLU: c.ReLU, Add: add,
		})
	}
	l.keep(e, c.Name)
}

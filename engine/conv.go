package engine

import "tessera/wgsl"

// Conv is a 3x3 convolution with Time.Kernel temporal taps, which read the past
// only.
type Conv struct {
	Name    string
	Weights wgsl.Weights
	Still   wgsl.Weights // of pictures, as Weights.Still has them; none: the others do
	Out     int          // channels
	Time    Causal
	Stride  int  // in space; 0 is 1
	Enlarge bool // the input is taken as twice as high and wide, each pixel repeated
	Folded  bool // with that in the weights, which are Weights.Enlarging; of single frames
}

// Reach is how far to each side a pixel of the output reads, beyond its own.
func (c *Conv) Reach() int { return 1 }

// First makes only the first n of the outputs.
func (c *Conv) First(n int) *Conv {
	first := *c
	first.Out = n
	return &first
}

// Window is the part of its output that the convolution makes of x.
func (c *Conv) Window(g *Graph, x Value) Window {
	whole := Window{H: x.H / max(c.Stride, 1), W: x.W / max(c.Stride, 1)}
	if c.Enlarge {
		whole.H, whole.W = 2*x.H, 2*x.W
	}
	return g.window(c.Name, whole)
}

// Forward is the convolution of x.
func (c *Conv) Forward(g *Graph, x Value) Value { return c.Add(g, x, Value{}) }

// Add adds the convolution of x to y in place, which nobody may read later.
func (c *Conv) Add(g *Graph, x, y Value) Value {
	w := c.Window(g, x)
	frames := c.Time.frames(g.at, x.T)
	return g.record(node{
		label: c.Name, kind: "conv", macs: macs(9*max(c.Time.Kernel, 1), frames, w.H, w.W, x.C, c.Out), reads: []Value{x}, onto: y,
		out:   Value{T: frames, H: w.H, W: w.W, C: c.Out},
		reach: c.reach(w.Y), keeps: c.Time.kept(), trails: true,
		paired: func(e *emitter) bool { return c.paired(e, &e.x) },
		emit:   func(e *emitter, out wgsl.Tensor) { c.emit(e, out, w, y.id != 0) },
	})
}

// reach is how its rows hang together with those of x, for a window from row top on.
func (c *Conv) reach(top int) reach {
	switch {
	case c.Enlarge:
		return cells(top)
	case c.Stride > 1:
		return reach{by: c.Stride, from: top, to: top + 3 - c.Stride, per: 1}
	}
	return reach{by: 1, from: top - 1, to: top + 1, per: 1}
}

func (c *Conv) emit(e *emitter, y wgsl.Tensor, whole Window, add bool) {
	l, step, w := c.timeline(e, y, whole.H, add), c.Time.step(), e.window(whole)
	most := max(1, min((e.atOnce(&e.x)+step-1)/step, e.atOnce(&y)))
	single := y.T
	if c.paired(e, &l.x) {
		single = e.single(l, y, whole.H*whole.W)
	}
	for _, r := range l.runs(single, most) {
		if c.Folded {
			e.set.ConvUp(e.batch, c.Name, wgsl.ConvUp{Weights: c.Weights, Taps: l.taps(r.t), Phases: 1, Y0: w.Y, X0: w.X, Y: y, T: r.t, N: r.n})
			continue
		}
		weights, kt, taps := c.folded(e, l.taps(r.t), y)
		given := l.gives(e, c.Name, frameOf(&y, r.t), r.t)
		frames := wgsl.Conv3D{
			Weights: weights, KT: kt, Taps: taps, Step: step, Stride: max(c.Stride, 1), Upsample: c.Enlarge,
			Y0: w.Y, X0: w.X, Y: y, T: r.t, N: r.n, Add: add || given,
		}
		if !c.lines(e, frames, whole.H*whole.W) {
			e.set.Conv3D(e.batch, c.Name, frames)
		}
		e.release()
	}
	if single < y.T {
		c.pairs(e, l, y, w, span{single, y.T - single}, add)
	}
	if l.sums {
		c.keepSums(e, l, w)
	} else {
		l.keep(e, c.Name)
	}
}

// timeline is the time around what is read, of an output so many rows high. Where y
// has fewer channels, and memory is short, what is kept is what frames give to later
// ones, in more dispatches, unless the frames are fewer bytes, in 8 bits.
func (c *Conv) timeline(e *emitter, y wgsl.Tensor, high int, add bool) *timeline {
	if e.depth == 0 || add || e.bank.eight && y.C4()*y.Elem.Bytes() > e.x.C4() || c.Time.Kernel != 3 || c.Time.step() > 1 || y.C4() >= e.x.C4() || c.pairsInstead(e) {
		return e.time(c.Name, c.Time)
	}
	l := &timeline{Causal: c.Time, at: e.at, x: e.x, sums: true}
	if e.at != Whole {
		l.memory = e.bank.of(c.Name, c.Time.kept(), y, high, e.b.y0)
		e.off(l, c.Name)
	}
	return l
}

// pairsInstead says whether frames are rather kept, on the host, than what they give: the
// device has as little of them, and frames that add to sums can't be made in pairs.
func (c *Conv) pairsInstead(e *emitter) bool {
	return e.bank.away && !e.rows && c.pairable(e, &e.x)
}

// keepSums records that what the frames so far give to each of the next ones is
// kept, without the bias.
func (c *Conv) keepSums(e *emitter, l *timeline, w Window) {
	if len(l.memory) == 0 {
		return
	}
	weights := &e.weights[1]
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
		given := l.gives(e, c.Name, frameOf(&m, 0), l.x.T+i)
		taps := l.taps(l.x.T + i) // the last of them read frames to come
		e.set.Conv3D(e.batch, c.Name+" memory", wgsl.Conv3D{
			Weights: *weights, KT: 3, Later: 1 + i, Taps: taps[:len(taps)-1-i], Step: 1, Stride: max(c.Stride, 1), Upsample: c.Enlarge, Y0: w.Y, X0: w.X, Y: m, N: 1, Add: given,
		})
		if l.away != nil {
			e.goes(l, i, allOf(m))
		}
	}
}

// pairPixels is how many pixels pairs of frames have at least: with fewer, to make
// their weights takes longer than what those save.
const pairPixels = 256

// paired says whether the set makes frames of those like x in pairs.
func (c *Conv) paired(e *emitter, x *wgsl.Tensor) bool {
	return c.pairable(e, x) && e.set.PairSums(c.Out, x, 2) <= e.limits.MaxBinding
}

// pairable says whether the set has pairs for such a convolution.
func (c *Conv) pairable(e *emitter, x *wgsl.Tensor) bool {
	return c.Stride <= 1 && !c.Enlarge && !c.Folded && c.Time.step() == 1 &&
		e.paired(c.Weights, wgsl.Shape{O: c.Out, I: x.C, KT: c.Time.Kernel, KS: 3})
}

// paired says whether the set makes frames in pairs, with weights of a shape.
func (e *emitter) paired(w wgsl.Weights, shape wgsl.Shape) bool {
	return e.set.Paired(w.Packing, shape) && e.set.PairBytes(shape, 2) <= e.limits.MaxBinding
}

// pairsAtOnce is how many frames of y one dispatch may make in pairs: it binds each of
// the four that a pair reads by itself, of pairs next to each other all but the last.
func (e *emitter) pairsAtOnce(x, y *wgsl.Tensor) int {
	return min(e.atOnce(x)+1, e.atOnce(y), framesAtOnce) &^ 1
}

// single is how many frames of y come before those that are made in pairs, of a layer
// with that many pixels of a frame.
func (e *emitter) single(l *timeline, y wgsl.Tensor, pixels int) int {
	if single := l.single(y.T); e.pairsAtOnce(&l.x, &y) > 0 && pixels*(y.T-single)/2 >= pairPixels {
		return single
	}
	return y.T
}

// pairs makes frames two by two or four by four, with weights made right before, like
// sums of taps.
func (c *Conv) pairs(e *emitter, l *timeline, y wgsl.Tensor, w Window, frames span, add bool) {
	if quads := (span{frames.t, frames.n &^ 3}); c.quads(e, l, &y, quads.n) {
		c.together(e, l, y, w, quads, 4, add)
		frames = span{quads.t + quads.n, frames.n - quads.n}
	}
	if frames.n > 0 {
		c.together(e, l, y, w, frames, 2, add)
	}
}

// quads says whether n frames are made four by four: where the set does so, and the four
// and all else that this takes can be bound.
func (c *Conv) quads(e *emitter, l *timeline, y *wgsl.Tensor, n int) bool {
	shape := wgsl.Shape{O: y.C, I: l.x.C, KT: 3, KS: 3}
	return e.set.Together(shape, n) == 4 && !e.beyond(y, 4) &&
		max(e.set.PairBytes(shape, 4), e.set.PairSums(y.C, &l.x, 4)) <= e.limits.MaxBinding
}

// together makes frames `of` by `of`.
func (c *Conv) together(e *emitter, l *timeline, y wgsl.Tensor, w Window, frames span, of int, add bool) {
	shape := wgsl.Shape{O: y.C, I: l.x.C, KT: 3, KS: 3}
	e.pairs(l, c.Name, c.Weights, shape, y, frames, of, func(weights wgsl.Weights, taps []wgsl.Tap, t, n int) {
		pairs := wgsl.ConvPairs{Weights: weights, Taps: taps, Y0: w.Y, X0: w.X, Y: y, T: t, N: n, Add: add}
		e.sumsFor(c.Name, e.set.PairSums(y.C, &l.x, of))
		pairs.Sums = e.sums
		e.set.ConvPairs(e.batch, c.Name, pairs)
	})
}

// pairs makes frames, `of` together, by `record`, which is given what n of them from
// frame t on need.
func (e *emitter) pairs(l *timeline, name string, w wgsl.Weights, shape wgsl.Shape, y wgsl.Tensor, frames span, of int, record func(w wgsl.Weights, taps []wgsl.Tap, t, n int)) {
	label, made, most := name+" pairs", &e.weights[0], e.pairsAtOnce(&l.x, &y)
	if of == 4 {
		made, most = &e.weights[4], of
	}
	if made.Weight == nil {
		to := e.temporary(label, e.set.PairBytes(shape, of))
		*made = e.set.PairTaps(e.batch, label, wgsl.PairTaps{Weights: w, Shape: shape, Of: of, To: to.Buffer})
	}
	for _, r := range runs(frames.n, most, func(t, n int) bool { return of == 4 || l.pairsJoined(frames.t+t, n) }) {
		if !e.going() {
			return
		}
		t := frames.t + r.t
		taps := l.taps(t)
		for f := 1; f < of; f++ {
			next := l.taps(t + f)
			taps = append(taps, next[len(next)-1])
		}
		record(*made, taps, t, r.n)
	}
}

// sumsFor has memory for so many bytes of sums of frames.
func (e *emitter) sumsFor(name string, bytes int64) {
	if bytes > 0 && (e.sums == nil || e.sums.Size < bytes) {
		e.sums = e.temporary(name+" sums", bytes).Buffer
	}
}

// folded makes one of the first taps where they read the same frame: their
// weights are summed right before they are needed, into memory that activations
// have no use for then. kt is what the weights have, as many as taps or more.
func (c *Conv) folded(e *emitter, taps []wgsl.Tap, y wgsl.Tensor) (w wgsl.Weights, kt int, left []wgsl.Tap) {
	if e.at == Whole && taps[0].X.T == 1 && c.Still.Weight != nil {
		return c.Still, 1, taps[len(taps)-1:]
	}
	kt = max(c.Time.Kernel, 1)
	first := 1
	for first < len(taps) && same(taps[first], taps[0]) {
		first++
	}
	shape := wgsl.Shape{O: y.C, I: taps[0].X.C, KT: kt, KS: 3}
	bytes := e.set.Summed(c.Weights.Packing, shape, first)
	if first == 1 || len(taps) < kt || e.noFold || bytes > e.limits.MaxBinding {
		return c.Weights, kt, taps
	}
	if e.weights[first].Weight == nil {
		sums := e.temporary(c.Name+" taps", bytes)
		e.weights[first] = e.set.SumTaps(e.batch, c.Name+" taps", wgsl.SumTaps{Weights: c.Weights, Shape: shape, First: first, To: sums.Buffer})
	}
	return e.weights[first], kt - first + 1, taps[first-1:]
}

// TimeConv is a convolution over time alone, that makes Phases frames of each:
// it halves the frames, by Time.Step, or doubles them.
type TimeConv struct {
	Name    string
	Weights wgsl.Weights
	Out     int // channels
	Time    Causal
	Phases  int
}

// Forward is the convolution of x.
func (c *TimeConv) Forward(g *Graph, x Value) Value {
	head := c.Time.head(g.at)
	frames := c.Time.frames(g.at, x.T) - head
	if frames == 0 { // what passes by is all there is
		g.record(node{label: c.Name, kind: "time_conv", reads: []Value{x}, emit: func(e *emitter, _ wgsl.Tensor) {
			e.b = entire(0, x.H)
			e.time(c.Name, c.Time).keep(e, c.Name)
		}})
		return x
	}
	return g.record(node{
		label: c.Name, kind: "time_conv", macs: macs(c.Time.Kernel*c.Phases, frames, x.H, x.W, x.C, c.Out), reads: []Value{x},
		out:   Value{T: head + frames*c.Phases, H: x.H, W: x.W, C: c.Out},
		reach: each, makes: c.Phases, keeps: c.Time.kept(),
		emit: func(e *emitter, y wgsl.Tensor) { c.emit(e, y, head, frames) },
	})
}

func (c *TimeConv) emit(e *emitter, y wgsl.Tensor, head, frames int) {
	l, step := e.time(c.Name, c.Time), c.Time.step()
	if head == 1 {
		e.batch.Copy(c.Name, frameOf(&y, 0), frameOf(&e.x, 0))
	}
	most := max(1, min((e.atOnce(&e.x)+step-1)/step, e.atOnce(&y)/c.Phases))
	for _, r := range l.runs(frames, most) {
		e.set.TimeConv(e.batch, c.Name, wgsl.TimeConv{
			Weights: c.Weights, KT: c.Time.Kernel, Taps: l.taps(r.t), Step: step, Phases: c.Phases, Y: y, T: head + r.t*c.Phases, N: r.n,
		})
	}
	l.keep(e, c.Name)
}

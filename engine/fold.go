package engine

import (
	"fmt"
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Folded is a 1x1x1 convolution with pixel shuffle and the causal 3x3x3 convolution after
// it, folded into convolutions of the small frames, one for each parity of a pixel's row
// and column and each temporal phase. Frame 0 is repeated as the past.
type Folded struct {
	First  wgsl.Weights // for frame 0, which is also its past: one tap, one phase
	Second wgsl.Weights // for frame 1 if there are two phases: the contribution of frame 0, which has only the first phase
	Steady wgsl.Weights // for later frames; with one phase also for frame 1
}

// Upsample is a PixelShuffle and the Conv after it, with three temporal taps and a
// repeated past, as convolutions of the small frames. The enlarged frames never exist,
// and causal memory holds small frames. A Second slice follows a first slice of one
// frame.
type Upsample struct {
	Name    string
	Weights Folded
	Out     int  // channels
	Phases  int  // frames made of one: 1 or 2
	Edges   bool // frames are padded with their edges, not with zeros
	Repeats bool // pixels and frames are repeated: there is no pointwise layer before the convolution
}

// Forward upsamples and convolves x.
func (s *Upsample) Forward(g *Graph, x Value) Value {
	height, width, top := 2*x.H, 2*x.W, 0
	if s.Edges {
		x, top = withEdges(g, s.Name, x, false), 2
	}
	head := g.headFrames(s.Phases)
	frames := s.Phases*x.T - head
	shuffle := macs(4*s.Phases, x.T, height/2, width/2, x.C, s.Out)
	if s.Repeats {
		shuffle = 0
	}
	return g.record(node{
		label: s.Name, kind: "upsample", macs: shuffle + macs(27, frames, height, width, s.Out, s.Out),
		reads: []Value{x}, out: Value{T: frames, H: height, W: width, C: s.Out},
		reach: cells(top), makes: s.Phases, keeps: Causal{Kernel: 4 - s.Phases}.kept(),
		joins: func(e *emitter, y *wgsl.Tensor) bool {
			frames := s.frames(&e.x, y)
			return e.set.Joins(&frames, e.limits.MaxBinding)
		},
		emit: func(e *emitter, y wgsl.Tensor) { s.emit(e, e.x, y, head, top) },
	})
}

func (s *Upsample) emit(e *emitter, x, y wgsl.Tensor, head, top int) {
	l, at := e.time(s.Name, Causal{Kernel: 4 - s.Phases}), e.window(Window{Y: top, X: top})
	make := func(w wgsl.Weights, taps []wgsl.Tap, phases, t, n int) {
		e.set.ConvUp(e.batch, s.Name, wgsl.ConvUp{Weights: w, Taps: taps, Phases: phases, Y0: at.Y, X0: at.X, Y: y, T: t, N: n})
	}
	from := 0
	if !e.at.later() {
		make(s.Weights.First, []wgsl.Tap{{X: x}}, 1, 0, 1)
		from = 1
	}
	if s.Phases == 2 && from < x.T && e.at != Steady { // frame 1 of the clip
		taps, t := l.taps(from), 2*from-head
		make(s.Weights.Second, taps[:1], 2, t, 1)
		e.set.ConvUp(e.batch, s.Name, wgsl.ConvUp{Weights: s.Weights.Steady, KT: 2, Taps: taps[1:], Phases: 2, Y0: at.Y, X0: at.X, Y: y, T: t, N: 1, Add: true})
		from++
	}
	frames := s.frames(&x, &y)
	frames.First, frames.Head, frames.Y0, frames.X0, frames.Pixels, frames.Taps = from, head, at.Y, at.X, e.b.of*x.W, l.taps
	e.convolve(s.Name, &frames)
	l.keep(e, s.Name)
}

// frames returns the frames of y that use the steady weights.
func (s *Upsample) frames(x, y *wgsl.Tensor) wgsl.Convolution {
	return wgsl.Convolution{Weights: s.Weights.Steady, KT: 4 - s.Phases, Enlarges: true, Phases: s.Phases, X: *x, Y: *y, N: x.T}
}

// term is a part of a temporal tap: taps of the 3x3x3 convolution that read one phase of
// the shuffle.
type term struct {
	taps  []int
	phase int
}

// foldings are the terms of each temporal tap of each phase: the contributions of frames
// f-1 and f to frames 2f-1 and 2f of the output. With one phase they are those of frames
// f-2, f-1 and f to frame f. Frame 2f-1 is the first phase of frame f of the input.
var (
	foldedFirst    = [][][]term{{{{[]int{0, 1, 2}, 0}}}}
	foldedSecond   = [][][]term{{{{[]int{0, 1}, 0}}}, {{{[]int{0}, 0}}}} // of frame 0; frame 1 has the steady ones
	foldedSteady   = [][][]term{{{{[]int{0}, 0}, {[]int{1}, 1}}, {{[]int{2}, 0}}}, {{{[]int{0}, 1}}, {{[]int{1}, 0}, {[]int{2}, 1}}}}
	foldedTimeless = [][][]term{{{{[]int{0}, 0}}, {{[]int{1}, 0}}, {{[]int{2}, 0}}}}
)

// secondBias are all terms of frame 1.
var secondBias = [][][]term{{foldedSecond[0][0], foldedSteady[0][1]}, {foldedSecond[1][0], foldedSteady[1][1]}}

// fold computes folded weights.
type fold struct {
	upscale, conv string // layers
	c, phases     int    // of the shuffle
	variants      []variant
}

// variant is one of the weights that are computed together.
type variant struct {
	weights wgsl.Weights
	shape   wgsl.Shape
	terms   [][][]term // per tap of each phase
	bias    [][][]term // that the bias enters
}

// Fold declares the folded weights of an upsampler of c channels with the given phases.
// Without an upscaling layer, pixels and frames are repeated.
func (w *Weights) Fold(upscale, conv string, c, phases int) Folded {
	v := &fold{upscale: upscale, conv: conv, c: c, phases: phases}
	f := Folded{First: v.declare(w, " of frame 0", foldedFirst, foldedFirst)}
	if phases == 2 {
		f.Second, f.Steady = v.declare(w, " of frame 1", foldedSecond, secondBias), v.declare(w, "", foldedSteady, foldedSteady)
	} else {
		f.Steady = v.declare(w, "", foldedTimeless, foldedTimeless)
	}
	l := load{put: v.put}
	for _, x := range v.variants {
		l.buffers = append(l.buffers, x.weights.Weight, x.weights.Bias)
	}
	w.loads = append(w.loads, l)
	return f
}

// foldedElem returns the storage of weights that are sums of the file's: not halves if
// everything else is exact.
func (w *Weights) foldedElem() wgsl.Elem {
	if w.set.Elem == wgsl.F32 {
		return wgsl.F32
	}
	return w.elem
}

// enlarging returns the weights of a ConvUp, without memory.
func (w *Weights) enlarging(name string, s wgsl.Shape) wgsl.Weights {
	elem, p := w.foldedElem(), w.set.ConvUpPacking(s)
	return wgsl.Weights{
		Weight: &gpu.Buffer{Label: name + ".weight", Size: int64(p.Size(s) * elem.Bytes())},
		Bias:   &gpu.Buffer{Label: name + ".bias", Size: int64(4 * wgsl.ConvUpBias(s))}, Elem: elem, Packing: p,
	}
}

func (v *fold) declare(w *Weights, which string, terms, bias [][][]term) wgsl.Weights {
	shape := wgsl.ConvUpShape(v.c, v.c, len(terms[0]), len(terms))
	weights := w.enlarging(v.conv+" folded"+which, shape)
	v.variants = append(v.variants, variant{weights, shape, terms, bias})
	return weights
}

// The kernel of a 3x3 convolution of shuffled pixels is, along rows and along columns, a
// product of polynomials: one of the convolution's three taps, and one of the shuffle's
// two pixels in reverse. Its four coefficients follow from its values at 0, 1, -1 and
// infinity, so 16 matrix products replace 36, on the device.
const points = 4

var (
	tapsAt   = [points][3]float32{{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 1}}
	pixelsAt = [points][2]float32{{0, 1}, {1, 1}, {-1, 1}, {1, 0}}
)

// foldedAtOnce is how many outputs are computed at once: 36 MB with 512 channels.
const foldedAtOnce = 64

// folding is a fold in progress.
type folding struct {
	*fold
	u       *loadContext
	set     *wgsl.Set   // of f32
	kernel  []float32   // of the 3x3x3 convolution, [o, c, 3, 3, 3]
	shuffle wgsl.Tensor // at each point of each phase; a pixel per input
	taps    [points * points][]float32
	factors [points * points]*gpu.Buffer // taps, packed
	none    *gpu.Buffer                  // bias
	bias    []float32                    // of the 3x3x3 convolution
	shown   []float32                    // the shuffle's bias, multiplied by each of the convolution's taps: [o, 27, pixels, phases]
	product *gpu.Buffer
}

// put computes the missing weights from tensors that it reads once.
func (v *fold) put(u *loadContext) error {
	if v.upscale == "" {
		return v.repeated(u)
	}
	// No verified choice of kernels exists here: verification covers what jobs record.
	set, err := wgsl.NewSet(wgsl.F32, u.dev.Info(), wgsl.Choices{"pointwise": "plain"})
	if err != nil {
		return err
	}
	g := &folding{fold: v, u: u, set: set}
	buffers := g.declare()
	defer u.dev.Free(buffers...)
	if err := u.alloc(buffers...); err != nil {
		return err
	}
	if err := g.shuffled(); err != nil {
		return err
	}
	k := u.scratch
	if k.wide, err = u.from.Float32s(k.wide[:0], v.conv+".weight"); err != nil {
		return err
	}
	g.kernel = k.wide
	if err := g.show(); err != nil {
		return err
	}
	for i := range v.variants {
		if x := &v.variants[i]; u.missing[x.weights.Weight] {
			if err := g.make(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// declare declares the scratch buffers.
func (g *folding) declare() []*gpu.Buffer {
	outputs := min(foldedAtOnce, (g.c+7)&^7)
	shape := wgsl.Shape{O: outputs, I: g.c, KT: 2, KS: 1}
	size := int64(4 * g.set.PointwisePacking(shape).Size(shape))
	g.shuffle = wgsl.Tensor{Elem: wgsl.F32, T: g.phases * points * points, H: 1, W: g.c, C: g.c}
	g.shuffle.Buffer = &gpu.Buffer{Label: g.conv + " shuffle", Size: g.shuffle.Bytes()}
	g.none = &gpu.Buffer{Label: g.conv + " no bias", Size: int64(4 * outputs)}
	g.product = &gpu.Buffer{Label: g.conv + " products", Size: int64(4 * points * points * g.c * outputs)}
	buffers := []*gpu.Buffer{g.shuffle.Buffer, g.none, g.product}
	for e := range g.factors {
		g.factors[e] = &gpu.Buffer{Label: fmt.Sprintf("%s factor %d", g.conv, e), Size: size}
		buffers = append(buffers, g.factors[e])
	}
	return buffers
}

// shuffled uploads the 1x1x1 convolution, at each point.
func (g *folding) shuffled() error {
	k, c := g.u.scratch, g.c
	var err error
	if k.wide, err = g.u.from.Float32s(k.wide[:0], g.upscale+".weight"); err != nil {
		return err
	}
	pad := wgsl.Pad4(c)
	for t := range g.shuffle.T {
		k.wideOut = zeroed(k.wideOut, c*pad)
		phase, rows, columns := t/(points*points), pixelsAt[t/points%points], pixelsAt[t%points]
		for pixel := range 4 {
			f := rows[pixel/2] * columns[pixel%2]
			if f == 0 {
				continue
			}
			for ch := range c {
				o := (pixel*g.phases+phase)*c + ch
				for i, x := range k.wide[o*c:][:c] {
					k.wideOut[i*pad+ch] += f * x
				}
			}
		}
		if err := g.u.write(frameOf(&g.shuffle, t), wgsl.F32, k.wideOut); err != nil {
			return err
		}
	}
	return nil
}

// make computes one of the weights.
func (g *folding) make(v *variant) error {
	if err := g.u.alloc(v.weights.Weight, v.weights.Bias); err != nil {
		return err
	}
	if err := g.u.write(v.weights.Bias.All(), wgsl.F32, g.biases(v)); err != nil {
		return err
	}
	parity := v.shape.O / (4 * len(v.terms))
	for phase := range v.terms {
		for tap, terms := range v.terms[phase] {
			for o := 0; o < parity; o += foldedAtOnce {
				f := wgsl.Fold{
					Weights: v.weights, Shape: v.shape, Phases: len(v.terms), Phase: phase, Tap: tap, O: o,
					X: wgsl.Tensor{Buffer: g.product, Elem: wgsl.F32, T: points * points, H: 1, W: g.c, C: min(foldedAtOnce, parity-o)},
				}
				if err := g.part(f, terms); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// show multiplies the 3x3x3 convolution's taps by the shuffle's bias.
func (g *folding) show() (err error) {
	if g.bias, err = g.u.from.Float32s(nil, g.conv+".bias"); err != nil {
		return err
	}
	shuffle, err := g.u.from.Float32s(nil, g.upscale+".bias")
	if err != nil {
		return err
	}
	n := len(shuffle) / g.c // pixels and phases
	g.shown = make([]float32, g.c*27*n)
	for at := range g.c * g.c {
		to, ch := g.shown[at/g.c*27*n:], at%g.c
		for i, x := range g.kernel[27*at:][:27] {
			for q := range n {
				to[i*n+q] += x * shuffle[q*g.c+ch]
			}
		}
	}
	return nil
}

// biases returns the bias of the convolution plus, per cell, the shuffle's bias as its
// taps see it.
func (g *folding) biases(v *variant) []float32 {
	g.u.scratch.wideOut = zeroed(g.u.scratch.wideOut, wgsl.ConvUpBias(v.shape))
	all := g.u.scratch.wideOut
	parity := v.shape.O / (4 * len(v.terms))
	for at := range v.shape.O {
		o, p := at%parity, at/parity
		if o >= g.c {
			continue
		}
		to := all[at/8*40+at%8:]
		to[0] = g.bias[o]
		for _, t := range slices.Concat(v.bias[p/4]...) {
			for _, k := range t.taps {
				for i := range 9 {
					cell, pixel := seen(p%4, i)
					to[8+8*cell] += g.shown[((o*27+9*k+i)*4+pixel)*g.phases+t.phase]
				}
			}
		}
	}
	return all
}

// seen returns which of the 2x2 cells around a pixel of a parity tap i of 3x3 reads, and
// which of the cell's 2x2 pixels.
func seen(parity, i int) (cell, pixel int) {
	row, column := parity/2+i/3+1, parity%2+i%3+1 // of the enlarged frame, counted from two before the pixel's cell
	return 2*(row/2-parity/2) + column/2 - parity%2, 2*(row%2) + column%2
}

// part computes a few outputs of a temporal tap.
func (g *folding) part(f wgsl.Fold, terms []term) error {
	shape := wgsl.Shape{O: f.X.C, I: g.c, KT: len(terms), KS: 1}
	packing := g.set.PointwisePacking(shape)
	rows := min(f.X.C, g.c-f.O)
	g.valuesOf(f.O, rows, terms)
	b := &gpu.Batch{Label: "fold " + g.conv}
	k := g.u.scratch
	for e, to := range g.factors {
		k.wideOut = zeroed(k.wideOut, packing.Size(shape))
		wgsl.Pack(packing, k.wideOut, g.taps[e], wgsl.Shape{O: rows, I: g.c, KT: len(terms), KS: 1}, nil)
		if err := g.u.write(to.All(), wgsl.F32, k.wideOut); err != nil {
			return err
		}
		product := wgsl.TimeConv{
			Weights: wgsl.Weights{Weight: to, Bias: g.none, Elem: wgsl.F32, Packing: packing}, Step: 1, Phases: 1, Y: f.X, T: e, N: 1,
		}
		for _, t := range terms {
			product.Taps = append(product.Taps, wgsl.Tap{X: g.shuffle, T: t.phase*points*points + e})
		}
		g.set.TimeConv(b, b.Label, product)
	}
	g.set.Fold(b, b.Label, f)
	return failed(g.u.dev.Submit(g.u.ctx, b))
}

// valuesOf computes the values of the convolution's taps at each point, [rows, c, terms],
// for outputs from o on.
func (g *folding) valuesOf(o, rows int, terms []term) {
	for e := range g.taps {
		g.taps[e] = zeroed(g.taps[e], rows*g.c*len(terms))
	}
	for at := range rows * g.c {
		all := g.kernel[(o*g.c+at)*27:][:27]
		for n, t := range terms {
			var sum [9]float32
			for _, k := range t.taps {
				for i, x := range all[9*k:][:9] {
					sum[i] += x
				}
			}
			for ey, rows := range tapsAt {
				var row [3]float32
				for j := range row {
					row[j] = rows[0]*sum[j] + rows[1]*sum[3+j] + rows[2]*sum[6+j]
				}
				for ex, columns := range tapsAt {
					g.taps[points*ey+ex][at*len(terms)+n] = columns[0]*row[0] + columns[1]*row[1] + columns[2]*row[2]
				}
			}
		}
	}
}

// repeated computes the missing weights for repeated pixels and frames: each cell has the
// sum of the taps that read it.
func (v *fold) repeated(u *loadContext) (err error) {
	k := u.scratch
	if k.wide, err = u.from.Float32s(k.wide[:0], v.conv+".weight"); err != nil {
		return err
	}
	bias, err := u.from.Float32s(nil, v.conv+".bias")
	if err != nil {
		return err
	}
	for i := range v.variants {
		x := &v.variants[i]
		if !u.missing[x.weights.Weight] {
			continue
		}
		if err := u.alloc(x.weights.Weight, x.weights.Bias); err != nil {
			return err
		}
		parts := 4 * len(x.terms)
		parity, taps := x.shape.O/parts, len(x.terms[0])
		for p := range parts {
			k.sums = zeroed(k.sums, v.c*v.c*taps*4)
			for tap, terms := range x.terms[p/4] {
				for _, t := range terms {
					v.seenBy(k.sums[4*tap:], k.wide, t.taps, p%4, 4*taps)
				}
			}
			part := wgsl.Shape{O: parity, I: v.c, KT: taps, KS: 2}
			k.wideOut = zeroed(k.wideOut, x.weights.Packing.Size(part))
			wgsl.Pack(x.weights.Packing, k.wideOut, k.sums, wgsl.Shape{O: v.c, I: v.c, KT: taps, KS: 2}, nil)
			size := x.weights.Weight.Size / int64(parts)
			if err := u.write(gpu.View{Buffer: x.weights.Weight, Offset: int64(p) * size, Size: size}, x.weights.Elem, k.wideOut); err != nil {
				return err
			}
		}
		if err := u.write(x.weights.Bias.All(), wgsl.F32, biasOf(u, x.shape, parity, bias)); err != nil {
			return err
		}
	}
	return nil
}

// seenBy adds the kernel's taps to the cells that they read around a pixel of a parity.
// The cells of the next input and output are `step` further on.
func (v *fold) seenBy(cells, kernel []float32, taps []int, parity, step int) {
	for at := range v.c * v.c {
		for _, k := range taps {
			for i, w := range kernel[27*at+9*k:][:9] {
				cell, _ := seen(parity, i)
				cells[step*at+cell] += w
			}
		}
	}
}

// biasOf lays out a ConvUp's bias for cells that do not see another bias.
func biasOf(u *loadContext, s wgsl.Shape, parity int, bias []float32) []float32 {
	u.scratch.wideOut = zeroed(u.scratch.wideOut, wgsl.ConvUpBias(s))
	for at := range s.O {
		if o := at % parity; o < len(bias) {
			u.scratch.wideOut[at/8*40+at%8] = bias[o]
		}
	}
	return u.scratch.wideOut
}

// Enlarging declares the folded weight and bias of a 3x3 convolution of frames that are
// enlarged by nearest neighbour: each cell has the sum of the taps that read it.
func (w *Weights) Enlarging(name string, cout, cin int) wgsl.Weights {
	s := wgsl.ConvUpShape(cout, cin, 1, 1)
	v := w.enlarging(name+" folded", s)
	w.loads = append(w.loads, load{[]*gpu.Buffer{v.Weight, v.Bias}, func(u *loadContext) error { return enlarge(u, v, s, name, cout, cin) }})
	return v
}

func enlarge(u *loadContext, v wgsl.Weights, s wgsl.Shape, name string, cout, cin int) (err error) {
	k, parity := u.scratch, s.O/4
	if k.wide, err = u.from.Float32s(k.wide[:0], name+".weight"); err != nil {
		return err
	}
	bias, err := u.from.Float32s(nil, name+".bias")
	if err != nil {
		return err
	}
	if err := u.alloc(v.Weight, v.Bias); err != nil {
		return err
	}
	for p := range 4 {
		summed := zeroed(k.sums, cout*cin*4)
		k.sums = summed
		for at := range cout * cin {
			for i, x := range k.wide[9*at:][:9] {
				cell, _ := seen(p, i)
				summed[4*at+cell] += x
			}
		}
		part := wgsl.Shape{O: parity, I: cin, KT: 1, KS: 2}
		k.wideOut = zeroed(k.wideOut, v.Packing.Size(part))
		wgsl.Pack(v.Packing, k.wideOut, summed, wgsl.Shape{O: cout, I: cin, KT: 1, KS: 2}, nil)
		size := v.Weight.Size / 4
		at := gpu.View{Buffer: v.Weight, Offset: int64(p) * size, Size: size}
		if err := u.write(at, v.Elem, k.wideOut); err != nil {
			return err
		}
	}
	return u.write(v.Bias.All(), wgsl.F32, biasOf(u, s, parity, bias))
}

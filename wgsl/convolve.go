package wgsl

import "tessera/gpu"

// Convolution is frames of a causal 3x3 convolution: what each of them reads, and where
// they go. How they are made is Convolve's: one by one, or several at once by Winograd's
// transforms in time or along rows, with taps that read the same frame summed first.
//
// Frame t of those that the convolution makes is frame t of Y; with Enlarges frames
// t*Phases-Head on. Y0, X0 and Y are as Conv3D has them, or ConvUp.
type Convolution struct {
	_ gpu.Incomparable

	Weights
	Still    Weights // with all temporal taps as one, for a picture; none: Weights
	KT       int     // temporal taps of the weight
	Step     int     // frames of X between two that are made; 0 is 1
	Stride   int     // in space; 0 is 1
	Upsample bool    // the input is X enlarged twice by nearest neighbour
	Enlarges bool    // Y is twice as high and wide, with weights of a ConvUpShape
	Phases   int     // frames made of each, then; 0 is 1
	Head     int

	X      Tensor // input; or what is like those that Taps name
	Y0, X0 int
	Y      Tensor
	First  int  // frames First to N-1 are made
	N      int  //
	Pixels int  // of a whole frame, of which Y may be some rows
	Clip   bool // there are other frames
	Add    bool // add to Y, which holds the residual
	ReLU   bool // of the result
	NoFold bool // taps that read the same frame are not summed

	Taps  func(t int) []Tap // that frame t reads; those before them read zeros
	Given func(t int) bool  // puts what frame t is to be added to into Y, and says whether there is any; nil: none
}

// Scratch is memory for what convolutions make first, weights and sums of their own, and
// keeps that until Reset.
type Scratch struct {
	Most    int64 // bytes that may be bound at once
	Take    func(label string, bytes int64) *gpu.Buffer
	Release func()      // is called when what was taken is no longer needed by these frames
	Going   func() bool // whether to go on

	made map[weightsKey]Weights
	sums *gpu.Buffer
}

// weightsKey is what weights are made for: frames together, rows, or the sum of the first taps.
type weightsKey struct {
	together, first int
	rows            bool
}

// Reset forgets what was made: its memory is something else's now.
func (m *Scratch) Reset() { m.made, m.sums = nil, nil }

// weights are those of a kind, made once.
func (m *Scratch) weights(k weightsKey, label string, bytes int64, record func(to *gpu.Buffer) Weights) Weights {
	if w, ok := m.made[k]; ok {
		return w
	}
	if m.made == nil {
		m.made = map[weightsKey]Weights{}
	}
	w := record(m.Take(label, bytes))
	m.made[k] = w
	return w
}

// sumsBuffer is memory for so many bytes of sums of frames or pixels; nil for none.
func (m *Scratch) sumsBuffer(label string, bytes int64) *gpu.Buffer {
	if bytes > 0 && (m.sums == nil || m.sums.Size < bytes) {
		m.sums = m.Take(label+" sums", bytes)
	}
	return m.sums
}

// Joins says whether Convolve makes two frames or more at once, if it is to make as many.
func (s *Set) Joins(c *Convolution, most int64) bool {
	if c.Enlarges {
		return max(c.Phases, 1) == 1 && c.KT == 3 && s.winogradFits(c, most)
	}
	return max(c.Stride, 1) == 1 && !c.Upsample && max(c.Step, 1) == 1 && s.winogradFits(c, most) && s.WinogradSums(c.Y.C, &c.X, 2) <= most
}

// winogradFits says whether the set has F(2,3) for the weights, and they can be bound.
func (s *Set) winogradFits(c *Convolution, most int64) bool {
	return s.UsesWinograd(c.Packing, c.shape()) && s.WinogradBytes(c.shape(), 2) <= most
}

// shape is the weights'.
func (c *Convolution) shape() Shape {
	if c.Enlarges {
		return ConvUpShape(c.Y.C, c.X.C, c.KT, max(c.Phases, 1))
	}
	return Shape{O: c.Y.C, I: c.X.C, KT: c.KT, KS: 3}
}

// winogradPixels is how many pixels two frames have at least to be made by F(2,3): with
// fewer, to make its weights takes longer than what they save.
const winogradPixels = 256

// FramesAtOnce is how many frames an operation is asked for at most that may take dispatches for each:
// between them is time to stop.
const FramesAtOnce = 1 << 10

// Convolve records frames of a convolution.
func (s *Set) Convolve(b *gpu.Batch, label string, c *Convolution, m *Scratch) {
	step, phases := max(c.Step, 1), max(c.Phases, 1)
	single := c.N
	if s.Joins(c, m.Most) {
		if at := max(c.First, c.single()); c.winogradAtOnce(m) > 0 && c.Pixels*(c.N-at)/2 >= winogradPixels {
			single = at
		}
	}
	most := max(1, min((AtOnce(m.Most, &c.X)+step-1)/step, AtOnce(m.Most, &c.Y)/phases))
	for _, r := range Runs(single-c.First, most, func(t, n int) bool { return c.joined(c.First+t, n) }) {
		s.convolveFrames(b, label, c, m, c.First+r.T, r.N)
		m.Release()
	}
	if rest := c.N - single; rest > 0 {
		if n := rest &^ 3; n > 0 && s.usesF43(c, m, n) {
			s.convolveWinograd(b, label, c, m, single, n, 4)
			single, rest = single+n, rest-n
		}
		if rest > 0 {
			s.convolveWinograd(b, label, c, m, single, rest, 2)
		}
	}
}

// convolveFrames records n frames from t on, one by one.
func (s *Set) convolveFrames(b *gpu.Batch, label string, c *Convolution, m *Scratch, t, n int) {
	if c.Enlarges {
		phases := max(c.Phases, 1)
		s.ConvUp(b, label, ConvUp{Weights: c.Weights, Taps: c.Taps(t), Phases: phases, Y0: c.Y0, X0: c.X0, Y: c.Y, T: t*phases - c.Head, N: n, ReLU: c.ReLU})
		return
	}
	weights, kt, taps := s.foldTaps(b, label, c, m, c.Taps(t))
	given := c.Given != nil && c.Given(t)
	frames := Conv3D{
		Weights: weights, KT: kt, Taps: taps, Step: max(c.Step, 1), Stride: max(c.Stride, 1), Upsample: c.Upsample,
		Y0: c.Y0, X0: c.X0, Y: c.Y, T: t, N: n, Add: c.Add || given, ReLU: c.ReLU,
	}
	if !s.convolveRows(b, label, c, m, frames) {
		s.Conv3D(b, label, frames)
	}
}

// foldTaps makes one of the first taps where they read the same frame: their
// weights are summed right before they are needed, into memory that activations
// have no use for then. kt is what the weights have, as many as taps or more.
func (s *Set) foldTaps(b *gpu.Batch, label string, c *Convolution, m *Scratch, taps []Tap) (w Weights, kt int, left []Tap) {
	if !c.Clip && taps[0].X.T == 1 && c.Still.Weight != nil {
		return c.Still, 1, taps[len(taps)-1:]
	}
	kt = max(c.KT, 1)
	first := 1
	for first < len(taps) && same(taps[first], taps[0]) {
		first++
	}
	shape := Shape{O: c.Y.C, I: taps[0].X.C, KT: kt, KS: 3}
	bytes := s.Summed(c.Packing, shape, first)
	if first == 1 || len(taps) < kt || c.NoFold || bytes > m.Most {
		return c.Weights, kt, taps
	}
	w = m.weights(weightsKey{first: first}, label+" taps", bytes, func(to *gpu.Buffer) Weights {
		return s.SumTaps(b, label+" taps", SumTaps{Weights: c.Weights, Shape: shape, First: first, To: to})
	})
	return w, kt - first + 1, taps[first-1:]
}

// convolveRows records frames with the pixels of a row four by four, where the set does so
// and all that this takes can be bound.
func (s *Set) convolveRows(b *gpu.Batch, label string, c *Convolution, m *Scratch, p Conv3D) bool {
	shape := Shape{O: p.Y.C, I: p.Taps[0].X.C, KT: p.KT, KS: 3}
	if len(p.Taps) != p.KT || p.Step > 1 || p.Stride > 1 || p.Upsample || !s.UsesWinogradRows(p.Packing, shape, c.Pixels, c.Clip || p.Y.T > 1) {
		return false
	}
	bytes, sums := s.WinogradRowBytes(shape), s.WinogradRowSums(p.Y.C, &p.Taps[0].X, p.Y.W, p.KT)
	if max(bytes, sums) > m.Most {
		return false
	}
	weights := m.weights(weightsKey{rows: true}, label+" taps", bytes, func(to *gpu.Buffer) Weights {
		return s.WinogradRowWeights(b, label+" taps", p.Weights, shape, to)
	})
	s.Conv3DWinogradRows(b, label, Conv3DWinogradRows{Weights: weights, Taps: p.Taps, Y0: p.Y0, X0: p.X0, Y: p.Y, T: p.T, N: p.N, Add: p.Add, ReLU: p.ReLU, Sums: m.sumsBuffer(label, sums)})
	return true
}

// usesF43 says whether n frames are made four by four, by F(4,3): where the set does so, and the four
// and all else that this takes can be bound.
func (s *Set) usesF43(c *Convolution, m *Scratch, n int) bool {
	return !c.Enlarges && s.WinogradFrames(c.shape(), n) == 4 && !c.Y.Beyond(4, m.Most) &&
		max(s.WinogradBytes(c.shape(), 4), s.WinogradSums(c.Y.C, &c.X, 4)) <= m.Most
}

// convolveWinograd records n frames from t on, `of` together, with weights made right
// before, like sums of taps.
func (s *Set) convolveWinograd(b *gpu.Batch, label string, c *Convolution, m *Scratch, t, n, of int) {
	weights := m.weights(weightsKey{together: of}, label+" winograd", s.WinogradBytes(c.shape(), of), func(to *gpu.Buffer) Weights {
		return s.WinogradWeights(b, label+" winograd", WinogradWeights{Weights: c.Weights, Shape: c.shape(), Of: of, To: to})
	})
	most := of
	if of == 2 {
		most = c.winogradAtOnce(m)
	}
	for _, r := range Runs(n, most, func(f, n int) bool { return of == 4 || c.winogradJoined(t+f, n) }) {
		if !m.Going() {
			return
		}
		first := t + r.T
		taps := c.Taps(first)
		for f := 1; f < of; f++ {
			next := c.Taps(first + f)
			taps = append(taps, next[len(next)-1])
		}
		if c.Enlarges {
			s.ConvUpWinograd(b, label, ConvUpWinograd{Weights: weights, Taps: taps, Y0: c.Y0, X0: c.X0, Y: c.Y, T: first, N: r.N, ReLU: c.ReLU})
			continue
		}
		s.Conv3DWinograd(b, label, Conv3DWinograd{
			Weights: weights, Taps: taps, Y0: c.Y0, X0: c.X0, Y: c.Y, T: first, N: r.N, Add: c.Add, ReLU: c.ReLU,
			Sums: m.sumsBuffer(label, s.WinogradSums(c.Y.C, &c.X, of)),
		})
	}
}

// winogradAtOnce is how many frames one dispatch may make by F(2,3): it binds each of
// the four that a pair reads by itself, of pairs next to each other all but the last.
func (c *Convolution) winogradAtOnce(m *Scratch) int {
	return min(AtOnce(m.Most, &c.X)+1, AtOnce(m.Most, &c.Y), FramesAtOnce) &^ 1
}

// joined tells whether frame t+n may be made with frame t: what n frames later each
// of its taps reads lies as many frames further on.
func (c *Convolution) joined(t, n int) bool {
	return Joined(c.Taps(t), c.Taps(t+n), n*max(c.Step, 1))
}

// Joined tells whether each tap reads so many frames later than before.
func Joined(before, after []Tap, later int) bool {
	if len(before) != len(after) {
		return false
	}
	for k := range before {
		if before[k].X.Buffer != after[k].X.Buffer || after[k].T != before[k].T+later {
			return false
		}
	}
	return true
}

// paired tells whether frames t and t+1 read four frames in a row, the first two of
// which may be one that is repeated.
func (c *Convolution) paired(t int) bool {
	a, b := c.Taps(t), c.Taps(t+1)
	return len(a) == 3 && len(b) == 3 && same(a[1], b[0]) && same(a[2], b[1]) && !same(a[0], a[2])
}

// single is how many of the frames come before those that are made in pairs,
// which are even in number and the last: the first frames of a clip read less.
func (c *Convolution) single() int {
	t := c.N % 2
	for t < c.N && !c.paired(t) {
		t += 2
	}
	return t
}

// winogradJoined tells whether frame t+n may be made with frame t, both in pairs of F(2,3).
func (c *Convolution) winogradJoined(t, n int) bool {
	return n%2 == 1 || c.joined(t, n) && c.joined(t+1, n)
}

// same tells whether two taps read one frame.
func same(a, b Tap) bool { return a.X.Buffer == b.X.Buffer && a.T == b.T }

// Run is N frames from frame T on.
type Run struct{ T, N int }

// Runs cuts frames 0 to n-1 into runs of at most `most`. together tells whether
// the frame n after t may be in t's; nil: always.
func Runs(n, most int, together func(t, n int) bool) []Run {
	var all []Run
	for t := 0; t < n; {
		k := 1
		for k < most && t+k < n && (together == nil || together(t, k)) {
			k++
		}
		all = append(all, Run{t, k})
		t += k
	}
	return all
}

// room is how many bytes of frames of x a binding of at most so many has. Frames that
// begin anywhere are bound from the multiple of bindAlign before.
func (x *Tensor) room(most int64) int64 {
	if x.Rows > 0 || x.T > 1 && x.FrameBytes()%bindAlign != 0 {
		return most - bindAlign
	}
	return most
}

// AtOnce is how many frames of each one dispatch may bind, in bindings of at most so many
// bytes; one at least.
func AtOnce(most int64, x ...*Tensor) int {
	n := 1 << 30
	for _, x := range x {
		n = min(n, 1+int((x.room(most)-x.FrameBytes())/(x.At(1)-x.At(0))))
	}
	return max(n, 1)
}

// Beyond says whether n frames of x, or what there are, can't be bound at once.
func (x *Tensor) Beyond(n int, most int64) bool {
	n = max(1, min(n, x.T))
	return x.At(n)-x.At(1)+x.FrameBytes() > x.room(most)
}

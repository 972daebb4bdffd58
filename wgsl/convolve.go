package wgsl

import "tessera/gpu"

// Convolution describes frames of a causal 3x3 convolution: their inputs and their
// destination. Convolve decides how to compute them: one at a time, or several at once
// by Winograd's transforms in time or along rows. It first sums taps that read the same
// frame.
//
// Frame t of the convolution becomes frame t of Y; with Enlarges it becomes frames
// t*Phases-Head on. Y0 and X0 are as in Conv3D, or in ConvUp with Enlarges.
type Convolution struct {
	_ gpu.Incomparable

	Weights
	Still    Weights // all temporal taps summed to one, for a picture; unset: Weights
	KT       int     // temporal taps of the weight
	Step     int     // frames of X between two output frames; 0 is 1
	Stride   int     // spatial stride; 0 is 1
	Upsample bool    // the input is X enlarged twice by nearest neighbour
	Enlarges bool    // Y is twice as high and wide; the weights are of a ConvUpShape
	Phases   int     // with Enlarges, frames made of each input frame; 0 is 1
	Head     int

	X      Tensor // input; or a tensor with the sizes of those in Taps
	Y0, X0 int
	Y      Tensor
	First  int  // frames First to N-1 are computed
	N      int  //
	Pixels int  // of a whole frame, even if Y has only some of its rows
	Clip   bool // the clip has other frames
	Add    bool // add to Y, which holds the residual
	ReLU   bool // apply ReLU to the result
	NoFold bool // do not sum taps that read the same frame

	Taps  func(t int) []Tap // the taps of frame t; missing earlier taps read zeros
	Given func(t int) bool  // writes into Y what frame t is added to, and reports whether there is anything; nil: never
}

// Scratch holds what convolutions derive first, such as transformed weights and sums,
// until Reset.
type Scratch struct {
	Most    int64 // bytes that may be bound at once
	Take    func(label string, bytes int64) *gpu.Buffer
	Release func()      // called when these frames no longer need the memory from Take
	Going   func() bool // reports whether to continue

	made map[weightsKey]Weights
	sums *gpu.Buffer
}

// weightsKey identifies derived weights: for frames together, for rows, or with the
// first taps summed.
type weightsKey struct {
	together, first int
	rows            bool
}

// Reset forgets the derived weights and sums, because their memory is reused.
func (m *Scratch) Reset() { m.made, m.sums = nil, nil }

// weights returns the weights for a key, and records them once.
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

// sumsBuffer returns memory for the sums of frames or pixels; nil for 0 bytes.
func (m *Scratch) sumsBuffer(label string, bytes int64) *gpu.Buffer {
	if bytes > 0 && (m.sums == nil || m.sums.Size < bytes) {
		m.sums = m.Take(label+" sums", bytes)
	}
	return m.sums
}

// Joins reports whether Convolve computes several frames at once, given enough frames.
func (s *Set) Joins(c *Convolution, most int64) bool {
	if c.Enlarges {
		return max(c.Phases, 1) == 1 && c.KT == 3 && s.winogradFits(c, most)
	}
	return max(c.Stride, 1) == 1 && !c.Upsample && max(c.Step, 1) == 1 && s.winogradFits(c, most) && s.WinogradSums(c.Y.C, &c.X, 2) <= most
}

// winogradFits reports whether the set has F(2,3) for the weights, and can bind them.
func (s *Set) winogradFits(c *Convolution, most int64) bool {
	return s.UsesWinograd(c.Packing, c.shape()) && s.WinogradBytes(c.shape(), 2) <= most
}

// shape returns the shape of the weights.
func (c *Convolution) shape() Shape {
	if c.Enlarges {
		return ConvUpShape(c.Y.C, c.X.C, c.KT, max(c.Phases, 1))
	}
	return Shape{O: c.Y.C, I: c.X.C, KT: c.KT, KS: 3}
}

// winogradPixels is the minimum number of pixels of two frames for F(2,3). With fewer,
// making its weights takes longer than they save.
const winogradPixels = 256

// FramesAtOnce bounds the frames of one call of an operation that may record dispatches
// for each frame. Between calls the caller can stop.
const FramesAtOnce = 1 << 10

// Convolve records the frames of a convolution.
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

// convolveFrames records n frames from t on without Winograd in time.
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

// foldTaps sums the first taps if they read the same frame. It records the sum right
// before its use, into memory that activations do not need then. kt is the number of
// the weights' taps; it is at least len(left).
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

// convolveRows records frames with four pixels of a row at once. It returns false if
// the set does not use this here, or if a binding would be too large.
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

// usesF43 reports whether F(4,3) computes n frames, four at a time: the set uses it
// here, and all its bindings fit.
func (s *Set) usesF43(c *Convolution, m *Scratch, n int) bool {
	return !c.Enlarges && s.WinogradFrames(c.shape(), n) == 4 && !c.Y.Beyond(4, m.Most) &&
		max(s.WinogradBytes(c.shape(), 4), s.WinogradSums(c.Y.C, &c.X, 4)) <= m.Most
}

// convolveWinograd records n frames from t on, `of` at a time. It records their weights
// right before, as foldTaps does.
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

// winogradAtOnce returns how many frames one dispatch of F(2,3) may compute. The
// dispatch has a separate binding for each of the four frames that a pair reads; the
// bindings of n/2 adjacent pairs hold n-1 frames.
func (c *Convolution) winogradAtOnce(m *Scratch) int {
	return min(AtOnce(m.Most, &c.X)+1, AtOnce(m.Most, &c.Y), FramesAtOnce) &^ 1
}

// joined reports whether frame t+n can be computed with frame t: each of its taps reads
// n frames later (times Step).
func (c *Convolution) joined(t, n int) bool {
	return Joined(c.Taps(t), c.Taps(t+n), n*max(c.Step, 1))
}

// Joined reports whether each tap of after reads this many frames later than in before.
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

// paired reports whether frames t and t+1 read four consecutive frames. The first two
// of these may be one repeated frame.
func (c *Convolution) paired(t int) bool {
	a, b := c.Taps(t), c.Taps(t+1)
	return len(a) == 3 && len(b) == 3 && same(a[1], b[0]) && same(a[2], b[1]) && !same(a[0], a[2])
}

// single returns the number of frames before the pairs. The pairs come last; the first
// frames of a clip have fewer taps.
func (c *Convolution) single() int {
	t := c.N % 2
	for t < c.N && !c.paired(t) {
		t += 2
	}
	return t
}

// winogradJoined reports whether frame t+n can be computed with frame t, both in pairs
// of F(2,3).
func (c *Convolution) winogradJoined(t, n int) bool {
	return n%2 == 1 || c.joined(t, n) && c.joined(t+1, n)
}

// same reports whether two taps read the same frame.
func same(a, b Tap) bool { return a.X.Buffer == b.X.Buffer && a.T == b.T }

// Run is a run of N frames from frame T on.
type Run struct{ T, N int }

// Runs cuts frames 0 to n-1 into runs of at most `most`. together reports whether frame
// t+n may be in the run of frame t; nil: always.
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

// room returns how many bytes of frames of x a binding of at most `most` bytes can
// hold. A binding starts at the multiple of bindAlign before its first frame.
func (x *Tensor) room(most int64) int64 {
	if x.Rows > 0 || x.T > 1 && x.FrameBytes()%bindAlign != 0 {
		return most - bindAlign
	}
	return most
}

// AtOnce returns how many frames of each tensor one dispatch may bind, at least one, if
// a binding holds at most `most` bytes.
func AtOnce(most int64, x ...*Tensor) int {
	n := 1 << 30
	for _, x := range x {
		n = min(n, 1+int((x.room(most)-x.FrameBytes())/(x.At(1)-x.At(0))))
	}
	return max(n, 1)
}

// Beyond reports whether n frames of x, or all if there are fewer, exceed one binding.
func (x *Tensor) Beyond(n int, most int64) bool {
	n = max(1, min(n, x.T))
	return x.At(n)-x.At(1)+x.FrameBytes() > x.room(most)
}

package tune

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"tessera/gpu"
	"tessera/wgsl"
)

// size is the output of a sample: n frames of h x w pixels.
type size struct{ n, h, w int }

// biasDivisor makes biases a quarter as large as inputs.
const biasDivisor = 4

// verifySizes are the sizes for verification; the first one that runs the
// specialisation is used. First, rows and frames that don't fill blocks, but enough of
// them to keep workgroups one block of channels deep, as in large frames; then columns
// that fill blocks; then so few pixels that workgroups are several blocks deep.
var verifySizes = []size{{3, 17, 17}, {3, 16, 17}, {3, 3, 5}}

// square returns the size for timing.
func square(side int) size { return size{2, side, side} }

// sample is a dispatch of a workload on generated numbers.
type sample struct {
	set     *wgsl.Set
	weight  wgsl.Elem
	batch   *gpu.Batch
	out     wgsl.Tensor
	buffers []*gpu.Buffer
	inputs  []input
}

// input is the content of a buffer.
type input struct {
	buffer *gpu.Buffer
	data   func() []byte
}

// shapeOf returns the shape of the weights of a workload.
func shapeOf(d wgsl.Workload) wgsl.Shape {
	taps := max(1, d.Taps)
	switch d.Operation {
	case "conv3d_winograd_rows", "conv3d_winograd":
		taps = 3
	case "conv_up_winograd":
		return wgsl.ConvUpShape(d.Out, d.In, 3, 1)
	case "conv_up":
		return wgsl.ConvUpShape(d.Out, d.In, taps, 1)
	case "pointwise":
		return wgsl.Shape{O: d.Out, I: d.In, KT: taps, KS: 1}
	}
	return wgsl.Shape{O: d.Out, I: d.In, KT: taps, KS: 3}
}

// samples record a workload of each operation that has trials.
var samples = map[string]func(s *sample, d wgsl.Workload, z size){
	"attention": func(s *sample, d wgsl.Workload, z size) {
		a := wgsl.Attention{QKV: s.tensor(1, z.h, z.w, 3*d.Out), O: s.result(1, z.h, z.w, d.Out), N: 1}
		scores, state, acc := a.Scratch()
		a.Scores, a.State, a.Acc = s.buffer("scores", scores).All(), s.buffer("state", state).All(), s.buffer("unfinished", acc).All()
		s.set.Attention(s.batch, "sample", a)
	},
	"conv3d":         func(s *sample, d wgsl.Workload, z size) { s.conv(d, z, 1) },
	"conv3d_strided": func(s *sample, d wgsl.Workload, z size) { s.conv(d, z, 2) },
	"conv3d_winograd_rows": func(s *sample, d wgsl.Workload, z size) {
		shape := shapeOf(d)
		z = forRows(z)
		x := s.tensor(z.n+shape.KT-1, z.h, z.w, d.In)
		w := s.weights(shape, s.set.ConvPacking(shape, 1), shape.O)
		s.set.Conv3DWinogradRows(s.batch, "sample", s.set.WinogradRowsOf(s.batch, "sample", w, taps(x, shape.KT), s.result(z.n, z.h, z.w, d.Out), s.buffer))
	},
	"conv3d_winograd": func(s *sample, d wgsl.Workload, z size) {
		shape, n := shapeOf(d), (z.n+1)&^1
		plain := s.weights(shape, s.set.ConvPacking(shape, 1), shape.O)
		x, y := s.tensor(n+2, z.h, z.w, d.In), s.result(n, z.h, z.w, d.Out)
		record := func(t, of int) {
			winograd := s.set.WinogradOf(s.batch, "sample", plain, x, y, of, s.buffer)
			for i := range winograd.Taps {
				winograd.Taps[i].T += t
			}
			winograd.T, winograd.N = t, n-t
			s.set.Conv3DWinograd(s.batch, "sample", winograd)
		}
		if s.set.UsesWinograd(plain.Packing, shape) && s.set.WinogradFrames(shape, n) == 4 { // frames 0 and 1 verify four frames at once, 2 and 3 a pair
			record(0, 4)
			record(2, 2)
			return
		}
		record(0, 2)
	},
	"conv_up": func(s *sample, d wgsl.Workload, z size) {
		shape := shapeOf(d)
		w := s.weights(shape, s.set.ConvUpPacking(shape), wgsl.ConvUpBias(shape))
		x := s.tensor(z.n+shape.KT-1, z.h, z.w, d.In)
		s.set.ConvUp(s.batch, "sample", wgsl.ConvUp{Weights: w, Taps: taps(x, shape.KT), Phases: 1, Y: s.result(z.n, 2*z.h, 2*z.w, d.Out), N: z.n})
	},
	"conv_up_winograd": func(s *sample, d wgsl.Workload, z size) {
		shape, n := shapeOf(d), (z.n+1)&^1
		winograd := wgsl.ConvUpWinograd{Weights: s.weights(shape, s.set.ConvUpPacking(shape), wgsl.ConvUpBias(shape)), N: n}
		x := s.tensor(n+2, z.h, z.w, d.In)
		winograd.Y, winograd.Taps = s.result(n, 2*z.h, 2*z.w, d.Out), taps(x, 4)
		if s.set.UsesWinograd(winograd.Packing, shape) {
			winograd.Weights = s.set.WinogradWeights(s.batch, "sample", wgsl.WinogradWeights{Weights: winograd.Weights, Shape: shape, Of: 2, To: s.buffer("taps", s.set.WinogradBytes(shape, 2))})
		}
		s.set.ConvUpWinograd(s.batch, "sample", winograd)
	},
	"group_norm": func(s *sample, d wgsl.Workload, z size) {
		c, groups := normed(d, z)
		g := wgsl.GroupNorm{Groups: groups, Eps: normEps, SiLU: true, N: z.n, Gamma: s.numbers("gamma", c, 2, 1), Beta: s.numbers("beta", c, 3, biasDivisor)}
		g.X, g.Y = s.tensor(z.n, z.h, z.w, c), s.result(z.n, z.h, z.w, c)
		partials, factors := g.Scratch()
		g.Partials, g.Factors = s.buffer("moments", partials).All(), s.buffer("factors", factors).All()
		s.set.GroupNorm(s.batch, "sample", g)
	},
	"pointwise": func(s *sample, d wgsl.Workload, z size) {
		shape := shapeOf(d)
		w := s.weights(shape, s.set.PointwisePacking(shape), shape.O)
		x := s.tensor(z.n+shape.KT-1, z.h, z.w, d.In)
		s.set.TimeConv(s.batch, "sample", wgsl.TimeConv{Weights: w, Taps: taps(x, shape.KT), Step: 1, Phases: 1, Y: s.result(z.n, z.h, z.w, d.Out), N: z.n})
	},
}

// forRows returns a size whose groups of four pixels fill workgroups like single pixels
// of z do.
func forRows(z size) size { return size{1, z.h, 4*z.w - 3} }

// normEps is the epsilon of group norms.
const normEps = 1e-6

// normed returns the channels and groups of a norm: groups of three channels, which
// cross vec4s, for verification, and of a vec4 for timing.
func normed(d wgsl.Workload, z size) (channels, groups int) {
	if z == square(z.h) {
		return d.Out, d.Out / 4
	}
	return d.Out / 4 * 3, d.Out / 4
}

// numbers returns a buffer of f32 numbers.
func (s *sample) numbers(label string, n int, seed uint32, over float64) *gpu.Buffer {
	b := s.buffer(label, int64(4*n))
	s.fill(b, func() []byte { return encode(numbers(seed, n, over), wgsl.F32) })
	return b
}

// conv records a 3x3 convolution with a stride.
func (s *sample) conv(d wgsl.Workload, z size, stride int) {
	shape := shapeOf(d)
	w := s.weights(shape, s.set.ConvPacking(shape, stride), shape.O)
	x := s.tensor(z.n+shape.KT-1, stride*z.h, stride*z.w, d.In)
	s.set.Conv3D(s.batch, "sample", wgsl.Conv3D{Weights: w, Taps: taps(x, shape.KT), Step: 1, Stride: stride, Y: s.result(z.n, z.h, z.w, d.Out), N: z.n})
}

// taps returns n taps, on consecutive frames.
func taps(x wgsl.Tensor, n int) (all []wgsl.Tap) {
	for t := range n {
		all = append(all, wgsl.Tap{X: x, T: t})
	}
	return all
}

// newSample records a workload of a size with a set's kernels, for weights with this
// storage.
func newSample(set *wgsl.Set, d wgsl.Workload, weight wgsl.Elem, z size) *sample {
	s := &sample{set: set, weight: weight, batch: &gpu.Batch{Label: "sample of " + d.Class.String()}}
	samples[d.Operation](s, d, z)
	return s
}

// bytes returns the sample's memory on the device, and the size of its largest buffer.
func (s *sample) bytes() (all, largest int64) {
	for _, b := range s.buffers {
		all, largest = all+b.Size, max(largest, b.Size)
	}
	return all, largest
}

func (s *sample) buffer(label string, bytes int64) *gpu.Buffer {
	b := &gpu.Buffer{Label: "sample's " + label, Size: (bytes + 3) &^ 3}
	s.buffers = append(s.buffers, b)
	return b
}

// fill sets the content of a buffer; data is called when it is needed.
func (s *sample) fill(b *gpu.Buffer, data func() []byte) {
	s.inputs = append(s.inputs, input{b, data})
}

func (s *sample) tensor(n, h, w, c int) wgsl.Tensor {
	x := wgsl.Tensor{Elem: s.set.Elem, T: n, H: h, W: w, C: c}
	x.Buffer = s.buffer("input", x.Bytes())
	s.fill(x.Buffer, func() []byte { return encode(numbers(1, n*h*w*c, 1), s.set.Elem) })
	return x
}

func (s *sample) result(n, h, w, c int) wgsl.Tensor {
	s.out = wgsl.Tensor{Elem: s.set.Elem, T: n, H: h, W: w, C: c}
	s.out.Buffer = s.buffer("output", s.out.Bytes())
	return s.out
}

// weights returns weights that keep sums of products about as large as inputs.
func (s *sample) weights(shape wgsl.Shape, p *wgsl.Packing, bias int) wgsl.Weights {
	n, inputs := p.Size(shape), shape.I*shape.KT*shape.KS*shape.KS
	w := wgsl.Weights{
		Weight: s.buffer("weight", int64(n*s.weight.Bytes())), Bias: s.buffer("bias", int64(4*((bias+7)&^7))), Elem: s.weight, Packing: p,
	}
	s.fill(w.Weight, func() []byte {
		plain := numbers(2, shape.O*inputs, math.Sqrt(float64(inputs)))
		if s.weight == wgsl.F32 {
			packed := make([]float32, n)
			wgsl.Pack(p, packed, plain, shape, nil)
			return encode(packed, wgsl.F32)
		}
		halves, packed := make([]uint16, len(plain)), make([]uint16, n)
		for i, v := range plain {
			halves[i] = float16.Fromfloat32(v).Bits()
		}
		wgsl.Pack(p, packed, halves, shape, nil)
		out := make([]byte, 0, 2*n+2)
		for _, v := range packed {
			out = binary.LittleEndian.AppendUint16(out, v)
		}
		return out[:(2*n+3)&^3]
	})
	s.fill(w.Bias, func() []byte { return encode(numbers(3, (bias+7)&^7, biasDivisor), wgsl.F32) })
	return w
}

// numbers returns n numbers between -1 and 1, divided by over, always equal for a seed.
// Each is a half, so that no storage changes it.
func numbers(seed uint32, n int, over float64) []float32 {
	out := make([]float32, n)
	state := seed * 2654435761
	for i := range out {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		out[i] = float16.Fromfloat32(float32(float64(int32(state)) / (1 << 31) / over)).Float32()
	}
	return out
}

// encode stores numbers as bytes.
func encode(v []float32, elem wgsl.Elem) []byte {
	out := make([]byte, 0, len(v)*elem.Bytes())
	for _, x := range v {
		if elem == wgsl.F32 {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		} else {
			out = binary.LittleEndian.AppendUint16(out, float16.Fromfloat32(x).Bits())
		}
	}
	return out
}

// decode reads the bytes of encode.
func decode(raw []byte, elem wgsl.Elem) []float32 {
	out := make([]float32, len(raw)/elem.Bytes())
	for i := range out {
		if elem == wgsl.F32 {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		} else {
			out[i] = float16.Frombits(binary.LittleEndian.Uint16(raw[2*i:])).Float32()
		}
	}
	return out
}

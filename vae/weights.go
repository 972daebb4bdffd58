package vae

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/x448/float16"

	"tessera/engine"
	"tessera/format/quote"
	"tessera/format/safetensors"
	"tessera/wgsl"
)

// loader collects what the layers need as a network is built: each layer names its
// tensors with their shapes. Building needs neither a file nor a device.
type loader struct {
	weights  *engine.Weights
	specs    *[]spec   // of all networks of a model
	groups   int       // of every group norm
	fold     bool      // fold layers that enlarge into the convolution after them
	residual *residual // of the family, if activations are halves

	bare  bool           // layers have no bias
	zeros map[string]int // sizes of the zero biases that replace missing ones

	views   map[string]view    // tensors that the file stores in another order
	doubled map[string]float32 // tensors that are doubled, and what is then added
}

// spec is a tensor that a model needs.
type spec struct {
	name  string
	shape []int
}

func (l *loader) need(name string, shape ...int) {
	*l.specs = append(*l.specs, spec{name, shape})
}

// unbiased returns a loader for layers without a bias.
func (l *loader) unbiased() *loader {
	bare := *l
	bare.bare = true
	return &bare
}

// signed makes a layer whose pixels are from 0 to 1 return pixels from -1 to 1.
func (l *loader) signed(name string) {
	l.doubled[name+".weight"], l.doubled[name+".bias"] = 0, -1
}

// product registers a weight of a shape, and its bias.
func (l *loader) product(name string, shape ...int) {
	l.need(name+".weight", shape...)
	if l.bare {
		l.zeros[name+".bias"] = shape[0]
		return
	}
	l.need(name+".bias", shape[0])
}

// conv builds a 3x3 convolution through time, or of each frame separately: a weight
// [cout, cin, taps, 3, 3].
func (l *loader) conv(name string, cin, cout int, time engine.Causal, stride int) *engine.Conv {
	taps := max(1, time.Kernel)
	l.product(name, cout, cin, taps, 3, 3)
	shape := wgsl.Shape{O: cout, I: cin, KT: taps, KS: 3}
	c := &engine.Conv{Name: name, Weights: l.weights.Conv(name, shape, stride), Out: cout, Time: time, Stride: stride}
	if l.fold && time.Kernel > 1 {
		c.Still = l.weights.Still(c.Weights, name, shape, time.Past)
	}
	return c
}

// conv2d builds a 3x3 convolution of each frame separately: a weight [cout, cin, 3, 3].
func (l *loader) conv2d(name string, cin, cout, stride int) *engine.Conv {
	l.product(name, cout, cin, 3, 3)
	w := l.weights.Conv(name, wgsl.Shape{O: cout, I: cin, KT: 1, KS: 3}, stride)
	return &engine.Conv{Name: name, Weights: w, Out: cout, Stride: stride}
}

// enlarging builds a 3x3 convolution of each frame, enlarged by nearest neighbour: a
// weight [cout, cin, 3, 3].
func (l *loader) enlarging(name string, cin, cout int) *engine.Conv {
	if !l.fold {
		c := l.conv2d(name, cin, cout, 1)
		c.Enlarge = true
		return c
	}
	l.product(name, cout, cin, 3, 3)
	return &engine.Conv{Name: name, Weights: l.weights.Enlarging(name, cout, cin), Out: cout, Enlarge: true, Folded: true}
}

// upsample builds a pixelShuffle and the causal convolution after it as one layer.
func (l *loader) upsample(name, upscale, conv string, c, phases int) engine.Module {
	if !l.fold {
		return engine.Series{l.pixelShuffle(name, upscale, c, phases), l.conv(conv, c, c, causal(engine.Repeated), 1)}
	}
	l.product(upscale, 4*phases*c, c, 1, 1, 1)
	l.product(conv, c, c, 3, 3, 3)
	return &engine.Upsample{Name: name, Weights: l.weights.Fold(upscale, conv, c, phases), Out: c, Phases: phases}
}

// pointwise builds a linear layer over channels: a weight [cout, cin, 1, ...] with the
// given number of ones.
func (l *loader) pointwise(name string, cin, cout, ones int) *engine.Pointwise {
	l.product(name, append([]int{cout, cin}, slices.Repeat([]int{1}, ones)...)...)
	w := l.weights.Product(name, []string{name}, wgsl.Shape{O: cout, I: cin, KT: 1, KS: 1}, nil)
	return &engine.Pointwise{Name: name, Weights: w, Out: cout}
}

// queries builds the pointwise layer for queries, keys and values of c channels: from one
// layer [3c, c, 1, 1], or three of [c, c]. It pads each output to a multiple of 4
// channels.
func (l *loader) queries(name string, layers []string, c int) *engine.Pointwise {
	if len(layers) == 1 {
		l.product(layers[0], 3*c, c, 1, 1)
	} else {
		for _, layer := range layers {
			l.product(layer, c, c)
		}
	}
	w := l.weights.Product(name, layers, wgsl.Shape{O: 3 * wgsl.Pad4(c), I: c, KT: 1, KS: 1}, padded(c))
	return &engine.Pointwise{Name: name, Weights: w, Out: 3 * wgsl.Pad4(c)}
}

// timeConv builds a convolution over time alone that makes phases of c channels: a weight
// [phases*c, c, 3, 1, 1].
func (l *loader) timeConv(name string, c, phases int, time engine.Causal) *engine.TimeConv {
	l.product(name, phases*c, c, time.Kernel, 1, 1)
	w := l.weights.Product(name, []string{name}, wgsl.Shape{O: phases * wgsl.Pad4(c), I: c, KT: time.Kernel, KS: 1}, padded(c))
	return &engine.TimeConv{Name: name, Weights: w, Out: c, Time: time, Phases: phases}
}

// padded returns the order of outputs in runs of c, each padded to a multiple of 4.
func padded(c int) func(o int) int {
	pad := wgsl.Pad4(c)
	return func(o int) int {
		if o%pad >= c {
			return -1
		}
		return o/pad*c + o%pad
	}
}

// pixelShuffle builds the 1x1x1 convolution before a 3D pixel shuffle, and the shuffle.
// The checkpoint orders output channels as [ix, iy, iz, c]; here the time phase iz comes
// first and c is padded to a multiple of 4.
func (l *loader) pixelShuffle(label, name string, c, phases int) *engine.PixelShuffle {
	l.product(name, 4*phases*c, c, 1, 1, 1)
	pad := wgsl.Pad4(c)
	w := l.weights.Product(name, []string{name}, wgsl.Shape{O: 4 * phases * pad, I: c, KT: 1, KS: 1}, func(o int) int {
		phase, ch := o/pad, o%pad
		if ch >= c {
			return -1
		}
		return (phase%4*phases+phase/4)*c + ch
	})
	return &engine.PixelShuffle{Name: label, Weights: w, Out: c, Phases: phases}
}

func (l *loader) groupNorm(name string, c int, eps float32, silu bool) *engine.GroupNorm {
	l.need(name+".weight", c)
	l.need(name+".bias", c)
	return &engine.GroupNorm{
		Name: name, Gamma: l.weights.Vector(name+".weight", c), Beta: l.weights.Vector(name+".bias", c),
		Groups: l.groups, Eps: l.residual.eps(eps), SiLU: silu,
	}
}

// rmsNorm builds an RMS norm with gamma of shape [c, 1, ...] with the given number of
// ones.
func (l *loader) rmsNorm(name string, c, ones int, silu bool) *engine.RMSNorm {
	l.need(name+".gamma", append([]int{c}, slices.Repeat([]int{1}, ones)...)...)
	return &engine.RMSNorm{Name: name, Gamma: l.weights.Vector(name+".gamma", c), SiLU: silu}
}

// pixelNorm builds an rmsNorm without a weight, with eps inside the root, and SiLU.
func (l *loader) pixelNorm(name string, c int, eps float32) *engine.RMSNorm {
	return &engine.RMSNorm{Name: name, Gamma: l.weights.Ones(c), Eps: eps, SiLU: true}
}

// sharing builds a causal convolution to c means and one log-variance, which stands for
// all c: a weight [c+1, cin, 3, 3, 3].
func (l *loader) sharing(name string, cin, c int) *engine.Conv {
	l.product(name, c+1, cin, 3, 3, 3)
	w := l.weights.ConvOf(name, wgsl.Shape{O: 2 * c, I: cin, KT: 3, KS: 3}, 1, func(o int) int { return min(o, c) })
	return &engine.Conv{Name: name, Weights: w, Out: 2 * c, Differ: c + 1, Time: causal(engine.Repeated)}
}

// checkTensors compares the tensors that a model needs with a file's, and reports
// together all that are missing, unused, or of another shape or type. The tensors in
// spare and ignored may be unused.
func checkTensors(specs []spec, have tensors, spare, ignored []string) error {
	var missing, shapes, types, unused []string
	needed := map[string]bool{}
	for _, name := range spare {
		needed[have.name(name)] = true
	}
	for _, s := range specs {
		name := have.name(s.name)
		needed[name] = true
		t, ok := have.find(s.name)
		switch {
		case !ok:
			missing = append(missing, name)
		case !slices.Equal(t.Shape, s.shape):
			shapes = append(shapes, fmt.Sprintf("%s is %v, expected %v", name, t.Shape, s.shape))
		case !t.DType.Float():
			types = append(types, fmt.Sprintf("%s is %s, expected F16, BF16 or F32", name, t.DType))
		}
	}
	skipped := func(name, part string) bool {
		return strings.HasPrefix(name, part) || part[0] == '.' && strings.Contains(name, part)
	}
	for _, name := range have.file.Names() {
		if !needed[name] && !slices.ContainsFunc(ignored, func(part string) bool { return skipped(name, part) }) {
			unused = append(unused, name)
		}
	}
	sort.Stable(sort.StringSlice(unused))
	var lines []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"missing", missing}, {"of another shape", shapes}, {"of another type", types}, {"unknown", unused}} {
		if len(p.names) > 0 {
			lines = append(lines, fmt.Sprintf("%d %s: %s", len(p.names), p.what, quote.List(p.names, "; ")))
		}
	}
	if lines == nil {
		return nil
	}
	return fmt.Errorf("vae: %s: tensors do not fit the model: %s", have.file.Name(), strings.Join(lines, ". "))
}

// reader reads a checkpoint's tensors under the layers' names. Its scratch grows to the
// size of the largest tensor.
type reader struct {
	tensors
	force    bool               // accept weights that are all zero
	residual *residual          // of the family, if activations are halves
	zeros    map[string]int     // sizes of zero tensors that the file lacks
	doubled  map[string]float32 // see loader

	wide []float32
	raw  []byte // scratch for a piece
}

// pieceBytes is how many bytes of a tensor are converted at once.
const pieceBytes = 1 << 20

var (
	errNotFinite = errors.New("weights must be finite")
	errZero      = errors.New("is all zero, perhaps from an incomplete download: use another copy, or --force to load it")
)

// Float32s appends a tensor. It refuses NaN, infinity and all-zero weights.
func (r *reader) Float32s(dst []float32, name string) ([]float32, error) {
	if n, ok := r.zeros[name]; ok {
		return append(dst, make([]float32, n)...), nil
	}
	t, _ := r.find(name)
	from := len(dst)
	dst = slices.Grow(dst, t.Elements())[:from+t.Elements()]
	if err := t.ReadF32(dst[from:], 0); err != nil {
		return dst, err
	}
	for i, x := range dst[from:] {
		if x-x != 0 {
			return dst, r.notFinite(t.Name, i, x)
		}
	}
	some := slices.ContainsFunc(dst[from:], func(x float32) bool { return x != 0 })
	if by, plus := r.by(name), r.doubled[name]; by != 1 {
		for i := range dst[from:] {
			dst[from+i] = dst[from+i]*by + plus
		}
	}
	return dst, r.some(t, some)
}

// Float16s appends a tensor as halves. It copies a tensor that is stored as F16.
func (r *reader) Float16s(dst []uint16, name string) ([]uint16, error) {
	t, _ := r.find(name)
	dst, some := slices.Grow(dst, t.Elements()), false
	if t.DType != safetensors.F16 || r.by(name) != 1 {
		wide, err := r.Float32s(r.wide[:0], name)
		r.wide = wide
		for _, x := range wide {
			dst = append(dst, float16.Fromfloat32(x).Bits())
		}
		return dst, err
	}
	for at := 0; at < t.Elements(); at += pieceBytes / 2 {
		n := min(pieceBytes, 2*(t.Elements()-at))
		if cap(r.raw) < n {
			r.raw = make([]byte, n)
		}
		raw := r.raw[:n]
		if err := t.ReadRaw(raw, 2*int64(at)); err != nil {
			return dst, err
		}
		for i := 0; i < len(raw); i += 2 {
			v := uint16(raw[i]) | uint16(raw[i+1])<<8
			if v&0x7c00 == 0x7c00 {
				return dst, r.notFinite(t.Name, at+i/2, float16.Frombits(v).Float32())
			}
			dst, some = append(dst, v), some || v&0x7fff != 0
		}
	}
	return dst, r.some(t, some)
}

// by returns the factor of a tensor.
func (r *reader) by(name string) float32 {
	by := r.residual.of(name)
	if _, ok := r.doubled[name]; ok {
		by *= 2
	}
	return by
}

// some refuses a weight that is all zero. Vectors, such as biases, may be.
func (r *reader) some(t safetensors.Tensor, some bool) error {
	if some || r.force || len(t.Shape) < 2 {
		return nil
	}
	return &badModel{fmt.Errorf("vae: %s: tensor %s of shape %v %w", r.file.Name(), t.Name, t.Shape, errZero)}
}

func (r *reader) notFinite(name string, i int, v float32) error {
	return &badModel{fmt.Errorf("vae: %s: tensor %s: element %d is %v: %w", r.file.Name(), name, i, v, errNotFinite)}
}

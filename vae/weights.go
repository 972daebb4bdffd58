package vae

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/x448/float16"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/wgsl"
)

// loader is handed to the layers as a model is built: each names the tensors it
// needs, with shapes, and gets buffers that upload fills later. Building a
// model needs neither file nor device.
type loader struct {
	elem   wgsl.Elem // of convolution weights
	half   string    // "encoder" or "decoder", the loads being declared
	groups int       // of every group norm
	specs  []spec
	loads  map[string][]load
}

// spec is a tensor a model needs.
type spec struct {
	name  string
	shape []int
}

// load fills one buffer from some tensors.
type load struct {
	buffer *gpu.Buffer
	fill   func(src *source) (packed, error)
}

// packed is what a buffer is filled with: halves or floats. It is scratch of
// the source, valid until the next fill.
type packed struct {
	half []uint16
	wide []float32
}

func newLoader(elem wgsl.Elem, groups int) *loader {
	return &loader{elem: elem, groups: groups, loads: map[string][]load{}}
}

func (l *loader) need(name string, shape ...int) string {
	l.specs = append(l.specs, spec{name, shape})
	return name
}

func (l *loader) buffer(label string, size int, fill func(*source) (packed, error)) *gpu.Buffer {
	b := &gpu.Buffer{Label: label, Size: int64(size)}
	l.loads[l.half] = append(l.loads[l.half], load{b, fill})
	return b
}

// conv is a convolution's weight [cout, cin, kt, ks, ks] and bias.
func (l *loader) conv(name string, cin, cout, kt, ks int) wgsl.Weights {
	l.need(name+".weight", cout, cin, kt, ks, ks)
	l.need(name+".bias", cout)
	return l.packed(name, []string{name}, wgsl.Shape{O: cout, I: cin, KT: kt, KS: ks}, nil)
}

// conv2d is a convolution's weight [cout, cin, ks, ks] and bias.
func (l *loader) conv2d(name string, cin, cout, ks int) wgsl.Weights {
	l.need(name+".weight", cout, cin, ks, ks)
	l.need(name+".bias", cout)
	return l.packed(name, []string{name}, wgsl.Shape{O: cout, I: cin, KT: 1, KS: ks}, nil)
}

// parts is a product of n times c outputs, [n*c, cin, kt, ...] with kt and the
// rest given by kernel: outputs c at a time, each padded to a multiple of 4.
func (l *loader) parts(name string, n, cin, c int, kernel ...int) wgsl.Weights {
	l.need(name+".weight", append([]int{n * c, cin}, kernel...)...)
	l.need(name+".bias", n*c)
	return l.packed(name, []string{name}, wgsl.Shape{O: n * wgsl.Pad4(c), I: cin, KT: kernel[0], KS: 1}, padded(c))
}

// padded is the order of outputs c at a time, each padded to a multiple of 4.
func padded(c int) func(o int) int {
	pad := wgsl.Pad4(c)
	return func(o int) int {
		if o%pad >= c {
			return -1
		}
		return o/pad*c + o%pad
	}
}

// linear is a linear layer's weight [cout, cin] and bias.
func (l *loader) linear(name string, cin, cout int) wgsl.Weights {
	l.need(name+".weight", cout, cin)
	l.need(name+".bias", cout)
	return l.packed(name, []string{name}, wgsl.Shape{O: cout, I: cin, KT: 1, KS: 1}, nil)
}

// stacked makes one product of several linear layers c to c: their outputs one
// after another, each padded to a multiple of 4.
func (l *loader) stacked(name string, parts []string, c int) wgsl.Weights {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = name + "." + p
		l.need(names[i]+".weight", c, c)
		l.need(names[i]+".bias", c)
	}
	return l.packed(name, names, wgsl.Shape{O: len(parts) * wgsl.Pad4(c), I: c, KT: 1, KS: 1}, padded(c))
}

// upscale is the 1x1x1 convolution before a 3D pixel shuffle. The checkpoint's
// output channels are [ix, iy, iz, c]; here time phase iz comes first and c is
// padded to a multiple of 4.
func (l *loader) upscale(name string, c, z int) wgsl.Weights {
	l.need(name+".weight", 4*z*c, c, 1, 1, 1)
	l.need(name+".bias", 4*z*c)
	pad := wgsl.Pad4(c)
	return l.packed(name, []string{name}, wgsl.Shape{O: 4 * z * pad, I: c, KT: 1, KS: 1}, func(o int) int {
		phase, ch := o/pad, o%pad
		if ch >= c {
			return -1
		}
		return (phase%4*z+phase/4)*c + ch
	})
}

// packed declares weight and bias of layers stacked along their outputs, in
// the kernels' order.
func (l *loader) packed(name string, parts []string, s wgsl.Shape, order func(int) int) wgsl.Weights {
	elem := l.elem
	weight := l.buffer(name+".weight", s.Packed()*elem.Bytes(), func(src *source) (packed, error) {
		if elem == wgsl.F32 {
			w, err := join(parts, ".weight", src.wide[:0], src.float32s)
			src.wide = w
			if err != nil {
				return packed{}, err
			}
			src.wideOut = zeroed(src.wideOut, s.Packed())
			wgsl.PackConv(src.wideOut, w, s, order)
			return packed{wide: src.wideOut}, nil
		}
		w, err := join(parts, ".weight", src.half[:0], src.float16s)
		src.half = w
		if err != nil {
			return packed{}, err
		}
		src.halfOut = zeroed(src.halfOut, s.Packed())
		wgsl.PackConv(src.halfOut, w, s, order)
		return packed{half: src.halfOut}, nil
	})
	wide := (s.O + 7) &^ 7
	bias := l.buffer(name+".bias", 4*wide, func(src *source) (packed, error) {
		b, err := join(parts, ".bias", src.wide[:0], src.float32s)
		src.wide = b
		if err != nil {
			return packed{}, err
		}
		src.wideOut = zeroed(src.wideOut, wide)
		for o := range s.O {
			from := o
			if order != nil {
				from = order(o)
			}
			if from >= 0 {
				src.wideOut[o] = b[from]
			}
		}
		return packed{wide: src.wideOut}, nil
	})
	return wgsl.Weights{Weight: weight, Bias: bias, Elem: elem}
}

// vector is a tensor with a number per channel, of which shape[0] are.
func (l *loader) vector(name string, shape ...int) *gpu.Buffer {
	c := shape[0]
	l.need(name, shape...)
	return l.buffer(name, 4*wgsl.Pad4(c), func(src *source) (packed, error) {
		v, err := src.float32s(src.wide[:0], name)
		src.wide = append(v, make([]float32, wgsl.Pad4(c)-c)...)
		return packed{wide: src.wide}, err
	})
}

func (l *loader) groupNorm(name string, c int, silu bool) *groupNorm {
	return &groupNorm{name, l.vector(name+".weight", c), l.vector(name+".bias", c), l.groups, silu}
}

// rmsNorm has gamma of shape [c, 1, ...] with so many ones.
func (l *loader) rmsNorm(name string, c, ones int, silu bool) *rmsNorm {
	return &rmsNorm{name, l.vector(name+".gamma", append([]int{c}, slices.Repeat([]int{1}, ones)...)...), silu}
}

// join reads tensors one after another, appending to dst.
func join[E any](parts []string, suffix string, dst []E, read func([]E, string) ([]E, error)) ([]E, error) {
	for _, p := range parts {
		var err error
		if dst, err = read(dst, p+suffix); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// zeroed is scratch of n zeros, in v's place where that is large enough.
func zeroed[E any](v []E, n int) []E {
	if cap(v) < n {
		return make([]E, n)
	}
	v = v[:n]
	clear(v)
	return v
}

// check compares what a model needs with what a file has, and reports all
// that is missing, of another shape, of another type or unused together.
func (l *loader) check(have tensors) error {
	var missing, shapes, types, unused []string
	needed := map[string]bool{}
	for _, s := range l.specs {
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
	for _, name := range have.file.Names() {
		if !needed[name] {
			unused = append(unused, name)
		}
	}
	slices.Sort(unused)
	var lines []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"missing", missing}, {"of another shape", shapes}, {"of another type", types}, {"unknown", unused}} {
		if len(p.names) > 0 {
			lines = append(lines, fmt.Sprintf("%d %s: %s", len(p.names), p.what, strings.Join(p.names, "; ")))
		}
	}
	if lines == nil {
		return nil
	}
	return fmt.Errorf("vae: %s: tensors don't fit the model: %s", have.file.Name(), strings.Join(lines, ". "))
}

// source reads tensors for loads. Its scratch grows to the largest of them and
// no further: in a browser, memory that was ever used is never given back.
type source struct {
	tensors

	wide, wideOut []float32 // read, and packed
	half, halfOut []uint16
	raw           []byte // a piece on its way
}

// pieceBytes of a tensor are converted at once.
const pieceBytes = 1 << 20

var errNotFinite = errors.New("weights must be finite")

// float32s appends a tensor, refusing NaN and infinity.
func (s *source) float32s(dst []float32, name string) ([]float32, error) {
	t, _ := s.find(name)
	from := len(dst)
	dst = slices.Grow(dst, t.Elements())[:from+t.Elements()]
	if err := t.ReadF32(dst[from:], 0); err != nil {
		return dst, err
	}
	for i, x := range dst[from:] {
		if x-x != 0 {
			return dst, s.notFinite(t.Name, i, x)
		}
	}
	return dst, nil
}

// float16s appends a tensor as halves; one stored as F16 is not converted.
func (s *source) float16s(dst []uint16, name string) ([]uint16, error) {
	t, _ := s.find(name)
	dst = slices.Grow(dst, t.Elements())
	if t.DType != safetensors.F16 {
		wide, err := s.float32s(s.wide[:0], name)
		s.wide = wide
		for _, x := range wide {
			dst = append(dst, float16.Fromfloat32(x).Bits())
		}
		return dst, err
	}
	for at := 0; at < t.Elements(); at += pieceBytes / 2 {
		s.raw = zeroed(s.raw, min(pieceBytes, 2*(t.Elements()-at)))
		if err := t.ReadRaw(s.raw, 2*int64(at)); err != nil {
			return dst, err
		}
		for i := 0; i < len(s.raw); i += 2 {
			v := binary.LittleEndian.Uint16(s.raw[i:])
			if v&0x7c00 == 0x7c00 {
				return dst, s.notFinite(t.Name, at+i/2, float16.Frombits(v).Float32())
			}
			dst = append(dst, v)
		}
	}
	return dst, nil
}

func (s *source) notFinite(name string, i int, v float32) error {
	return badModel{fmt.Errorf("vae: %s: tensor %s: element %d is %v: %w", s.file.Name(), name, i, v, errNotFinite)}
}

// upload gives the buffers of one half memory and fills them.
func (l *loader) upload(ctx context.Context, dev *gpu.Device, half string, src *source, told func(done, total int64)) error {
	done, total := int64(0), sum(l.buffers(half))
	for _, ld := range l.loads[half] {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("vae: weights: %w", err)
		}
		data, err := ld.fill(src)
		if err != nil {
			return err
		}
		if err := dev.Alloc(ld.buffer); err != nil {
			return fmt.Errorf("vae: weights: %w", err)
		}
		if err := src.write(dev, ld.buffer, data); err != nil {
			return fmt.Errorf("vae: weights: %w", err)
		}
		done += ld.buffer.Size
		if told != nil {
			told(done, total)
		}
	}
	return nil
}

// write fills a buffer, a piece at a time.
func (s *source) write(dev *gpu.Device, b *gpu.Buffer, p packed) error {
	offset := int64(0)
	put := func(n int, fill func(raw []byte)) error {
		s.raw = zeroed(s.raw, n)
		fill(s.raw)
		at := gpu.View{Buffer: b, Offset: offset}
		offset += int64(n)
		return dev.Write(at, s.raw)
	}
	for part := range slices.Chunk(p.half, pieceBytes/2) {
		err := put((2*len(part)+3)&^3, func(raw []byte) { put16(raw, part) })
		if err != nil {
			return err
		}
	}
	for part := range slices.Chunk(p.wide, pieceBytes/4) {
		if err := put(4*len(part), func(raw []byte) { put32(raw, part) }); err != nil {
			return err
		}
	}
	return nil
}

// buffers are those of one half.
func (l *loader) buffers(half string) []*gpu.Buffer {
	var all []*gpu.Buffer
	for _, ld := range l.loads[half] {
		all = append(all, ld.buffer)
	}
	return all
}

func bytes32(v []float32) []byte {
	b := make([]byte, 4*len(v))
	put32(b, v)
	return b
}

func bytes16(v []uint16) []byte {
	b := make([]byte, (2*len(v)+3)&^3)
	put16(b, v)
	return b
}

func put32(b []byte, v []float32) {
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
}

func put16(b []byte, v []uint16) {
	for i, x := range v {
		binary.LittleEndian.PutUint16(b[2*i:], x)
	}
}

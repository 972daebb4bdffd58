package vae

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/x448/float16"

	"tessera/gpu"
	"tessera/internal/safetensors"
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
	fill   func(src *source) ([]byte, error)
}

func newLoader(elem wgsl.Elem, groups int) *loader {
	return &loader{elem: elem, groups: groups, loads: map[string][]load{}}
}

func (l *loader) need(name string, shape ...int) string {
	l.specs = append(l.specs, spec{name, shape})
	return name
}

func (l *loader) buffer(label string, size int, fill func(*source) ([]byte, error)) *gpu.Buffer {
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
	pad := wgsl.Pad4(c)
	return l.packed(name, names, wgsl.Shape{O: len(parts) * pad, I: c, KT: 1, KS: 1}, func(o int) int {
		if o%pad >= c {
			return -1
		}
		return o/pad*c + o%pad
	})
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
	weight := l.buffer(name+".weight", s.Packed()*elem.Bytes(), func(src *source) ([]byte, error) {
		if elem == wgsl.F32 {
			w, err := join(parts, ".weight", src.float32s)
			if err != nil {
				return nil, err
			}
			dst := make([]float32, s.Packed())
			wgsl.PackConv(dst, w, s, order)
			return bytes32(dst), nil
		}
		w, err := join(parts, ".weight", src.float16s)
		if err != nil {
			return nil, err
		}
		dst := make([]uint16, s.Packed())
		wgsl.PackConv(dst, w, s, order)
		return bytes16(dst), nil
	})
	wide := (s.O + 7) &^ 7
	bias := l.buffer(name+".bias", 4*wide, func(src *source) ([]byte, error) {
		b, err := join(parts, ".bias", src.float32s)
		if err != nil {
			return nil, err
		}
		dst := make([]float32, wide)
		for o := range s.O {
			from := o
			if order != nil {
				from = order(o)
			}
			if from >= 0 {
				dst[o] = b[from]
			}
		}
		return bytes32(dst), nil
	})
	return wgsl.Weights{Weight: weight, Bias: bias, Elem: elem}
}

func (l *loader) norm(name string, c int, silu bool) *groupNorm {
	vector := func(name string) *gpu.Buffer {
		l.need(name, c)
		return l.buffer(name, 4*wgsl.Pad4(c), func(src *source) ([]byte, error) {
			v, err := src.float32s(name)
			return bytes32(append(v, make([]float32, wgsl.Pad4(c)-c)...)), err
		})
	}
	return &groupNorm{name: name, gamma: vector(name + ".weight"), beta: vector(name + ".bias"), groups: l.groups, silu: silu}
}

// join reads and concatenates tensors.
func join[E any](parts []string, suffix string, read func(string) ([]E, error)) ([]E, error) {
	var all []E
	for _, p := range parts {
		v, err := read(p + suffix)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = v
		} else {
			all = append(all, v...)
		}
	}
	return all, nil
}

// check compares what a model needs with what a file has, and reports all
// that is missing, of another shape, of another type or unused together.
func (l *loader) check(file string, have map[string]safetensors.Tensor) error {
	var missing, shapes, types, unused []string
	needed := map[string]bool{}
	for _, s := range l.specs {
		needed[s.name] = true
		t, ok := have[s.name]
		switch {
		case !ok:
			missing = append(missing, s.name)
		case !slices.Equal(t.Shape, s.shape):
			shapes = append(shapes, fmt.Sprintf("%s is %v, expected %v", s.name, t.Shape, s.shape))
		case !t.DType.Float():
			types = append(types, fmt.Sprintf("%s is %s, expected F16, BF16 or F32", s.name, t.DType))
		}
	}
	for name := range have {
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
	return fmt.Errorf("vae: %s: tensors don't fit the model: %s", file, strings.Join(lines, ". "))
}

// source reads tensors for loads.
type source struct {
	file string
	all  map[string]safetensors.Tensor
}

var errNotFinite = errors.New("weights must be finite")

// float32s reads a tensor, refusing NaN and infinity.
func (s *source) float32s(name string) ([]float32, error) {
	t := s.all[name]
	v := make([]float32, t.Elements())
	if err := t.ReadF32(v, 0); err != nil {
		return nil, err
	}
	for i, x := range v {
		if x-x != 0 {
			return nil, s.notFinite(name, i, x)
		}
	}
	return v, nil
}

// float16s reads a tensor as halves; one stored as F16 is not converted.
func (s *source) float16s(name string) ([]uint16, error) {
	t := s.all[name]
	v := make([]uint16, t.Elements())
	if t.DType != safetensors.F16 {
		wide, err := s.float32s(name)
		if err != nil {
			return nil, err
		}
		for i, x := range wide {
			v[i] = float16.Fromfloat32(x).Bits()
		}
		return v, nil
	}
	raw := make([]byte, 2*len(v))
	if err := t.ReadRaw(raw, 0); err != nil {
		return nil, err
	}
	for i := range v {
		v[i] = binary.LittleEndian.Uint16(raw[2*i:])
		if v[i]&0x7c00 == 0x7c00 {
			return nil, s.notFinite(name, i, float16.Frombits(v[i]).Float32())
		}
	}
	return v, nil
}

func (s *source) notFinite(name string, i int, v float32) error {
	return badModel{fmt.Errorf("vae: %s: tensor %s: element %d is %v: %w", s.file, name, i, v, errNotFinite)}
}

// upload gives the buffers of one half memory and fills them.
func (l *loader) upload(dev *gpu.Device, half string, src *source) error {
	for _, ld := range l.loads[half] {
		data, err := ld.fill(src)
		if err != nil {
			return err
		}
		if err := dev.Alloc(ld.buffer); err != nil {
			return fmt.Errorf("vae: weights: %w", err)
		}
		if err := dev.Write(ld.buffer.All(), data); err != nil {
			return fmt.Errorf("vae: weights: %w", err)
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
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return b
}

func bytes16(v []uint16) []byte {
	b := make([]byte, (2*len(v)+3)&^3)
	for i, x := range v {
		binary.LittleEndian.PutUint16(b[2*i:], x)
	}
	return b
}

package engine

import (
	"context"
	"fmt"
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Tensors are what weights are read from. Both append a tensor's values to dst.
type Tensors interface {
	Float32s(dst []float32, name string) ([]float32, error)
	Float16s(dst []uint16, name string) ([]uint16, error)
}

// Weights are what the layers of a network are made with: declared as it is
// built, which takes neither file nor device, and put on the device when they
// are needed.
type Weights struct {
	set   *wgsl.Set
	elem  wgsl.Elem // of convolution weights
	loads []load
}

// load fills one buffer from some tensors.
type load struct {
	buffer *gpu.Buffer
	fill   func(s *scratch, from Tensors) (filling, error)
}

// filling is what a buffer is filled with: halves or floats. It is scratch,
// valid until the next.
type filling struct {
	half []uint16
	wide []float32
}

// scratch grows to the largest tensor and no further: in a browser, memory that
// was ever used is never given back.
type scratch struct {
	wide, wideOut []float32 // read, and packed
	half, halfOut []uint16
	raw           []byte // a piece on its way
}

// NewWeights declares none yet. They are for kernels of set; those of
// convolutions are stored as elem.
func NewWeights(set *wgsl.Set, elem wgsl.Elem) *Weights { return &Weights{set: set, elem: elem} }

func (w *Weights) declare(label string, size int, fill func(*scratch, Tensors) (filling, error)) *gpu.Buffer {
	b := &gpu.Buffer{Label: label, Size: int64(size)}
	w.loads = append(w.loads, load{b, fill})
	return b
}

// Conv declares the weight and bias of a 3x3 convolution of a stride.
func (w *Weights) Conv(name string, s wgsl.Shape, stride int) wgsl.Weights {
	return w.product(name, []string{name}, s, w.set.ConvPacking(s, stride), nil)
}

// Product declares the weight and bias of a convolution of 1x1 pixels, made of
// layers stacked along their outputs. Output o is row order(o) of theirs, none
// where that is negative; nil is the identity.
func (w *Weights) Product(name string, layers []string, s wgsl.Shape, order func(o int) int) wgsl.Weights {
	return w.product(name, layers, s, w.set.PointwisePacking(s), order)
}

func (w *Weights) product(name string, layers []string, s wgsl.Shape, p *wgsl.Packing, order func(int) int) wgsl.Weights {
	elem := w.elem
	weight := w.declare(name+".weight", p.Size(s)*elem.Bytes(), func(k *scratch, from Tensors) (f filling, err error) {
		if elem == wgsl.F32 {
			if k.wide, err = join(layers, ".weight", k.wide[:0], from.Float32s); err != nil {
				return f, err
			}
			k.wideOut = zeroed(k.wideOut, p.Size(s))
			wgsl.Pack(p, k.wideOut, k.wide, s, order)
			return filling{wide: k.wideOut}, nil
		}
		if k.half, err = join(layers, ".weight", k.half[:0], from.Float16s); err != nil {
			return f, err
		}
		k.halfOut = zeroed(k.halfOut, p.Size(s))
		wgsl.Pack(p, k.halfOut, k.half, s, order)
		return filling{half: k.halfOut}, nil
	})
	wide := (s.O + 7) &^ 7
	bias := w.declare(name+".bias", 4*wide, func(k *scratch, from Tensors) (f filling, err error) {
		if k.wide, err = join(layers, ".bias", k.wide[:0], from.Float32s); err != nil {
			return f, err
		}
		k.wideOut = zeroed(k.wideOut, wide)
		for o := range s.O {
			row := o
			if order != nil {
				row = order(o)
			}
			if row >= 0 {
				k.wideOut[o] = k.wide[row]
			}
		}
		return filling{wide: k.wideOut}, nil
	})
	return wgsl.Weights{Weight: weight, Bias: bias, Elem: elem, Packing: p}
}

// Vector declares a number a channel.
func (w *Weights) Vector(name string, c int) *gpu.Buffer {
	return w.declare(name, 4*wgsl.Pad4(c), func(k *scratch, from Tensors) (filling, error) {
		v, err := from.Float32s(k.wide[:0], name)
		k.wide = append(v, make([]float32, wgsl.Pad4(c)-c)...)
		return filling{wide: k.wide}, err
	})
}

// join reads tensors one after another, appending to dst.
func join[E any](layers []string, suffix string, dst []E, read func([]E, string) ([]E, error)) ([]E, error) {
	for _, l := range layers {
		var err error
		if dst, err = read(dst, l+suffix); err != nil {
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

// Buffers are where the weights lie on the device.
func (w *Weights) Buffers() []*gpu.Buffer {
	all := make([]*gpu.Buffer, len(w.loads))
	for i, l := range w.loads {
		all[i] = l.buffer
	}
	return all
}

// Bytes is what they take.
func (w *Weights) Bytes() int64 { return sum(w.Buffers()) }

// Upload gives the weights memory and fills it. told is called as bytes of all
// are done, if not nil.
func (w *Weights) Upload(ctx context.Context, dev *gpu.Device, from Tensors, told func(done, total int64)) error {
	done, total := int64(0), w.Bytes()
	k := &scratch{}
	for _, l := range w.loads {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("engine: weights: %w", err)
		}
		data, err := l.fill(k, from)
		if err != nil {
			return err
		}
		if err := dev.Alloc(l.buffer); err != nil {
			return fmt.Errorf("engine: weights: %w", err)
		}
		if err := k.write(dev, l.buffer, data); err != nil {
			return fmt.Errorf("engine: weights: %w", err)
		}
		done += l.buffer.Size
		if told != nil {
			told(done, total)
		}
	}
	return nil
}

// pieceBytes of a weight are converted at once.
const pieceBytes = 1 << 20

// write fills a buffer, a piece at a time.
func (k *scratch) write(dev *gpu.Device, b *gpu.Buffer, f filling) error {
	offset := int64(0)
	put := func(n int, fill func(raw []byte)) error {
		k.raw = zeroed(k.raw, n)
		fill(k.raw)
		at := gpu.View{Buffer: b, Offset: offset}
		offset += int64(n)
		return dev.Write(at, k.raw)
	}
	for part := range slices.Chunk(f.half, pieceBytes/2) {
		err := put((2*len(part)+3)&^3, func(raw []byte) {
			for i, x := range part {
				raw[2*i], raw[2*i+1] = byte(x), byte(x>>8)
			}
		})
		if err != nil {
			return err
		}
	}
	for part := range slices.Chunk(f.wide, pieceBytes/4) {
		if err := put(4*len(part), func(raw []byte) { encode(raw, part, wgsl.F32) }); err != nil {
			return err
		}
	}
	return nil
}

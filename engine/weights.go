package engine

import (
	"context"
	"fmt"
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Tensors reads tensors by name. Both methods append a tensor's values to dst.
type Tensors interface {
	Float32s(dst []float32, name string) ([]float32, error)
	Float16s(dst []uint16, name string) ([]uint16, error)
}

// Weights are the weights of a network's layers. The layers declare them as the network
// is built, which needs neither a file nor a device. Package runner makes them when they
// are needed.
type Weights struct {
	set   *wgsl.Set
	elem  wgsl.Elem // of convolution weights
	loads []load
	ones  map[int]*gpu.Buffer // by number of channels
}

// Target is the device that weights are made on: it stores them, and computes some from
// others.
type Target interface {
	Info() gpu.Info
	Alloc(buffers ...*gpu.Buffer) error
	Free(buffers ...*gpu.Buffer)
	Write(to gpu.View, data []byte) error
	Submit(ctx context.Context, batch *gpu.Batch) error
}

// load makes the missing buffers of some tensors: it allocates and fills them.
type load struct {
	buffers []*gpu.Buffer
	put     func(u *loadContext) error
}

// loadContext is what loads use.
type loadContext struct {
	ctx     context.Context
	dev     Target
	from    Tensors
	scratch *scratch
	missing map[*gpu.Buffer]bool
}

// filling is the content of a buffer: halves, or floats that are converted to elem. It is
// scratch, valid until the next filling.
type filling struct {
	half []uint16
	wide []float32
	elem wgsl.Elem
}

// scratch grows to the size of the largest tensor: a browser never takes back memory that
// a page has used.
type scratch struct {
	wide, wideOut []float32 // as read, and packed
	sums          []float32 // of tensors
	half, halfOut []uint16
	raw           []byte // scratch for a piece
}

// NewWeights returns an empty list of weights for the kernels of set. Convolution weights
// are stored as elem.
func NewWeights(set *wgsl.Set, elem wgsl.Elem) *Weights {
	return &Weights{set: set, elem: elem}
}

func (w *Weights) declare(label string, size int, fill func(*scratch, Tensors) (filling, error)) *gpu.Buffer {
	b := &gpu.Buffer{Label: label, Size: int64(size)}
	w.loads = append(w.loads, load{[]*gpu.Buffer{b}, func(u *loadContext) error {
		data, err := fill(u.scratch, u.from)
		if err != nil {
			return err
		}
		if err := u.alloc(b); err != nil {
			return err
		}
		if data.half != nil {
			return u.halves(b, data.half)
		}
		return u.write(b.All(), data.elem, data.wide)
	}})
	return b
}

// Conv declares the weight and bias of a 3x3 convolution with a stride.
func (w *Weights) Conv(name string, s wgsl.Shape, stride int) wgsl.Weights {
	return w.ConvOf(name, s, stride, nil)
}

// ConvOf is Conv with row order(o) of the tensor as output o; nil is the identity.
func (w *Weights) ConvOf(name string, s wgsl.Shape, stride int, order func(o int) int) wgsl.Weights {
	return w.product(name, []string{name}, s, w.set.ConvPacking(s, stride), order)
}

// Still declares a causal convolution's weight for pictures, whose past is the picture or
// zeros: one tap, the sum of the taps that read the picture.
func (w *Weights) Still(conv wgsl.Weights, name string, s wgsl.Shape, past Past) wgsl.Weights {
	one, elem := wgsl.Shape{O: s.O, I: s.I, KT: 1, KS: s.KS}, w.foldedElem()
	size := conv.Packing.Size(one)
	conv.Elem = elem
	conv.Weight = w.declare(name+" of pictures.weight", size*elem.Bytes(), func(k *scratch, from Tensors) (f filling, err error) {
		if k.wide, err = from.Float32s(k.wide[:0], name+".weight"); err != nil {
			return f, err
		}
		n := s.KS * s.KS
		for i := range s.O * s.I * n { // written before the positions that are still to be read
			at := i/n*n*s.KT + i%n
			x := k.wide[at+n*(s.KT-1)]
			for t := 0; past == Repeated && t < s.KT-1; t++ {
				x += k.wide[at+n*t]
			}
			k.wide[i] = x
		}
		k.wideOut = zeroed(k.wideOut, size)
		wgsl.Pack(conv.Packing, k.wideOut, k.wide, one, nil)
		return filling{wide: k.wideOut, elem: elem}, nil
	})
	return conv
}

// Product declares the weight and bias of a 1x1 convolution of layers stacked along their
// outputs. Output o is row order(o) of the stack, or zeros if that is negative; nil is
// the identity.
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

// Grouped declares the weight [O, I, 3, 3] and bias of a 3x3 convolution in groups of I
// channels.
func (w *Weights) Grouped(name string, s wgsl.Shape) wgsl.Weights {
	return w.product(name, []string{name}, s, w.set.GroupedPacking(s), nil)
}

// Depthwise declares the weight of a depthwise convolution of c channels, [c, 1, side,
// side], stored tap by tap.
func (w *Weights) Depthwise(name string, c, side int) *gpu.Buffer {
	taps := side * side
	return w.declare(name+".weight", 4*taps*c, func(k *scratch, from Tensors) (f filling, err error) {
		if k.wide, err = from.Float32s(k.wide[:0], name+".weight"); err != nil {
			return f, err
		}
		k.wideOut = zeroed(k.wideOut, taps*c)
		for i, x := range k.wide {
			k.wideOut[i%taps*c+i/taps] = x
		}
		return filling{wide: k.wideOut}, nil
	})
}

// Vector declares one number per channel.
func (w *Weights) Vector(name string, c int) *gpu.Buffer {
	return w.declare(name, 4*wgsl.Pad4(c), func(k *scratch, from Tensors) (filling, error) {
		v, err := from.Float32s(k.wide[:0], name)
		k.wide = append(v, make([]float32, wgsl.Pad4(c)-c)...)
		return filling{wide: k.wide}, err
	})
}

// Ones declares a vector of c ones, without a tensor. Each c is declared once.
func (w *Weights) Ones(c int) *gpu.Buffer {
	if w.ones[c] != nil {
		return w.ones[c]
	}
	if w.ones == nil {
		w.ones = map[int]*gpu.Buffer{}
	}
	w.ones[c] = w.declare(fmt.Sprintf("%d ones", c), 4*wgsl.Pad4(c), func(k *scratch, _ Tensors) (filling, error) {
		k.wide = zeroed(k.wide, wgsl.Pad4(c))
		for i := range k.wide {
			k.wide[i] = 1
		}
		return filling{wide: k.wide}, nil
	})
	return w.ones[c]
}

// Identity declares the factors of a group norm of c channels that changes nothing: what
// is subtracted, the factor, and what is added.
func (w *Weights) Identity(name string, c int) *gpu.Buffer {
	wide := wgsl.Pad4(c)
	return w.declare(name+" identity", 4*3*wide, func(k *scratch, _ Tensors) (filling, error) {
		k.wide = zeroed(k.wide, 3*wide)
		for i := range c {
			k.wide[wide+i] = 1
		}
		return filling{wide: k.wide}, nil
	})
}

// Matrix declares a pointwise layer's weight that comes from no tensor, with zeros as its
// bias.
func (w *Weights) Matrix(name string, s wgsl.Shape, value func(o, i int) float32) wgsl.Weights {
	p := w.set.PointwisePacking(s)
	weight := w.declare(name+" matrix", p.Size(s)*w.elem.Bytes(), func(k *scratch, _ Tensors) (filling, error) {
		k.wide = zeroed(k.wide, s.O*s.I)
		for at := range k.wide {
			k.wide[at] = value(at/s.I, at%s.I)
		}
		k.wideOut = zeroed(k.wideOut, p.Size(s))
		wgsl.Pack(p, k.wideOut, k.wide, s, nil)
		return filling{wide: k.wideOut, elem: w.elem}, nil
	})
	wide := (s.O + 7) &^ 7
	bias := w.declare(name+" no bias", 4*wide, func(k *scratch, _ Tensors) (filling, error) {
		k.wideOut = zeroed(k.wideOut, wide)
		return filling{wide: k.wideOut}, nil
	})
	return wgsl.Weights{Weight: weight, Bias: bias, Elem: w.elem, Packing: p}
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

// zeroed returns scratch of n zeros, in v's memory if it is large enough.
func zeroed[E any](v []E, n int) []E {
	if cap(v) < n {
		return make([]E, n)
	}
	v = v[:n]
	clear(v)
	return v
}

// Buffers returns the weights' buffers on the device.
func (w *Weights) Buffers() []*gpu.Buffer {
	var all []*gpu.Buffer
	for _, l := range w.loads {
		all = append(all, l.buffers...)
	}
	return all
}

// Bytes returns the size of all weights.
func (w *Weights) Bytes() int64 { return sum(w.Buffers()) }

// Make makes the missing weights on a device from tensors. It calls made with the buffers
// that were made together, once they are ready.
func (w *Weights) Make(ctx context.Context, on Target, from Tensors, missing map[*gpu.Buffer]bool, made func(buffers []*gpu.Buffer) error) error {
	u := &loadContext{ctx, on, from, &scratch{}, missing}
	for _, l := range w.loads {
		if err := ctx.Err(); err != nil {
			return failed(err)
		}
		if !slices.ContainsFunc(l.buffers, func(b *gpu.Buffer) bool { return missing[b] }) {
			continue
		}
		if err := l.put(u); err != nil {
			return err
		}
		if err := made(l.buffers); err != nil {
			return err
		}
	}
	return nil
}

// alloc allocates buffers.
func (u *loadContext) alloc(buffers ...*gpu.Buffer) error { return failed(u.dev.Alloc(buffers...)) }

// write fills a view with values stored as elem.
func (u *loadContext) write(to gpu.View, elem wgsl.Elem, v []float32) error {
	for part := range slices.Chunk(v, pieceBytes/4) {
		k := u.scratch
		k.raw = zeroed(k.raw, len(part)*elem.Bytes())
		Encode(k.raw, part, elem)
		if err := u.dev.Write(gpu.View{Buffer: to.Buffer, Offset: to.Offset}, k.raw); err != nil {
			return failed(err)
		}
		to.Offset += int64(len(k.raw))
	}
	return nil
}

// failed adds context to an error of the device.
func failed(err error) error {
	if err != nil {
		err = fmt.Errorf("engine: weights: %w", err)
	}
	return err
}

// pieceBytes is how many bytes of a weight are converted at once.
const pieceBytes = 1 << 20

// halves fills a buffer with halves, given as bits.
func (u *loadContext) halves(to *gpu.Buffer, v []uint16) error {
	offset := int64(0)
	for part := range slices.Chunk(v, pieceBytes/2) {
		k := u.scratch
		k.raw = zeroed(k.raw, (2*len(part)+3)&^3)
		for i, x := range part {
			k.raw[2*i], k.raw[2*i+1] = byte(x), byte(x>>8)
		}
		if err := u.dev.Write(gpu.View{Buffer: to, Offset: offset}, k.raw); err != nil {
			return failed(err)
		}
		offset += int64(len(k.raw))
	}
	return nil
}

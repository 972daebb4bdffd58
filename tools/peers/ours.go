package main

import (
	"context"
	"encoding/binary"
	"math"

	"tessera/gpu"
	"tessera/wgsl"
)

// side is our side of a case, on a device.
type side interface {
	once() error    // uploads the input, runs, and reads the output back
	lay() []float32 // returns the last output in the peers' order
	inPairs() bool  // whether it computes two frames at once
	close()
}

// ours is our side of an operation, recorded once, in f32.
type ours struct {
	dev      *gpu.Device
	set      *wgsl.Set
	batch    *gpu.Batch
	bufs     []*gpu.Buffer
	fills    map[*gpu.Buffer][]float32
	of       Case
	x, y     *gpu.Buffer
	winograd bool   // computes two frames at once
	in       []byte // in x's layout
	out      []byte // in y's layout
}

// newOurs records a case on a device, as the engine would for this adapter. With single
// it computes frames one by one instead of two at once.
func newOurs(dev *gpu.Device, c Case, n numbers, single bool) (*ours, error) {
	set, err := wgsl.NewSet(wgsl.F32, dev.Info(), nil)
	if err != nil {
		return nil, err
	}
	o := &ours{dev: dev, set: set, of: c, batch: &gpu.Batch{Label: c.String()}, fills: map[*gpu.Buffer][]float32{}}
	switch c.Op {
	case norm:
		o.norm(n)
	case attention:
		o.attention()
	default:
		o.conv(n, single)
	}
	if err := dev.Alloc(o.bufs...); err != nil {
		return nil, err
	}
	o.in, o.out = make([]byte, o.x.Size), make([]byte, o.y.Size)
	if c.Op == attention {
		o.layOutTokens(n.x)
	} else {
		o.layOut(n.x)
	}
	for b, v := range o.fills {
		if err := dev.Write(b.All(), encode(v)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *ours) inPairs() bool { return o.winograd }

func (o *ours) close() { o.dev.Free(o.bufs...) }

func (o *ours) buffer(label string, bytes int64) *gpu.Buffer {
	b := &gpu.Buffer{Label: label, Size: bytes}
	o.bufs = append(o.bufs, b)
	return b
}

func (o *ours) filled(label string, v []float32) *gpu.Buffer {
	b := o.buffer(label, int64(4*len(v)))
	o.fills[b] = v
	return b
}

func (o *ours) tensor(label string, frames, channels int) wgsl.Tensor {
	t := wgsl.Tensor{Elem: wgsl.F32, T: frames, H: o.of.H, W: o.of.W, C: channels}
	t.Buffer = o.buffer(label, t.Bytes())
	return t
}

// conv records a convolution with zero padding. The last frame is followed by a zero
// frame, which no causal network reads.
func (o *ours) conv(n numbers, single bool) {
	c, kt := o.of, o.of.taps()
	shape := wgsl.Shape{O: c.Out, I: c.In, KT: kt, KS: 3}
	packing := o.set.ConvPacking(shape, 1)
	packed := make([]float32, packing.Size(shape))
	wgsl.Pack(packing, packed, n.weight, shape, nil)
	weights := wgsl.Weights{Weight: o.filled("weight", packed), Bias: o.filled("bias", n.bias), Elem: wgsl.F32, Packing: packing}
	o.winograd = !single && c.T%2 == 0 && o.set.UsesWinograd(packing, shape)
	x, y := o.tensor("x", c.T+o.before()+kt/2, c.In), o.tensor("y", c.T, c.Out)
	o.x, o.y = x.Buffer, y.Buffer
	if o.winograd {
		o.set.Conv3DWinograd(o.batch, c.Op, o.set.WinogradOf(o.batch, c.Op, weights, x, y, o.set.WinogradFrames(shape, c.T), o.buffer))
		return
	}
	o.singles(wgsl.Conv3D{Weights: weights, KT: kt, Step: 1, Stride: 1, Y: y}, x)
}

// singles records frames one by one. Like the engine, it skips the taps before the
// first frame.
func (o *ours) singles(c wgsl.Conv3D, x wgsl.Tensor) {
	behind := c.KT / 2
	taps := []wgsl.Tap{{X: x, T: 0}, {X: x, T: 1}, {X: x, T: 2}}[:c.KT]
	if behind > 0 {
		c.Taps, c.N = taps[:c.KT-behind], behind
		o.set.Conv3D(o.batch, o.of.Op, c)
	}
	c.Taps, c.T, c.N = taps, behind, o.of.T-behind
	o.set.Conv3D(o.batch, o.of.Op, c)
}

// before returns the number of zero frames before x.
func (o *ours) before() int {
	if o.winograd {
		return 1
	}
	return 0
}

func (o *ours) norm(n numbers) {
	c := o.of
	x, y := o.tensor("x", c.T, c.In), o.tensor("y", c.T, c.In)
	o.x, o.y = x.Buffer, y.Buffer
	g := wgsl.GroupNorm{Gamma: o.filled("gamma", n.weight), Beta: o.filled("beta", n.bias), Groups: groups, Eps: eps, SiLU: true, X: x, Y: y, N: c.T}
	partials, factors := g.Scratch()
	g.Partials, g.Factors = o.buffer("partials", partials).All(), o.buffer("factors", factors).All()
	o.set.GroupNorm(o.batch, c.Op, g)
}

func (o *ours) attention() {
	c := o.of
	x, y := o.tensor("qkv", c.T, 3*c.In), o.tensor("o", c.T, c.In)
	o.x, o.y = x.Buffer, y.Buffer
	a := wgsl.Attention{QKV: x, O: y, N: c.T}
	scores, state, acc := a.Scratch()
	a.Scores, a.State, a.Acc = o.buffer("scores", scores).All(), o.buffer("state", state).All(), o.buffer("acc", acc).All()
	o.set.Attention(o.batch, c.Op, a)
}

// layOut writes [C, T, H, W] to o.in, channels last.
func (o *ours) layOut(x []float32) {
	c, pixels := o.of.In, o.of.pixels()
	to := o.in[4*o.before()*o.of.H*o.of.W*c:]
	for i, v := range x {
		binary.LittleEndian.PutUint32(to[4*(i%pixels*c+i/pixels):], math.Float32bits(v))
	}
}

// layOutTokens writes [3, tokens, C] to o.in: query, key and value of each token in
// sequence.
func (o *ours) layOutTokens(x []float32) {
	c, tokens := o.of.In, o.of.pixels()
	for i, v := range x {
		token, part := i/c%tokens, i/c/tokens
		binary.LittleEndian.PutUint32(o.in[4*((3*token+part)*c+i%c):], math.Float32bits(v))
	}
}

// lay returns the last output in the peers' order: [C, T, H, W], for attention [tokens,
// C].
func (o *ours) lay() []float32 {
	y, pixels := make([]float32, o.of.outputs()), o.of.pixels()
	for i := range y {
		at := i
		if o.of.Op != attention {
			at = i%pixels*o.of.Out + i/pixels
		}
		y[i] = math.Float32frombits(binary.LittleEndian.Uint32(o.out[4*at:]))
	}
	return y
}

// once uploads the input, runs, and reads the output back.
func (o *ours) once() error {
	ctx := context.Background()
	if err := o.dev.Write(o.x.All(), o.in); err != nil {
		return err
	}
	if err := o.dev.Submit(ctx, o.batch); err != nil {
		return err
	}
	return o.dev.Read(ctx, o.out, o.y.All())
}

func encode(v []float32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, v) // can't fail for []float32
	return b
}

func decode(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

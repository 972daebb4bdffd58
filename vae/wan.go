package vae

import (
	"fmt"

	"tessera/tiling"
	"tessera/wgsl"
)

// wanStage is residual blocks, then a sampler where there is one, and in Wan
// 2.2 a shortcut around all of it.
type wanStage struct {
	names    []string // of the blocks, as modules; or of the stage alone
	resnets  []*resnet
	sampler  *resample
	shortcut *shortcut
}

// Forward consumes x.
func (s *wanStage) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	var skip wgsl.Tensor
	if s.shortcut != nil {
		skip = s.shortcut.before(r, x)
	}
	last := len(s.names) - 1
	for i, b := range s.resnets {
		x = b.Forward(r, x)
		if i < last {
			r.mark(s.names[i], x)
		}
	}
	if s.sampler != nil {
		x = s.sampler.Forward(r, x)
	}
	if s.shortcut != nil {
		s.shortcut.after(r, skip, x)
	}
	r.mark(s.names[last], x)
	return x
}

func (s *wanStage) reach() int {
	n := 0
	for _, b := range s.resnets {
		n += b.reach()
	}
	return n
}

// newWanResnet is ResidualBlock.
func newWanResnet(l *loader, name string, cin, cout int) *resnet {
	b := &resnet{
		norm1: l.rmsNorm(name+".residual.0", cin, 3, true), conv1: newZeroConv(l, name+".residual.2", cin, cout),
		norm2: l.rmsNorm(name+".residual.3", cout, 3, true), conv2: newZeroConv(l, name+".residual.6", cout, cout),
	}
	if cin != cout {
		b.shortcut = &pointwise{name + ".shortcut", l.conv(name+".shortcut", cin, cout, 1, 1), cout}
	}
	return b
}

// newWanMid is the middle of either half: block, attention, block.
func newWanMid(l *loader, name string, c int) *midBlock {
	at := name + ".1"
	return &midBlock{
		resnets: [2]*resnet{newWanResnet(l, name+".0", c, c), newWanResnet(l, name+".2", c, c)},
		attention: &attention{
			name: at, norm: l.rmsNorm(at+".norm", c, 2, false),
			qkv: &pointwise{at + ".to_qkv", l.parts(at+".to_qkv", 3, c, c, 1, 1), 3 * wgsl.Pad4(c)},
			out: &pointwise{at + ".proj", l.conv2d(at+".proj", c, c, 1), c},
		},
	}
}

// wanHead is what every half ends with: norm, SiLU, convolution.
type wanHead struct {
	norm *rmsNorm
	conv *causalConv
}

func newWanHead(l *loader, name string, cin, cout int) *wanHead {
	return &wanHead{l.rmsNorm(name+".0", cin, 3, true), newZeroConv(l, name+".2", cin, cout)}
}

// Forward consumes x.
func (d *wanHead) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	h := d.norm.Forward(r, x)
	r.free(x)
	y := d.conv.Forward(r, h, nil)
	r.free(h)
	return y
}

// wanOuter is the part of a half that changes size: stem and stages of the
// encoder, stages and head of the decoder. A pixel of its output depends on the
// pixels around it only, as far as halo says.
type wanOuter struct {
	stem   *causalConv // encoder
	stages []*wanStage
	head   *wanHead // decoder
	patch  int
	pixel  int // channels of a pixel
}

// Forward consumes x. The encoder's pixels are patched already.
func (o *wanOuter) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	if o.stem != nil {
		h := o.stem.Forward(r, x, nil)
		r.free(x)
		x = h
		r.mark(o.stem.name, x)
	}
	for _, s := range o.stages {
		x = s.Forward(r, x)
	}
	if o.head == nil {
		return x
	}
	x = o.head.Forward(r, x)
	if o.patch == 1 {
		return x
	}
	y := r.tensor("unpatchify", x.T, o.patch*x.H, o.patch*x.W, o.pixel)
	most := r.atOnce(x, y)
	for t := 0; t < x.T; t += most {
		r.set.Unpatchify(r.batch, "unpatchify", x, t, y, t, min(most, x.T-t), o.patch)
	}
	r.free(x)
	return y
}

// halo follows a part of the output, of frames of size frame, back through the
// layers: in is the part of the input that it depends on, cut the windows by
// which the layers make no more than is needed further on. Pixels are those of
// the network, patches where there are such. part is where the wanted part lies
// in what the last stage makes, which in the encoder has no window.
func (o *wanOuter) halo(out tiling.Rect, frame tiling.Size) (in tiling.Rect, cut windows, part tiling.Rect) {
	at := out
	last := len(o.stages) - 1
	if o.head != nil {
		at = grown(out, o.head.conv.reach(), frame)
	}
	for i := last; i >= 0; i-- {
		s := o.stages[i]
		made := at
		if s.sampler != nil {
			if s.sampler.up {
				frame = tiling.Size{H: frame.H / 2, W: frame.W / 2}
			} else {
				frame = tiling.Size{H: frame.H * 2, W: frame.W * 2}
			}
			at = s.sampler.reads(made, frame)
		}
		reach := s.reach()
		if i == 0 && o.stem != nil {
			reach += o.stem.reach()
		}
		at = grown(at, reach, frame)
		if s.sampler != nil {
			cut[s.sampler.conv.window-1] = s.sampler.makes(made, at)
		}
		if i == last {
			part = tiling.Rect{Y0: out.Y0 - at.Y0, Y1: out.Y1 - at.Y0, X0: out.X0 - at.X0, X1: out.X1 - at.X0}
		}
	}
	if o.head != nil {
		cut[o.head.conv.window-1] = window{part.Y0, part.X0, part.Size().H, part.Size().W}
	}
	return at, cut, part
}

// wanInner is the rest of a half, in the latent's size: middle, head and
// quantisation of the encoder, quantisation, stem and middle of the decoder.
type wanInner struct {
	quant *pointwise
	stem  *causalConv // decoder
	mid   *midBlock
	head  *wanHead // encoder
}

// Forward consumes x.
func (n *wanInner) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	if n.stem != nil {
		q := n.quant.Forward(r, x, nil)
		r.free(x)
		r.mark(n.quant.name, q)
		x = n.stem.Forward(r, q, nil)
		r.free(q)
		r.mark(n.stem.name, x)
		return n.mid.Forward(r, x)
	}
	x = n.mid.Forward(r, x)
	x = n.head.Forward(r, x)
	y := n.quant.Forward(r, x, nil)
	r.free(x)
	r.mark(n.quant.name, y)
	return y
}

func newWanEncoder(l *loader, c Config, n *wanNames) *network {
	l.half = "encoder"
	o := &wanOuter{stem: newZeroConv(l, "encoder.conv1", c.Channels*c.Patch*c.Patch, c.Widths[0]), patch: c.Patch, pixel: c.Channels}
	in := c.Widths[0]
	for i, w := range c.Widths {
		o.stages = append(o.stages, newWanStage(l, c, n.encoder, i, in, w, w, c.Blocks, c.TimeDown, false))
		in = w
	}
	inner := &wanInner{mid: newWanMid(l, "encoder.middle", in), head: newWanHead(l, "encoder.head", in, 2*c.Latent)}
	inner.quant = &pointwise{"conv1", l.conv("conv1", 2*c.Latent, 2*c.Latent, 1, 1), 2 * c.Latent}
	return &network{half: l.half, all: series{o, inner}, outer: o, inner: inner, width: in}
}

func newWanDecoder(l *loader, c Config, n *wanNames) *network {
	l.half = "decoder"
	in := c.Decoder[0]
	inner := &wanInner{
		quant: &pointwise{"conv2", l.conv("conv2", c.Latent, c.Latent, 1, 1), c.Latent},
		stem:  newZeroConv(l, "decoder.conv1", c.Latent, in), mid: newWanMid(l, "decoder.middle", in),
	}
	o := &wanOuter{patch: c.Patch, pixel: c.Channels}
	for i, w := range c.Decoder {
		out := w // of the sampler
		if c.Family == Wan21 {
			out = w / 2
		}
		o.stages = append(o.stages, newWanStage(l, c, n.decoder, i, in, w, out, c.Blocks+1, c.TimeUp, true))
		in = out
	}
	o.head = newWanHead(l, "decoder.head", c.Decoder[len(c.Decoder)-1], c.Channels*c.Patch*c.Patch)
	o.head.conv.window = len(o.stages)
	return &network{half: l.half, all: series{inner, o}, outer: o, inner: inner, width: c.Decoder[0]}
}

// newWanStage makes stage i of cin channels: w between its blocks, out after its
// sampler, where time has one.
func newWanStage(l *loader, c Config, name func(i, r int) string, i, cin, w, out, blocks int, time []bool, up bool) *wanStage {
	s := &wanStage{}
	for b := range blocks {
		s.resnets = append(s.resnets, newWanResnet(l, name(i, b), cin, w))
		s.names = append(s.names, name(i, b))
		cin = w
	}
	if i < len(time) {
		s.sampler = newResample(l, name(i, blocks), w, out, up, time[i], i+1)
		s.names = append(s.names, name(i, blocks))
	}
	if c.Family != Wan22 {
		return s
	}
	half := "encoder.downsamples"
	if up {
		half = "decoder.upsamples"
	}
	s.names = []string{fmt.Sprintf("%s.%d", half, i)}
	if s.sampler != nil || !up { // the decoder's last stage has none
		s.shortcut = &shortcut{s.names[0] + ".avg_shortcut", w, s.sampler}
	}
	return s
}

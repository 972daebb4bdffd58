package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/tiling"
)

// hunyuan15Family is the VAE of HunyuanVideo 1.5: hunyuanvideo_15_vae.py.
var hunyuan15Family = family{
	name:      hunyuan15,
	marks:     []mark{{hunyuan15Key, "HunyuanVideo 1.5"}, {hunyuan15DiffusersKey, "the same from diffusers"}},
	encoders:  []string{hunyuan15EncoderKey, hunyuan15DiffusersEncoderKey},
	told:      isHunyuan15,
	config:    configureHunyuan15,
	published: publishedHunyuan15,
	encoder:   newHunyuan15Encoder,
	decoder:   newHunyuan15Decoder,

	tilings:       []Tiling{Exact, Feather, Diffusers}, // it norms pixel by pixel
	first:         func(step int) int { return 1 + step },
	beyond:        mirrored,
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	classes:       []string{"AutoencoderKLHunyuanVideo15"},
}

// hunyuan15Parts is a network of two. All but the attention looks at pixels around and at
// two frames before; the attention, in the inner part, sees all frames so far.
type hunyuan15Parts struct {
	outer *hunyuan15Outer
	inner engine.Series
	width int
}

func (p *hunyuan15Parts) Inner() engine.Module { return p.inner }
func (p *hunyuan15Parts) Outer() engine.Module { return p.outer }
func (p *hunyuan15Parts) Width() int           { return p.width }

func (p *hunyuan15Parts) Halo(out tiling.Rect, frame tiling.Size) (tiling.Rect, engine.Windows, tiling.Rect) {
	return p.outer.halo(out, frame)
}

// hunyuan15Outer changes size: conv_in and stages of the encoder, stages, norm_out and
// conv_out of the decoder.
type hunyuan15Outer struct {
	stem   *engine.Conv // encoder
	stages []*hunyuan15Stage
	head   *head // decoder
}

// Forward is the part's output.
func (o *hunyuan15Outer) Forward(g *engine.Graph, x engine.Value) engine.Value {
	all := &stages{}
	for _, s := range o.stages {
		all.all = append(all.all, stage{before: engine.Series{}, after: s, frames: s.frames})
	}
	if o.stem != nil {
		all.start = o.stem
	} else {
		all.end = o.head
	}
	return all.Forward(g, x)
}

// halo follows a part of the output, of frames of size frame, back through the layers, as
// wanOuter's does.
func (o *hunyuan15Outer) halo(out tiling.Rect, frame tiling.Size) (in tiling.Rect, windows engine.Windows, part tiling.Rect) {
	at, last := out, len(o.stages)-1
	windows = engine.Windows{}
	if o.head != nil {
		at = grown(out, o.head.conv.Reach(), frame)
	}
	for i := last; i >= 0; i-- {
		s, made := o.stages[i], at
		reach := 0
		for _, b := range s.resnets {
			reach += b.Reach()
		}
		if i == 0 && o.stem != nil {
			reach += o.stem.Reach()
		}
		if s.sampler != nil {
			frame, at = s.sampler.before(frame, made)
			reach += s.sampler.conv.Reach()
		}
		at = grown(at, reach, frame)
		if s.sampler != nil {
			windows[s.sampler.name] = s.sampler.window(made, at)
		}
		if i == last {
			part = tiling.Rect{Y0: out.Y0 - at.Y0, Y1: out.Y1 - at.Y0, X0: out.X0 - at.X0, X1: out.X1 - at.X0}
		}
	}
	if o.head != nil {
		windows[o.head.conv.Name] = engine.Window{Y: part.Y0, X: part.X0, H: part.Size().H, W: part.Size().W}
	}
	return at, windows, part
}

// hunyuan15Stage is residual blocks, then a sampler where there is one.
type hunyuan15Stage struct {
	name    string
	resnets []*resnet
	sampler *hunyuan15Sampler
	frames  int // of the clip that the stage makes one of, after the first; in the encoder
}

// Forward is the stage's output.
func (s *hunyuan15Stage) Forward(g *engine.Graph, x engine.Value) engine.Value {
	for _, b := range s.resnets {
		x = b.Forward(g, x)
	}
	if s.sampler != nil {
		x = s.sampler.Forward(g, x)
	}
	g.Mark(s.name, x)
	return x
}

// hunyuan15Sampler is Downsample and Upsample: a convolution whose blocks of pixels become
// channels, or the other way round, plus the input's, in means or repeated.
type hunyuan15Sampler struct {
	name string
	conv *engine.Conv
	down *engine.SpaceToDepth // one of them is nil
	up   *engine.DepthToSpace
}

// Forward is x in the other size.
func (s *hunyuan15Sampler) Forward(g *engine.Graph, x engine.Value) engine.Value {
	y := s.conv.Forward(g, x)
	if s.down != nil {
		return s.down.Add(g, x, s.down.Forward(g, y))
	}
	return s.up.Add(g, x, s.up.Forward(g, y))
}

// before is the size of a frame of the input, and what a part of the output is made of.
func (s *hunyuan15Sampler) before(frame tiling.Size, made tiling.Rect) (tiling.Size, tiling.Rect) {
	if s.up != nil {
		return tiling.Size{H: frame.H / 2, W: frame.W / 2}, tiling.Rect{Y0: made.Y0 / 2, Y1: (made.Y1 + 1) / 2, X0: made.X0 / 2, X1: (made.X1 + 1) / 2}
	}
	return tiling.Size{H: 2 * frame.H, W: 2 * frame.W}, tiling.Rect{Y0: 2 * made.Y0, Y1: 2 * made.Y1, X0: 2 * made.X0, X1: 2 * made.X1}
}

// window is the part of the output that is made of the input in, both places in their
// frames.
func (s *hunyuan15Sampler) window(made, in tiling.Rect) engine.Window {
	w := engine.Window{Y: made.Y0 - 2*in.Y0, X: made.X0 - 2*in.X0, H: made.Size().H, W: made.Size().W}
	if s.down != nil {
		w.Y, w.X = 2*made.Y0-in.Y0, 2*made.X0-in.X0
	}
	return w
}

// newHunyuan15Encoder is Encoder, of which the first channels are the mean.
func newHunyuan15Encoder(l *loader, c Config) *engine.Network {
	o := &hunyuan15Outer{stem: l.hunyuanConv("encoder.conv_in", c.Channels, c.Widths[0], causal(engine.Repeated), 1)}
	frames := 1
	for i, w := range c.Widths {
		s := newHunyuan15Stage(l, fmt.Sprintf("encoder.down.%d", i), c.Blocks, w)
		if i < len(c.TimeDown) {
			time := 1
			if c.TimeDown[i] {
				time = 2
				frames *= 2
			}
			name, out := s.name+".downsample", c.Widths[i+1]
			s.sampler = &hunyuan15Sampler{name: name, conv: l.hunyuanConv(name+".conv", w, out/(4*time), causal(engine.Repeated), 1)}
			s.sampler.down = &engine.SpaceToDepth{Name: name, Out: out, Time: time, Side: 2}
		}
		s.frames = frames
		o.stages = append(o.stages, s)
	}
	in := c.Widths[len(c.Widths)-1]
	end := &hunyuan15Moments{newHunyuan15Head(l, "encoder", in, 2*c.Latent)}
	p := &hunyuan15Parts{outer: o, inner: engine.Series{newHunyuan15Mid(l, "encoder.mid", in), end}, width: in}
	return &engine.Network{Name: "encoder", Whole: engine.Series{p.outer, p.inner}, Parts: p, Joint: true}
}

// hunyuan15Moments is norm_out, SiLU and conv_out, plus means of the input's channels.
type hunyuan15Moments struct{ *head }

// Forward is the network's output.
func (m *hunyuan15Moments) Forward(g *engine.Graph, x engine.Value) engine.Value {
	conv := m.conv
	n := g.Outputs(conv.Out)
	means := &engine.SpaceToDepth{Name: conv.Name + " means", Out: n, Time: 1, Side: 1, Means: x.C / conv.Out}
	skip := means.Forward(g, x) // first, so that the norm is in place
	return conv.First(n).Add(g, m.norm.Forward(g, x), skip)
}

// newHunyuan15Decoder is Decoder.
func newHunyuan15Decoder(l *loader, c Config) *engine.Network {
	in := c.Decoder[0]
	start := &hunyuan15Start{l.hunyuanConv("decoder.conv_in", c.Latent, in, causal(engine.Repeated), 1)}
	o := &hunyuan15Outer{}
	for i, w := range c.Decoder {
		s := newHunyuan15Stage(l, fmt.Sprintf("decoder.up.%d", i), c.Blocks+1, w)
		if i < len(c.TimeUp) {
			time := 1
			if c.TimeUp[i] {
				time = 2
			}
			name, out := s.name+".upsample", c.Decoder[i+1]
			s.sampler = &hunyuan15Sampler{name: name, conv: l.hunyuanConv(name+".conv", w, 4*time*out, causal(engine.Repeated), 1)}
			s.sampler.up = &engine.DepthToSpace{Name: name, Out: out, Time: time, Side: 2}
		}
		o.stages = append(o.stages, s)
	}
	o.head = newHunyuan15Head(l, "decoder", c.Decoder[len(c.Decoder)-1], c.Channels)
	p := &hunyuan15Parts{outer: o, inner: engine.Series{start, newHunyuan15Mid(l, "decoder.mid", in)}, width: in}
	return &engine.Network{Name: "decoder", Whole: engine.Series{p.inner, p.outer}, Parts: p, Joint: true}
}

// hunyuan15Start is conv_in, plus the latent's channels repeated.
type hunyuan15Start struct{ conv *engine.Conv }

// Forward is the decoder's first activation.
func (s *hunyuan15Start) Forward(g *engine.Graph, x engine.Value) engine.Value {
	repeats := &engine.DepthToSpace{Name: s.conv.Name + " repeats", Out: s.conv.Out, Time: 1, Side: 1}
	return repeats.Add(g, x, s.conv.Forward(g, x))
}

// newHunyuan15Stage is residual blocks.
func newHunyuan15Stage(l *loader, name string, blocks, c int) *hunyuan15Stage {
	s := &hunyuan15Stage{name: name}
	for i := range blocks {
		s.resnets = append(s.resnets, newHunyuan15Resnet(l, fmt.Sprintf("%s.block.%d", name, i), c))
	}
	return s
}

// newHunyuan15Resnet is ResnetBlock, whose channels stay.
func newHunyuan15Resnet(l *loader, name string, c int) *resnet {
	return &resnet{
		norm1: l.rmsNorm(name+".norm1", c, 3, true), conv1: l.hunyuanConv(name+".conv1", c, c, causal(engine.Repeated), 1),
		norm2: l.rmsNorm(name+".norm2", c, 3, true), conv2: l.hunyuanConv(name+".conv2", c, c, causal(engine.Repeated), 1),
	}
}

// newHunyuan15Mid is the middle of either network. Its attention sees the frames before,
// as the authors' does; ComfyUI's sees those to come, too.
func newHunyuan15Mid(l *loader, name string, c int) *midBlock {
	at := name + ".attn_1"
	m := &midBlock{before: newHunyuan15Resnet(l, name+".block_1", c), after: newHunyuan15Resnet(l, name+".block_2", c)}
	m.attention = &attention{
		norm: l.rmsNorm(at+".norm", c, 1, false), // tensors.flat leaves one of three
		qkv:  l.queries(at+".qkv", []string{at + ".q", at + ".k", at + ".v"}, c),
		core: &engine.Attention{Name: at, Out: c, Past: true},
		out:  l.pointwise(at+".proj_out", c, c, 0),
	}
	return m
}

// newHunyuan15Head is norm_out, SiLU and conv_out.
func newHunyuan15Head(l *loader, name string, cin, cout int) *head {
	return &head{l.rmsNorm(name+".norm_out", cin, 3, true), l.hunyuanConv(name+".conv_out", cin, cout, causal(engine.Repeated), 1)}
}

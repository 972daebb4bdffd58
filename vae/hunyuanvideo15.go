package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/latent"
	"tessera/tiling"
)

// hunyuan15Family is the VAE of HunyuanVideo 1.5: hunyuanvideo_15_vae.py.
var hunyuan15Family = family{
	name:      hunyuan15,
	marks:     []string{hunyuan15Key, hunyuan15DiffusersKey},
	encoders:  []string{hunyuan15EncoderKey, hunyuan15DiffusersEncoderKey},
	told:      isHunyuan15,
	config:    configureHunyuan15,
	published: &publishedHunyuan15,
	encoder:   newHunyuan15Encoder,
	decoder:   newHunyuan15Decoder,

	tilings:       []Tiling{Exact, Feather, Diffusers}, // norms act per pixel
	first:         func(step int) int { return 1 + step },
	beyond:        mirrored,
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	caches:        []cache{{"musubi-tuner", "HunyuanVideo 1.5", latent.ScaleNone, "hunyuan_video_1_5"}}, // hv_1_5_cache_latents.py
	classes:       []string{"AutoencoderKLHunyuanVideo15", "AutoencoderKLConv3D"},
}

// hunyuan15Sampler is Downsample and Upsample: a convolution whose blocks of pixels
// become channels, or the reverse, plus the rearranged input, averaged or repeated.
type hunyuan15Sampler struct {
	name string
	conv *engine.Conv
	down *engine.SpaceToDepth // one is nil
	up   *engine.DepthToSpace
}

// Forward returns x at the other size.
func (s *hunyuan15Sampler) Forward(g *engine.Graph, x engine.Value) engine.Value {
	y := s.conv.Forward(g, x)
	if s.down != nil {
		return s.down.Add(g, x, s.down.Forward(g, y))
	}
	return s.up.Add(g, x, s.up.Forward(g, y))
}

func (s *hunyuan15Sampler) layer() string { return s.name }

func (s *hunyuan15Sampler) before(frame tiling.Size) tiling.Size {
	if s.up != nil {
		return tiling.Size{H: frame.H / 2, W: frame.W / 2}
	}
	return tiling.Size{H: 2 * frame.H, W: 2 * frame.W}
}

func (s *hunyuan15Sampler) reads(out tiling.Rect, frame tiling.Size) tiling.Rect {
	in := multiplied(out, 2)
	if s.up != nil {
		in = tiling.Rect{Y0: out.Y0 / 2, Y1: (out.Y1 + 1) / 2, X0: out.X0 / 2, X1: (out.X1 + 1) / 2}
	}
	return grown(in, s.conv.Reach(), frame)
}

func (s *hunyuan15Sampler) makes(out, in tiling.Rect) engine.Window {
	w := engine.Window{Y: out.Y0 - 2*in.Y0, X: out.X0 - 2*in.X0, H: out.Size().H, W: out.Size().W}
	if s.down != nil {
		w.Y, w.X = 2*out.Y0-in.Y0, 2*out.X0-in.X0
	}
	return w
}

// newHunyuan15Encoder builds Encoder, whose first output channels are the mean.
func newHunyuan15Encoder(l *loader, c Config) *engine.Network {
	o := &outerPart{stem: l.hunyuanConv("encoder.conv_in", c.Channels, c.Widths[0], causal(engine.Repeated), 1)}
	frames := 1
	for i, w := range c.Widths {
		s := newHunyuan15Stage(l, fmt.Sprintf("encoder.down.%d", i), c.Blocks, w)
		if i < len(c.TimeDown) {
			time := 1
			if c.TimeDown[i] {
				time = 2
				frames *= 2
			}
			name, out := s.names[0]+".downsample", c.Widths[i+1]
			s.sampler = &hunyuan15Sampler{
				name: name, conv: l.hunyuanConv(name+".conv", w, out/(4*time), causal(engine.Repeated), 1),
				down: &engine.SpaceToDepth{Name: name, Out: out, Time: time, Side: 2},
			}
		}
		s.frames = frames
		o.stages = append(o.stages, s)
	}
	in := c.Widths[len(c.Widths)-1]
	end := &hunyuan15Moments{newHunyuan15Head(l, "encoder", in, 2*c.Latent)}
	p := &twoParts{outerPart: o, inner: engine.Series{newHunyuan15Mid(l, "encoder.mid", in), end}, width: in}
	return &engine.Network{Name: "encoder", Whole: engine.Series{o, p.inner}, Parts: p, Joint: true}
}

// hunyuan15Moments is norm_out, SiLU and conv_out, plus means of the input's channels.
type hunyuan15Moments struct{ *head }

// Forward returns the network's output.
func (m *hunyuan15Moments) Forward(g *engine.Graph, x engine.Value) engine.Value {
	conv := m.conv
	n := g.Outputs(conv.Out)
	means := &engine.SpaceToDepth{Name: conv.Name + " means", Out: n, Time: 1, Side: 1, Means: x.C / conv.Out}
	skip := means.Forward(g, x) // first, so that the norm can overwrite x
	return conv.First(n).Add(g, m.norm.Forward(g, x), skip)
}

// newHunyuan15Decoder builds Decoder.
func newHunyuan15Decoder(l *loader, c Config) *engine.Network {
	in := c.Decoder[0]
	start := &hunyuan15Start{l.hunyuanConv("decoder.conv_in", c.Latent, in, causal(engine.Repeated), 1)}
	o := &outerPart{}
	for i, w := range c.Decoder {
		s := newHunyuan15Stage(l, fmt.Sprintf("decoder.up.%d", i), c.Blocks+1, w)
		if i < len(c.TimeUp) {
			time := 1
			if c.TimeUp[i] {
				time = 2
			}
			name, out := s.names[0]+".upsample", c.Decoder[i+1]
			s.sampler = &hunyuan15Sampler{
				name: name, conv: l.hunyuanConv(name+".conv", w, 4*time*out, causal(engine.Repeated), 1),
				up: &engine.DepthToSpace{Name: name, Out: out, Time: time, Side: 2},
			}
		}
		o.stages = append(o.stages, s)
	}
	o.head = newHunyuan15Head(l, "decoder", c.Decoder[len(c.Decoder)-1], c.Channels)
	p := &twoParts{outerPart: o, inner: engine.Series{start, newHunyuan15Mid(l, "decoder.mid", in)}, width: in}
	return &engine.Network{Name: "decoder", Whole: engine.Series{p.inner, o}, Parts: p, Joint: true}
}

// hunyuan15Start is conv_in, plus the latent's channels repeated.
type hunyuan15Start struct{ conv *engine.Conv }

// Forward returns the decoder's first activation.
func (s *hunyuan15Start) Forward(g *engine.Graph, x engine.Value) engine.Value {
	repeats := &engine.DepthToSpace{Name: s.conv.Name + " repeats", Out: s.conv.Out, Time: 1, Side: 1}
	return repeats.Add(g, x, s.conv.Forward(g, x))
}

// newHunyuan15Stage builds residual blocks.
func newHunyuan15Stage(l *loader, name string, blocks, c int) *outerStage {
	s := &outerStage{names: []string{name}}
	for i := range blocks {
		s.resnets = append(s.resnets, newHunyuan15Resnet(l, fmt.Sprintf("%s.block.%d", name, i), c))
	}
	return s
}

// newHunyuan15Resnet builds ResnetBlock with equal numbers of input and output channels.
func newHunyuan15Resnet(l *loader, name string, c int) *resnet {
	return &resnet{
		norm1: l.rmsNorm(name+".norm1", c, 3, true), conv1: l.hunyuanConv(name+".conv1", c, c, causal(engine.Repeated), 1),
		norm2: l.rmsNorm(name+".norm2", c, 3, true), conv2: l.hunyuanConv(name+".conv2", c, c, causal(engine.Repeated), 1),
	}
}

// newHunyuan15Mid builds the middle of either network. Its attention sees earlier frames,
// as in the authors' code; ComfyUI's also sees later ones.
func newHunyuan15Mid(l *loader, name string, c int) *midBlock {
	at := name + ".attn_1"
	m := &midBlock{before: newHunyuan15Resnet(l, name+".block_1", c), after: newHunyuan15Resnet(l, name+".block_2", c)}
	m.attention = &attention{
		norm: l.rmsNorm(at+".norm", c, 1, false), // tensors.flat leaves one of its three ones
		qkv:  l.queries(at+".qkv", []string{at + ".q", at + ".k", at + ".v"}, c),
		core: &engine.Attention{Name: at, Out: c, Past: true},
		out:  l.pointwise(at+".proj_out", c, c, 0),
	}
	return m
}

// newHunyuan15Head builds norm_out, SiLU and conv_out.
func newHunyuan15Head(l *loader, name string, cin, cout int) *head {
	return &head{l.rmsNorm(name+".norm_out", cin, 3, true), l.hunyuanConv(name+".conv_out", cin, cout, causal(engine.Repeated), 1)}
}

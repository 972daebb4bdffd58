package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/format"
)

// seedVR2Family is the VAE of SeedVR2: attn_video_vae.py.
var seedVR2Family = family{
	name:      "seedvr2",
	marks:     []mark{{seedVR2Key, "SeedVR2"}},
	told:      func(f format.File) bool { _, ok := f.Tensor(seedVR2Key); return ok },
	config:    configureSeedVR2,
	published: publishedSeedVR2,
	encoder:   newSeedVR2Encoder,
	decoder:   newSeedVR2Decoder,

	tilings:  []Tiling{Feather}, // a group norm sees all of a tile
	first:    func(step int) int { return 1 + step },
	beyond:   mirrored,
	previews: true,
}

// seedVR2Eps is that of every group norm (yaml: norm_eps).
const seedVR2Eps = 1e-6

// seedVR2 is one direction: Encoder3D or Decoder3D. The mid block comes last in
// the encoder, first in the decoder.
type seedVR2 struct {
	name    string // "encoder" or "decoder"
	blocks  string // what its stages are called
	convIn  *engine.Conv
	before  *midBlock // decoder
	stages  []*seedVR2Stage
	after   *midBlock // encoder
	normOut *engine.GroupNorm
	convOut *engine.Conv
}

// Forward is the network's output.
func (n *seedVR2) Forward(g *engine.Graph, x engine.Value) engine.Value {
	marked := func(name string, v engine.Value) engine.Value {
		g.Mark(n.name+"."+name, v)
		return v
	}
	x = marked("conv_in", n.convIn.Forward(g, x))
	if n.before != nil {
		x = marked("mid_block", n.before.Forward(g, x))
	}
	for i, s := range n.stages {
		x = marked(fmt.Sprintf("%s.%d", n.blocks, i), s.Forward(g, x))
	}
	if n.after != nil {
		x = marked("mid_block", n.after.Forward(g, x))
	}
	x = marked("conv_act", n.normOut.Forward(g, x))
	return marked("conv_out", n.convOut.First(g.Outputs(n.convOut.Out)).Forward(g, x))
}

// seedVR2Stage is DownEncoderBlock3D or UpDecoderBlock3D: residual blocks, then
// a sampler where there is one.
type seedVR2Stage struct {
	resnets []*resnet
	sampler layer // nil for none
}

// Forward is the stage's output.
func (s *seedVR2Stage) Forward(g *engine.Graph, x engine.Value) engine.Value {
	for _, b := range s.resnets {
		x = b.Forward(g, x)
	}
	if s.sampler != nil {
		x = s.sampler.Forward(g, x)
	}
	return x
}

func newSeedVR2Encoder(l *loader, c Config) *engine.Network {
	n := &seedVR2{name: "encoder", blocks: "down_blocks", convIn: l.conv("encoder.conv_in", c.Channels, c.Widths[0], causal(engine.Repeated), 1)}
	in := c.Widths[0]
	for i, w := range c.Widths {
		name := fmt.Sprintf("encoder.down_blocks.%d", i)
		s := newSeedVR2Stage(l, name, c.Blocks, in, w)
		if i < len(c.TimeDown) {
			time := engine.Causal{Kernel: 1}
			if c.TimeDown[i] {
				time = engine.Causal{Kernel: 3, Step: 2}
			}
			s.sampler = l.conv(name+".downsamplers.0.conv", w, w, time, 2)
		}
		n.stages = append(n.stages, s)
		in = w
	}
	n.after = newSeedVR2Mid(l, "encoder.mid_block", in)
	n.normOut = l.groupNorm("encoder.conv_norm_out", in, seedVR2Eps, true)
	n.convOut = l.conv("encoder.conv_out", in, 2*c.Latent, causal(engine.Repeated), 1)
	return &engine.Network{Name: n.name, Whole: n}
}

func newSeedVR2Decoder(l *loader, c Config) *engine.Network {
	in := c.Decoder[0]
	n := &seedVR2{name: "decoder", blocks: "up_blocks", convIn: l.conv("decoder.conv_in", c.Latent, in, causal(engine.Repeated), 1)}
	n.before = newSeedVR2Mid(l, "decoder.mid_block", in)
	for i, w := range c.Decoder {
		name := fmt.Sprintf("decoder.up_blocks.%d", i)
		s := newSeedVR2Stage(l, name, c.Blocks+1, in, w)
		if i < len(c.TimeUp) {
			phases := 1
			if c.TimeUp[i] {
				phases = 2
			}
			s.sampler = newSeedVR2Upsampler(l, name+".upsamplers.0", w, phases)
		}
		n.stages = append(n.stages, s)
		in = w
	}
	n.normOut = l.groupNorm("decoder.conv_norm_out", in, seedVR2Eps, true)
	n.convOut = l.conv("decoder.conv_out", in, c.Channels, causal(engine.Repeated), 1)
	return &engine.Network{Name: n.name, Whole: n}
}

func newSeedVR2Stage(l *loader, name string, blocks, cin, cout int) *seedVR2Stage {
	s := &seedVR2Stage{}
	for i := range blocks {
		s.resnets = append(s.resnets, newSeedVR2Resnet(l, fmt.Sprintf("%s.resnets.%d", name, i), cin, cout))
		cin = cout
	}
	return s
}

// newSeedVR2Upsampler is Upsample3D: a 1x1x1 convolution, the pixel shuffle,
// then a causal convolution.
func newSeedVR2Upsampler(l *loader, name string, c, phases int) engine.Module {
	return l.upsample(name, name+".upscale_conv", name+".conv", c, phases)
}

// newSeedVR2Resnet is ResnetBlock3D.
func newSeedVR2Resnet(l *loader, name string, cin, cout int) *resnet {
	b := &resnet{
		norm1: l.groupNorm(name+".norm1", cin, seedVR2Eps, true), conv1: l.conv(name+".conv1", cin, cout, causal(engine.Repeated), 1),
		norm2: l.groupNorm(name+".norm2", cout, seedVR2Eps, true), conv2: l.conv(name+".conv2", cout, cout, causal(engine.Repeated), 1),
	}
	if cin != cout {
		b.shortcut = l.pointwise(name+".conv_shortcut", cin, cout, 3)
	}
	return b
}

// newSeedVR2Mid is UNetMidBlock3D.
func newSeedVR2Mid(l *loader, name string, c int) *midBlock {
	at := name + ".attentions.0"
	m := &midBlock{before: newSeedVR2Resnet(l, name+".resnets.0", c, c), after: newSeedVR2Resnet(l, name+".resnets.1", c, c)}
	m.attention = &attention{
		norm: l.groupNorm(at+".group_norm", c, seedVR2Eps, false),
		qkv:  l.queries(at+".to_qkv", []string{at + ".to_q", at + ".to_k", at + ".to_v"}, c),
		core: &engine.Attention{Name: at, Out: c},
		out:  l.pointwise(at+".to_out.0", c, c, 0),
	}
	return m
}

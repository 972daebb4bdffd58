package vae

import (
	"fmt"

	"tessera/engine"
)

// seedVR2Family is the VAE of SeedVR2: attn_video_vae.py.
var seedVR2Family = family{
	name:      "seedvr2",
	marks:     []string{seedVR2Key},
	encoders:  []string{seedVR2EncoderKey},
	told:      isSeedVR2,
	config:    configureSeedVR2,
	published: &publishedSeedVR2,
	encoder:   newSeedVR2Encoder,
	decoder:   newSeedVR2Decoder,

	tilings:     []Tiling{Feather}, // a group norm spans the whole tile
	first:       func(step int) int { return 1 + step },
	beyond:      mirrored,
	previews:    true,
	comfyFolded: true,
}

// seedVR2Eps is the eps of every group norm (yaml: norm_eps).
const seedVR2Eps = 1e-6

// newSeedVR2Encoder builds Encoder3D.
func newSeedVR2Encoder(l *loader, c Config) *engine.Network {
	s := &stages{start: &marked{name: "encoder.conv_in", layer: l.conv("encoder.conv_in", c.Channels, c.Widths[0], causal(engine.Repeated), 1)}}
	in, frames := c.Widths[0], 1
	for i, w := range c.Widths {
		name := fmt.Sprintf("encoder.down_blocks.%d", i)
		at := newSeedVR2Stage(l, name, c.Blocks, in, w)
		if i < len(c.TimeDown) {
			time := engine.Causal{Kernel: 1}
			if c.TimeDown[i] {
				frames *= 2
				time = engine.Causal{Kernel: 3, Step: 2}
			}
			at.after = &marked{name: name, layer: l.conv(name+".downsamplers.0.conv", w, w, time, 2)}
		}
		at.frames = frames
		s.all = append(s.all, at)
		in = w
	}
	mid := &marked{name: "encoder.mid_block", layer: newSeedVR2Mid(l, "encoder.mid_block", in)}
	return &engine.Network{Name: "encoder", Whole: engine.Series{s, mid, newSeedVR2End(l, "encoder", in, 2*c.Latent)}}
}

// newSeedVR2Decoder builds Decoder3D.
func newSeedVR2Decoder(l *loader, c Config) *engine.Network {
	in := c.Decoder[0]
	start := &marked{name: "decoder.conv_in", layer: l.conv("decoder.conv_in", c.Latent, in, causal(engine.Repeated), 1)}
	mid := &marked{name: "decoder.mid_block", layer: newSeedVR2Mid(l, "decoder.mid_block", in)}
	s := &stages{}
	for i, w := range c.Decoder {
		name := fmt.Sprintf("decoder.up_blocks.%d", i)
		at := newSeedVR2Stage(l, name, c.Blocks+1, in, w)
		if i < len(c.TimeUp) {
			phases := 1
			if c.TimeUp[i] {
				phases = 2
			}
			at.after = &marked{name: name, layer: newSeedVR2Upsampler(l, name+".upsamplers.0", w, phases)}
		}
		s.all = append(s.all, at)
		in = w
	}
	s.end = newSeedVR2End(l, "decoder", in, c.Channels)
	return &engine.Network{Name: "decoder", Whole: engine.Series{start, mid, s}}
}

// newSeedVR2Stage builds DownEncoderBlock3D or UpDecoderBlock3D: residual blocks, with
// room for a sampler.
func newSeedVR2Stage(l *loader, name string, blocks, cin, cout int) stage {
	var all engine.Series
	for i := range blocks {
		all = append(all, newSeedVR2Resnet(l, fmt.Sprintf("%s.resnets.%d", name, i), cin, cout))
		cin = cout
	}
	return stage{before: all, after: &marked{name: name, layer: engine.Series{}}}
}

// newSeedVR2End builds the end of either network.
func newSeedVR2End(l *loader, name string, cin, cout int) layer {
	norm := &marked{name: name + ".conv_act", layer: l.groupNorm(name+".conv_norm_out", cin, seedVR2Eps, true)}
	return engine.Series{norm, &marked{name: name + ".conv_out", layer: &outputs{l.conv(name+".conv_out", cin, cout, causal(engine.Repeated), 1)}}}
}

// outputs is a network's last convolution, which computes only the wanted outputs.
type outputs struct{ conv *engine.Conv }

// Forward returns the network's output.
func (o *outputs) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return o.conv.First(g.Outputs(o.conv.Out)).Forward(g, x)
}

// newSeedVR2Upsampler builds Upsample3D: a 1x1x1 convolution, the pixel shuffle, then a
// causal convolution.
func newSeedVR2Upsampler(l *loader, name string, c, phases int) engine.Module {
	return l.upsample(name, name+".upscale_conv", name+".conv", c, phases)
}

// newSeedVR2Resnet builds ResnetBlock3D.
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

// newSeedVR2Mid builds UNetMidBlock3D.
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

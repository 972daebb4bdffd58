package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/latent"
)

// hunyuanImageFamily is the VAE of HunyuanImage 2.1: autoencoder_kl_hunyuanimage.py of
// diffusers. Blocks and middle are AutoencoderKL's; samplers and ends are HunyuanVideo
// 1.5's, for single frames. It encodes pictures.
var hunyuanImageFamily = family{
	name:      hunyuanImage,
	marks:     []string{hunyuanImageKey, hunyuanImageDiffusersKey},
	encoders:  []string{hunyuanImageEncoderKey, hunyuanImageDiffusersEncoderKey},
	told:      isHunyuanImage,
	config:    configureHunyuanImage,
	published: &publishedHunyuanImage,
	encoder:   newHunyuanImageEncoder,
	decoder:   newHunyuanImageDecoder,

	tilings:       []Tiling{Feather, Diffusers}, // a group norm spans the whole tile
	first:         func(step int) int { return step },
	beyond:        func(t, _, _ int) int { return t },
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	caches:        []cache{{"sd-scripts", "HunyuanImage 2.1", latent.ScaleNone, "hi"}}, // library/strategy_hunyuan_image.py
	classes:       []string{"AutoencoderKLHunyuanImage", "HunyuanVAE2D"},
}

// newHunyuanImageEncoder builds Encoder, whose first output channels are the mean.
func newHunyuanImageEncoder(l *loader, c Config) *engine.Network {
	s := &stages{start: &marked{name: "encoder.conv_in", layer: l.conv2d("encoder.conv_in", c.Channels, c.Widths[0], 1)}}
	for i, w := range c.Widths {
		name := fmt.Sprintf("encoder.down.%d", i)
		at := newKLStage(l, name, c.Blocks, w, w)
		if at.frames = 1; i < len(c.Widths)-1 {
			name, out := name+".downsample", c.Widths[i+1]
			down := &engine.SpaceToDepth{Name: name, Out: out, Time: 1, Side: 2}
			at.after = &marked{name: name, layer: &hunyuan15Sampler{name: name, conv: l.conv2d(name+".conv", w, out/4, 1), down: down}}
		}
		s.all = append(s.all, at)
	}
	in := c.Widths[len(c.Widths)-1]
	end := &hunyuan15Moments{newHunyuanImageHead(l, "encoder", in, 2*c.Latent)}
	return &engine.Network{Name: "encoder", Whole: engine.Series{s, newKLMid(l, "encoder.mid", in), end}}
}

// newHunyuanImageDecoder builds Decoder, which numbers stages from the smallest frames
// on.
func newHunyuanImageDecoder(l *loader, c Config) *engine.Network {
	in := c.Decoder[0]
	start := &hunyuan15Start{l.conv2d("decoder.conv_in", c.Latent, in, 1)}
	s := &stages{end: newHunyuanImageHead(l, "decoder", c.Decoder[len(c.Decoder)-1], c.Channels)}
	for i, w := range c.Decoder {
		name := fmt.Sprintf("decoder.up.%d", i)
		at := newKLStage(l, name, c.Blocks+1, w, w)
		if i < len(c.Decoder)-1 {
			name, out := name+".upsample", c.Decoder[i+1]
			up := &engine.DepthToSpace{Name: name, Out: out, Time: 1, Side: 2}
			at.after = &marked{name: name, layer: &hunyuan15Sampler{name: name, conv: l.conv2d(name+".conv", w, 4*out, 1), up: up}}
		}
		s.all = append(s.all, at)
	}
	return &engine.Network{Name: "decoder", Whole: engine.Series{start, newKLMid(l, "decoder.mid", in), s}}
}

// newHunyuanImageHead builds norm_out, SiLU and conv_out.
func newHunyuanImageHead(l *loader, name string, cin, cout int) *head {
	return &head{newKLNorm(l, name+".norm_out", cin, true), l.conv2d(name+".conv_out", cin, cout, 1)}
}

package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/latent"
)

// hunyuanFamily is the VAE of HunyuanVideo: autoencoder_kl_hunyuan_video.py of diffusers.
var hunyuanFamily = family{
	name:      hunyuan,
	marks:     []string{hunyuanKey, hunyuanLDMKey},
	encoders:  []string{hunyuanEncoderKey, hunyuanLDMEncoderKey},
	told:      isHunyuan,
	config:    configureHunyuan,
	published: &publishedHunyuan,
	encoder:   newHunyuanEncoder,
	decoder:   newHunyuanDecoder,
	between:   []string{"quant_conv.weight", "quant_conv.bias", "post_quant_conv.weight", "post_quant_conv.bias"},

	tilings:       []Tiling{Feather, Diffusers}, // a group norm spans the whole tile
	temporal:      hunyuanTiles,
	first:         func(step int) int { return 1 + step },
	beyond:        mirrored,
	anySize:       true, // a strided convolution repeats the last row and column
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	// cache_latents.py leaves scaling to the training; fpack_cache_latents.py and
	// kandinsky5_cache_latents.py scale.
	caches: []cache{
		{"musubi-tuner", "HunyuanVideo", latent.ScaleNone, "hunyuan_video"},
		{"musubi-tuner", "HunyuanVideo", latent.ScalePipeline, "framepack kandinsky5"},
	},
	classes:  []string{"AutoencoderKLHunyuanVideo", "AutoencoderKLCausal3D"},
	residual: &residual{by: 1.0 / 32, has: diffusersSums},
}

// hunyuanTiles are the temporal tiles; a group norm and the attention see all frames of a
// tile (use_framewise_encoding and use_framewise_decoding, tile_sample_min_num_frames and
// tile_sample_stride_num_frames).
var hunyuanTiles = engine.Temporal{Most: 4, Length: 5, Step: 3}

// hunyuanEps is the eps of every group norm.
const hunyuanEps = 1e-6

// newHunyuanEncoder builds HunyuanVideoEncoder3D and quant_conv.
func newHunyuanEncoder(l *loader, c Config) *engine.Network {
	in := c.Widths[0]
	all := engine.Series{l.hunyuanConv("encoder.conv_in", c.Channels, in, causal(engine.Repeated), 1)}
	for i, w := range c.Widths {
		name := fmt.Sprintf("encoder.down_blocks.%d", i)
		all = append(all, newHunyuanStage(l, name, c.Blocks, in, w))
		if i < len(c.TimeDown) {
			time := causal(engine.Repeated)
			if c.TimeDown[i] {
				time.Step = 2
			}
			all = append(all, l.hunyuanConv(name+".downsamplers.0.conv", w, w, time, 2))
		}
		in = w
	}
	all = append(all, newHunyuanMid(l, "encoder.mid_block", in), newHunyuanEnd(l, "encoder", in, 2*c.Latent))
	all = append(all, &moments{l.pointwise("quant_conv", 2*c.Latent, 2*c.Latent, 3)})
	return &engine.Network{Name: "encoder", Whole: &engine.Faded{Name: "encoder.fade", Network: all, Keep: hunyuanTiles.Step, Extent: 1}}
}

// newHunyuanDecoder builds post_quant_conv and HunyuanVideoDecoder3D.
func newHunyuanDecoder(l *loader, c Config) *engine.Network {
	in := c.Decoder[0]
	all := engine.Series{
		l.pointwise("post_quant_conv", c.Latent, c.Latent, 3),
		l.hunyuanConv("decoder.conv_in", c.Latent, in, causal(engine.Repeated), 1),
		newHunyuanMid(l, "decoder.mid_block", in),
	}
	for i, w := range c.Decoder {
		name := fmt.Sprintf("decoder.up_blocks.%d", i)
		all = append(all, newHunyuanStage(l, name, c.Blocks+1, in, w))
		if i < len(c.TimeUp) {
			phases := 1
			if c.TimeUp[i] {
				phases = 2
			}
			all = append(all, l.repeating(name+".upsamplers.0.conv.conv", w, phases))
		}
		in = w
	}
	all = append(all, newHunyuanEnd(l, "decoder", in, c.Channels))
	fade := &engine.Faded{Name: "decoder.fade", Network: all, Keep: c.Temporal * hunyuanTiles.Step, Extent: c.Temporal}
	return &engine.Network{Name: "decoder", Whole: fade}
}

// newHunyuanStage builds residual blocks.
func newHunyuanStage(l *loader, name string, blocks, cin, cout int) layer {
	var all engine.Series
	for i := range blocks {
		all = append(all, newHunyuanResnet(l, fmt.Sprintf("%s.resnets.%d", name, i), cin, cout))
		cin = cout
	}
	return all
}

// newHunyuanEnd builds the end of either network.
func newHunyuanEnd(l *loader, name string, cin, cout int) layer {
	return engine.Series{l.clipNorm(name+".conv_norm_out", cin, hunyuanEps, true), l.hunyuanConv(name+".conv_out", cin, cout, causal(engine.Repeated), 1)}
}

// newHunyuanResnet builds HunyuanVideoResnetBlockCausal3D.
func newHunyuanResnet(l *loader, name string, cin, cout int) *resnet {
	time := causal(engine.Repeated)
	b := &resnet{
		norm1: l.clipNorm(name+".norm1", cin, hunyuanEps, true), conv1: l.hunyuanConv(name+".conv1", cin, cout, time, 1),
		norm2: l.clipNorm(name+".norm2", cout, hunyuanEps, true), conv2: l.hunyuanConv(name+".conv2", cout, cout, time, 1),
	}
	if cin != cout {
		b.shortcut = l.pointwise(name+".conv_shortcut.conv", cin, cout, 3)
	}
	return b
}

// newHunyuanMid builds HunyuanVideoMidBlock3D, whose attention also sees earlier frames.
func newHunyuanMid(l *loader, name string, c int) *midBlock {
	at := name + ".attentions.0"
	m := &midBlock{before: newHunyuanResnet(l, name+".resnets.0", c, c), after: newHunyuanResnet(l, name+".resnets.1", c, c)}
	m.attention = &attention{
		norm: l.clipNorm(at+".group_norm", c, hunyuanEps, false),
		qkv:  l.queries(at+".to_qkv", []string{at + ".to_q", at + ".to_k", at + ".to_v"}, c),
		core: &engine.Attention{Name: at, Out: c, Past: true},
		out:  l.pointwise(at+".to_out.0", c, c, 0),
	}
	return m
}

// hunyuanConv builds HunyuanVideoCausalConv3d: a convolution that repeats a clip's first
// frame, and the edges of each frame.
func (l *loader) hunyuanConv(name string, cin, cout int, time engine.Causal, stride int) *engine.Conv {
	c := l.conv(name+".conv", cin, cout, time, stride)
	c.Edges = true
	return c
}

// clipNorm builds a group norm over all frames together.
func (l *loader) clipNorm(name string, c int, eps float32, silu bool) *engine.GroupNorm {
	n := l.groupNorm(name, c, eps, silu)
	n.Clip = true
	return n
}

// repeating builds, as one layer, the doubling of pixels, and with two phases of frames
// except the first, and the convolution after it.
func (l *loader) repeating(name string, c, phases int) *engine.Upsample {
	l.product(name, c, c, 3, 3, 3)
	return &engine.Upsample{Name: name, Weights: l.weights.Fold("", name, c, phases), Out: c, Phases: phases, Edges: true, Repeats: true}
}

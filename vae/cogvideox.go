package vae

import (
	"fmt"

	"tessera/engine"
)

// cogVideoXFamily is the VAE of CogVideoX: autoencoder_kl_cogvideox.py of diffusers.
var cogVideoXFamily = family{
	name:      cogVideoX,
	marks:     []string{cogVideoXKey},
	encoders:  []string{cogVideoXEncoderKey},
	told:      isCogVideoX,
	config:    configureCogVideoX,
	published: &publishedCogVideoX,
	encoder:   newCogVideoXEncoder,
	decoder:   newCogVideoXDecoder,

	tilings:       []Tiling{Feather, Diffusers}, // a group norm spans the whole tile
	first:         func(step int) int { return step },
	batch:         2, // num_latent_frames_batch_size; num_sample_frames_batch_size is 8
	beyond:        mirrored,
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	twins:         func() []twin { return twins(cogVideoXModels) },
	classes:       []string{"AutoencoderKLCogVideoX"},
	residual:      &residual{by: 1.0 / 32, has: diffusersSums},
}

// cogVideoXEps is the eps of every group norm.
const cogVideoXEps = 1e-6

// newCogVideoXEncoder builds CogVideoXEncoder3D.
func newCogVideoXEncoder(l *loader, c Config) *engine.Network {
	in := c.Widths[0]
	all := engine.Series{l.cogVideoXConv("encoder.conv_in", c.Channels, in)}
	for i, w := range c.Widths {
		name := fmt.Sprintf("encoder.down_blocks.%d", i)
		all = append(all, newCogVideoXStage(l, name, 0, c.Blocks, in, w))
		if i < len(c.TimeDown) {
			down := &cogVideoXDown{conv: l.conv2d(name+".downsamplers.0.conv", w, w, 2)}
			if c.TimeDown[i] {
				down.pairs = &engine.Unshuffle{Name: name + ".downsamplers.0", Out: w, Time: 2, Space: 1}
			}
			all = append(all, down)
		}
		in = w
	}
	all = append(all, newCogVideoXStage(l, "encoder.mid_block", 0, cogVideoXMid, in, in))
	all = append(all, l.clipNorm("encoder.norm_out", in, cogVideoXEps, true), &outputs{l.cogVideoXConv("encoder.conv_out", in, 2*c.Latent)})
	return &engine.Network{Name: "encoder", Whole: all}
}

// newCogVideoXDecoder builds CogVideoXDecoder3D, whose norms are all conditioned on the
// latent.
func newCogVideoXDecoder(l *loader, c Config) *engine.Network {
	in := c.Decoder[0]
	all := engine.Series{l.cogVideoXConv("decoder.conv_in", c.Latent, in), newCogVideoXStage(l, "decoder.mid_block", c.Latent, cogVideoXMid, in, in)}
	for i, w := range c.Decoder {
		name := fmt.Sprintf("decoder.up_blocks.%d", i)
		all = append(all, newCogVideoXStage(l, name, c.Latent, c.Blocks+1, in, w))
		if i < len(c.TimeUp) {
			up := l.enlarging(name+".upsamplers.0.conv", w, w)
			if c.TimeUp[i] {
				all = append(all, &engine.Doubled{Name: name + ".upsamplers.0", Conv: up})
			} else {
				all = append(all, up)
			}
		}
		in = w
	}
	all = append(all, l.spatialNorm("decoder.norm_out", c.Latent, in), l.cogVideoXConv("decoder.conv_out", in, c.Channels))
	return &engine.Network{Name: "decoder", Whole: all}
}

// cogVideoXMid is the number of residual blocks in a mid block.
const cogVideoXMid = 2

// newCogVideoXStage builds residual blocks. In a decoder their norms are conditioned on a
// latent of the given channels; latent is 0 in an encoder.
func newCogVideoXStage(l *loader, name string, latent, blocks, cin, cout int) layer {
	norm := func(name string, c int) layer { return l.clipNorm(name, c, cogVideoXEps, true) }
	if latent > 0 {
		norm = func(name string, c int) layer { return l.spatialNorm(name, latent, c) }
	}
	var all engine.Series
	for i := range blocks { // CogVideoXResnetBlock3D
		at := fmt.Sprintf("%s.resnets.%d", name, i)
		b := &resnet{
			norm1: norm(at+".norm1", cin), conv1: l.cogVideoXConv(at+".conv1", cin, cout),
			norm2: norm(at+".norm2", cout), conv2: l.cogVideoXConv(at+".conv2", cout, cout),
		}
		if cin != cout {
			b.shortcut = l.pointwise(at+".conv_shortcut", cin, cout, 3)
		}
		all = append(all, b)
		cin = cout
	}
	return all
}

// cogVideoXDown is CogVideoXDownsample3D: it averages pairs of frames, if it halves time,
// and convolves each frame.
type cogVideoXDown struct {
	_ engine.Incomparable

	pairs *engine.Unshuffle // nil: the number of frames stays
	conv  *engine.Conv
}

// Forward returns x at the smaller size. A picture has no pairs of frames.
func (d *cogVideoXDown) Forward(g *engine.Graph, x engine.Value) engine.Value {
	if d.pairs != nil && x.T > 1 {
		x = d.pairs.Forward(g, x)
	}
	return d.conv.Forward(g, x)
}

// cogVideoXConv builds CogVideoXCausalConv3d. It pads frames with zeros, and a clip with
// its first frame.
func (l *loader) cogVideoXConv(name string, cin, cout int) *engine.Conv {
	return l.conv(name+".conv", cin, cout, causal(engine.Repeated), 1)
}

// spatialNorm builds CogVideoXSpatialNorm3D of c channels, conditioned on a latent, with
// SiLU.
func (l *loader) spatialNorm(name string, latent, c int) *engine.SpatialNorm {
	return &engine.SpatialNorm{
		Norm:  l.clipNorm(name+".norm_layer", c, cogVideoXEps, false),
		Times: l.pointwise(name+".conv_y.conv", latent, c, 3), Plus: l.pointwise(name+".conv_b.conv", latent, c, 3),
	}
}

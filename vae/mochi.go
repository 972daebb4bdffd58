package vae

import (
	"fmt"
	"math"

	"tessera/engine"
	"tessera/wgsl"
)

// mochiFamily is the VAE of Mochi 1: autoencoder_kl_mochi.py of diffusers. Its encoder
// attends to all earlier frames, so it sees a whole clip at once, as in the reference.
var mochiFamily = family{
	name:      mochi,
	marks:     []string{mochiKey, mochiOriginalKey},
	encoders:  []string{mochiEncoderKey, mochiOriginalEncoderKey},
	told:      isMochi,
	config:    configureMochi,
	published: &publishedMochi,
	encoder:   newMochiEncoder,
	decoder:   newMochiDecoder,

	tilings:       []Tiling{Feather, Diffusers},       // a group norm spans the whole tile
	first:         func(step int) int { return step }, // a clip's first latent frame is like the others
	atOnce:        true,
	beyond:        mirrored,
	fourier:       true,
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	classes:       []string{"AutoencoderKLMochi"},
}

// mochiEps is the eps of every group norm, mochiHead the channels of an attention head.
const (
	mochiEps  = 1e-5
	mochiHead = 32
)

// newMochiEncoder builds MochiEncoder3D, whose first output channels are the mean. It
// reads Fourier features of pixels, which the host computes (input.go).
func newMochiEncoder(l *loader, c Config) *engine.Network {
	m := &mochiLayers{l, c.Layout == "original"}
	first := c.Widths[0]
	all := engine.Series{l.pointwise("encoder.proj_in", fourierChannels(c.Channels), first, 0)}
	all = append(all, m.blocks("encoder.block_in", first, c.mochi.encoder[0], false))
	for i, time := range c.mochi.down {
		name, in, out := fmt.Sprintf("encoder.down_blocks.%d", i), c.Widths[i], c.Widths[i+1]
		blocks := c.mochi.encoder[i+1]
		if i == len(c.mochi.down)-1 {
			blocks -= c.mochi.out
		}
		all = append(all, m.down(name+".conv_in.conv", in, out, time), m.blocks(name, out, blocks, true))
	}
	last := c.Widths[len(c.Widths)-1]
	all = append(all, m.blocks("encoder.block_out", last, c.mochi.out, true))
	all = append(all, l.groupNorm("encoder.norm_out.norm_layer", last, mochiEps, true))
	return &engine.Network{Name: "encoder", Whole: append(all, &moments{l.unbiased().pointwise("encoder.proj_out", last, 2*c.Latent, 0)})}
}

// newMochiDecoder builds MochiDecoder3D. It makes Temporal frames of each latent frame
// and drops all but the last of the first latent frame's.
func newMochiDecoder(l *loader, c Config) *engine.Network {
	m := &mochiLayers{l, c.Layout == "original"}
	first, last := c.Decoder[0], c.Decoder[len(c.Decoder)-1]
	start := engine.Series{l.pointwise("decoder.conv_in", c.Latent, first, 3), m.blocks("decoder.block_in", first, c.mochi.in, false)}
	s := &stages{}
	for i, time := range c.mochi.up {
		name, in, out := fmt.Sprintf("decoder.up_blocks.%d", i), c.Decoder[i], c.Decoder[i+1]
		blocks := c.mochi.decoder[i]
		if i == 0 {
			blocks -= c.mochi.in
		}
		before := append(start, m.blocks(name, in, blocks, false))
		s.all, start = append(s.all, stage{before: before, after: m.up(name+".proj", in, out, time)}), nil
	}
	s.end = engine.Series{
		m.blocks("decoder.block_out", last, c.mochi.decoder[len(c.mochi.up)], false),
		&engine.SiLU{Name: "decoder.silu", Factors: l.weights.Identity("decoder.silu", last)},
		l.pointwise("decoder.proj_out", last, c.Channels, 0),
	}
	return &engine.Network{Name: "decoder", Whole: engine.Series{s, &engine.Drop{Name: "decoder.drop", N: c.Temporal - 1}}}
}

// mochiLayers builds the family's special layers.
type mochiLayers struct {
	*loader
	joined bool // one layer makes queries, keys and values
}

// blocks builds residual blocks, each followed by attention if attends is set.
func (m *mochiLayers) blocks(name string, c, n int, attends bool) *marked {
	var all engine.Series
	for i := range n {
		at := fmt.Sprintf("%s.resnets.%d", name, i)
		all = append(all, &resnet{
			norm1: m.groupNorm(at+".norm1.norm_layer", c, mochiEps, true), conv1: m.hunyuanConv(at+".conv1", c, c, causal(engine.Repeated), 1),
			norm2: m.groupNorm(at+".norm2.norm_layer", c, mochiEps, true), conv2: m.hunyuanConv(at+".conv2", c, c, causal(engine.Repeated), 1),
		})
		if attends {
			all = append(all, m.attention(fmt.Sprintf("%s.norms.%d", name, i), fmt.Sprintf("%s.attentions.%d", name, i), c))
		}
	}
	return &marked{name: name, layer: all}
}

// attention builds attention to a pixel's earlier frames.
func (m *mochiLayers) attention(norm, name string, c int) *attention {
	layers, rows := []string{name + ".to_q", name + ".to_k", name + ".to_v"}, c
	if m.joined {
		layers, rows = []string{name + ".to_qkv"}, 3*c
	}
	for _, layer := range layers {
		m.unbiased().product(layer, rows, c)
	}
	w := m.weights.Product(name+".to_qkv", layers, wgsl.Shape{O: 3 * c, I: c, KT: 1, KS: 1}, nil)
	return &attention{
		norm: m.groupNorm(norm+".norm_layer", c, mochiEps, false),
		qkv:  &engine.Pointwise{Name: name + ".to_qkv", Weights: w, Out: 3 * c},
		core: &engine.TimeAttention{Name: name, Out: c, Heads: c / mochiHead, Unit: true},
		out:  m.pointwise(name+".to_out.0", c, c, 0),
	}
}

// down builds a convolution of separate blocks of frames and pixels: the blocks become
// channels, and a pointwise layer reduces these. A clip's first frame is repeated before it
// to fill the first block.
func (m *mochiLayers) down(name string, cin, cout, time int) engine.Series {
	block := 4 * time * cin
	m.product(name, cout, cin, time, 2, 2)
	w := m.weights.Product(name, []string{name}, wgsl.Shape{O: cout, I: block, KT: 1, KS: 1}, nil)
	return engine.Series{&engine.Unshuffle{Name: name + ".unshuffle", Out: block, Time: time, Space: 2}, &engine.Pointwise{Name: name, Weights: w, Out: cout}}
}

// up builds a pointwise layer whose outputs become frames and pixels, channel slowest.
func (m *mochiLayers) up(name string, cin, cout, time int) *engine.PixelShuffle {
	phases := 4 * time
	m.product(name, cout*phases, cin)
	w := m.weights.Product(name, []string{name}, wgsl.Shape{O: phases * cout, I: cin, KT: 1, KS: 1}, func(o int) int { return o%cout*phases + o/cout })
	return &engine.PixelShuffle{Name: name, Weights: w, Out: cout, Phases: time, All: true}
}

// fourierChannels returns the channels of the Fourier features of c channels.
func fourierChannels(c int) int { return 5 * c }

// fourier appends the sines of 2π·64 and 2π·128 times a pixel's channels, then their
// cosines, with both frequencies of a channel side by side. The host computes them,
// because activations stored as halves would lose the phase.
func fourier(to, pixel []float32) {
	n := len(pixel)
	for i, v := range pixel {
		turns := 64 * float64(v)
		sin, cos := math.Sincos(2 * math.Pi * (turns - math.Floor(turns)))
		to[n+2*i], to[n+2*i+1] = float32(sin), float32(2*sin*cos)
		to[3*n+2*i], to[3*n+2*i+1] = float32(cos), float32(1-2*sin*sin)
	}
}

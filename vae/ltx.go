package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/latent"
)

// ltxFamily is the VAE of LTX-2 and LTX-2.3: AutoencoderKLLTX2Video of diffusers. Of its
// config.json only the scaling_factor is used: means and deviations are tensors.
var ltxFamily = family{
	name:      ltx,
	marks:     []string{ltxKey, ltxDiffusersKey},
	encoders:  []string{ltxEncoderKey, ltxDiffusersEncoderKey},
	told:      isLTX,
	config:    configureLTX,
	usable:    checkLTX,
	published: &publishedLTX,
	sizes:     func() []Config { return []Config{publishedLTX23} },
	encoder:   newLTXEncoder,
	decoder:   newLTXDecoder,
	ignored:   []string{"per_channel_statistics.", "latents_mean", "latents_std"},

	// Convolutions reach at least 11 latent cells to each side, the width of a tile:
	// exact tiles would compute the frame several times.
	tilings:  []Tiling{Feather, Diffusers},
	first:    func(int) int { return 1 },
	beyond:   mirrored,
	byPixels: true,
	clamps:   true,
	previews: true,
	measured: true,
	classes:  []string{"AutoencoderKLLTX2Video"},
	// Before March 2026 ai-toolkit's names had no version
	// (extensions_built_in/diffusion_models/ltx2). ltx2.5 has another VAE.
	caches: []cache{
		{"ai-toolkit", "LTX-2", latent.ScalePipeline, "ltx2 ltx2_v2"},
		{"ai-toolkit", "LTX-2.3", latent.ScalePipeline, "ltx2.3 ltx2.3_v2"},
	},
}

// ltxEps is the eps of every norm.
const ltxEps = 1e-8

// ltxLookahead is the temporal side of the decoder's convolutions.
var ltxLookahead = engine.Causal{Kernel: 3, Past: engine.Repeated, Lookahead: 1}

// newLTXEncoder builds LTX2VideoEncoder3d.
func newLTXEncoder(l *loader, c Config) *engine.Network {
	s := &stages{start: &marked{name: "encoder.conv_in", layer: l.conv("encoder.conv_in.conv", c.Channels*c.Patch*c.Patch, c.Widths[0], causal(engine.Repeated), 1)}}
	frames := 1
	for i, w := range c.Widths {
		name := fmt.Sprintf("encoder.down_blocks.%d", 2*i)
		at := stage{before: &marked{name: name, layer: newLTXBlocks(l, name, w, c.ltx.encoder[i], nil)}, after: engine.Series{}}
		if i < len(c.ltx.down) {
			next := fmt.Sprintf("encoder.down_blocks.%d", 2*i+1)
			at.after = &marked{name: next, layer: newLTXDown(l, next, w, c.Widths[i+1], c.ltx.down[i])}
			frames *= c.ltx.down[i].time
		}
		at.frames = frames
		s.all = append(s.all, at)
	}
	last := c.Widths[len(c.Widths)-1]
	end := &marked{name: "encoder.conv_out", layer: &outputs{l.sharing("encoder.conv_out.conv", last, c.Latent)}}
	return &engine.Network{Name: "encoder", Whole: engine.Series{s, l.pixelNorm("encoder.conv_norm_out", last, ltxEps), end}, Untiled: true}
}

// newLTXDecoder builds LTX2VideoDecoder3d.
func newLTXDecoder(l *loader, c Config) *engine.Network {
	d := &ltxLayers{l, c.ltx.mirrors}
	all := engine.Series{&marked{name: "decoder.conv_in", layer: d.conv("decoder.conv_in.conv", c.Latent, c.Decoder[0])}}
	for i, w := range c.Decoder {
		if i > 0 {
			name := fmt.Sprintf("decoder.up_blocks.%d", 2*i-1)
			all = append(all, &marked{name: name, layer: newLTXUp(d, name, c.Decoder[i-1], w, c.ltx.up[i-1], c.ltx.skips)})
		}
		name := fmt.Sprintf("decoder.up_blocks.%d", 2*i)
		all = append(all, &marked{name: name, layer: newLTXBlocks(l, name, w, c.ltx.decoder[i], d)})
	}
	last := c.Decoder[len(c.Decoder)-1]
	end := d.conv("decoder.conv_out.conv", last, c.Channels*c.Patch*c.Patch)
	all = append(all, l.pixelNorm("decoder.conv_norm_out", last, ltxEps), &marked{name: "decoder.conv_out", layer: end})
	all = append(all, &engine.Unpatchify{Name: "unpatchify", Side: c.Patch, C: c.Channels})
	return &engine.Network{Name: "decoder", Whole: all, Untiled: true, Lookahead: true}
}

// ltxLayers builds the layers that only the decoder has.
type ltxLayers struct {
	*loader
	mirrors bool // frames are mirrored at their edges, instead of padded with zeros
}

// conv builds a convolution that reads a frame ahead.
func (d *ltxLayers) conv(name string, cin, cout int) *engine.Conv {
	c := d.loader.conv(name, cin, cout, ltxLookahead, 1)
	c.Edges, c.Mirror = d.mirrors, d.mirrors
	return c
}

// newLTXBlocks builds residual blocks, the decoder's if d is set.
func newLTXBlocks(l *loader, name string, c, n int, d *ltxLayers) engine.Series {
	var all engine.Series
	for i := range n {
		at := fmt.Sprintf("%s.res_blocks.%d", name, i)
		b := &resnet{norm1: l.pixelNorm(at+".norm1", c, ltxEps), norm2: l.pixelNorm(at+".norm2", c, ltxEps)}
		if d == nil {
			b.conv1 = l.conv(at+".conv1.conv", c, c, causal(engine.Repeated), 1)
			b.conv2 = l.conv(at+".conv2.conv", c, c, causal(engine.Repeated), 1)
		} else {
			b.conv1, b.conv2 = d.conv(at+".conv1.conv", c, c), d.conv(at+".conv2.conv", c, c)
			b.delay = &engine.Delay{Name: at + ".delay", Convs: 2}
		}
		all = append(all, b)
	}
	return all
}

// ltxDown is LTXVideoDownsampler3d: a convolution plus the input, each with frames and
// pixels moved into the channels.
type ltxDown struct {
	conv *engine.Conv
	to   *engine.Unshuffle
}

func newLTXDown(l *loader, name string, cin, cout int, s ltxSampler) *ltxDown {
	return &ltxDown{
		l.conv(name+".conv.conv", cin, cout/s.cells(), causal(engine.Repeated), 1),
		&engine.Unshuffle{Name: name, Out: cout, Time: s.time, Space: s.space},
	}
}

// Forward returns x at the smaller size. The original repeats the first frame before the
// convolution, which would make two equal frames of it.
func (d *ltxDown) Forward(g *engine.Graph, x engine.Value) engine.Value {
	y := d.to.Forward(g, d.conv.Forward(g, x))
	return d.to.Add(g, x, y)
}

// ltxUp is LTXVideoUpsampler3d: a convolution whose channels become frames and pixels. In
// LTX-2 the rearranged input is added.
type ltxUp struct {
	conv  *engine.Conv
	to    *engine.Shuffle
	delay *engine.Delay // nil: nothing is added
}

func newLTXUp(d *ltxLayers, name string, cin, cout int, s ltxSampler, skips bool) *ltxUp {
	u := &ltxUp{conv: d.conv(name+".conv.conv", cin, cout*s.cells()), to: &engine.Shuffle{Name: name, Out: cout, Time: s.time, Space: s.space}}
	if skips {
		u.delay = &engine.Delay{Name: name + ".delay", Convs: 1}
	}
	return u
}

// Forward returns x at the larger size.
func (u *ltxUp) Forward(g *engine.Graph, x engine.Value) engine.Value {
	if u.delay == nil {
		return u.to.Forward(g, u.conv.Forward(g, x))
	}
	skip := u.delay.Forward(g, x)
	y := u.to.Forward(g, u.conv.Forward(g, x))
	return u.to.Add(g, skip, y)
}

package vae

import (
	"fmt"
	"math"

	"tessera/engine"
	"tessera/wgsl"
)

// cosmosFamily is the tokenizer of Cosmos 1.0, CV8x8x8: autoencoder_kl_cosmos.py of
// diffusers. Its middle attends to all earlier frames, so both networks see a whole clip
// at once, as in the reference.
var cosmosFamily = family{
	name:      cosmos,
	marks:     []string{cosmosKey, cosmosOriginalKey},
	encoders:  []string{cosmosEncoderKey, cosmosOriginalEncoderKey},
	told:      isCosmos,
	config:    configureCosmos,
	published: &publishedCosmos,
	encoder:   newCosmosEncoder,
	decoder:   newCosmosDecoder,
	ignored:   []string{".wavelets", "._arange", ".patch_size_buffer"},
	between:   []string{"quant_conv.weight", "quant_conv.bias", "post_quant_conv.weight", "post_quant_conv.bias"},

	tilings:  []Tiling{Feather}, // a norm spans the whole tile, and diffusers does not tile
	first:    func(int) int { return math.MaxInt },
	beyond:   mirrored,
	sigma:    cosmosSigma,
	clamps:   true,
	previews: true,
	means:    true,
	classes:  []string{"AutoencoderKLCosmos"},
	residual: &residual{by: 1.0 / 32, has: diffusersSums},
}

// cosmosEps is the eps of every norm, cosmosPatch the frames, rows and columns of a
// patch.
const (
	cosmosEps   = 1e-6
	cosmosPatch = 4
)

// newCosmosEncoder builds CosmosEncoder3d and quant_conv.
func newCosmosEncoder(l *loader, c Config) *engine.Network {
	n := c.Channels * cosmosPatch * cosmosPatch * cosmosPatch
	shape := wgsl.Shape{O: n, I: n, KT: 1, KS: 1}
	all := engine.Series{
		&engine.Unshuffle{Name: "encoder.patches", Out: n, Time: cosmosPatch, Space: 1},
		&engine.Pointwise{Name: "encoder.haar", Out: n, Weights: l.weights.Matrix("encoder.haar", shape, func(o, i int) float32 {
			return haar(o, i/64, i%4, i/4%4, i/16%4, c.Channels) / 64 // the host's patches order columns before rows
		})},
		newCosmosPair(l, "encoder.conv_in", n, c.Widths[0]),
	}
	for i, down := range c.cosmos.down {
		name := fmt.Sprintf("encoder.down_blocks.%d", i)
		block := newCosmosBlocks(l, name, c.Widths[i], c.Widths[i+1], c.Blocks)
		if down {
			block = append(block, newCosmosDown(l, name+".downsamplers.0", c.Widths[i+1]))
		}
		all = append(all, &marked{name: name, layer: block})
	}
	last := c.Widths[len(c.Widths)-1]
	all = append(all, newCosmosMid(l, "encoder.mid_block", last), l.groupNorm("encoder.norm_out.norm", last, cosmosEps, true))
	all = append(all, newCosmosPair(l, "encoder.conv_out", last, c.Latent), l.pointwise("quant_conv", c.Latent, c.Latent, 3))
	return &engine.Network{Name: "encoder", Whole: all}
}

// newCosmosDecoder builds post_quant_conv and CosmosDecoder3d.
func newCosmosDecoder(l *loader, c Config) *engine.Network {
	n := c.Channels * cosmosPatch * cosmosPatch * cosmosPatch
	shape := wgsl.Shape{O: n, I: n, KT: 1, KS: 1}
	first, last := c.Decoder[0], c.Decoder[len(c.Decoder)-1]
	all := engine.Series{
		l.pointwise("post_quant_conv", c.Latent, c.Latent, 3),
		newCosmosPair(l, "decoder.conv_in", c.Latent, first),
		newCosmosMid(l, "decoder.mid_block", first),
	}
	for i, up := range c.cosmos.up {
		name := fmt.Sprintf("decoder.up_blocks.%d", i)
		block := newCosmosBlocks(l, name, c.Decoder[i], c.Decoder[i+1], c.Blocks+1)
		if up {
			block = append(block, newCosmosUp(l, name+".upsamplers.0", c.Decoder[i+1]))
		}
		all = append(all, &marked{name: name, layer: block})
	}
	all = append(all, l.groupNorm("decoder.norm_out.norm", last, cosmosEps, true), newCosmosPair(l, "decoder.conv_out", last, n))
	all = append(all, &engine.Pointwise{Name: "decoder.haar", Out: n, Weights: l.weights.Matrix("decoder.haar", shape, func(o, i int) float32 {
		return haar(i, o/64, o/16%4, o/4%4, o%4, c.Channels)
	})})
	all = append(all, &engine.Shuffle{Name: "decoder.patches", Out: c.Channels, Time: cosmosPatch, Space: cosmosPatch})
	all = append(all, &engine.Drop{Name: "decoder.drop", N: cosmosPatch - 1})
	return &engine.Network{Name: "decoder", Whole: all}
}

// haar returns the sign of a patch's pixel in a channel of two Haar transforms, 0 if the
// channel is of another colour. The channel of each transform is, slowest first:
// difference of two frames or not, of rows, of columns, then the channel of its input.
func haar(channel, colour, t, y, x, colours int) float32 {
	if channel%colours != colour {
		return 0
	}
	inner, outer := channel/colours%8, channel/(8*colours)
	minus := 0
	for axis, at := range [3]int{x, y, t} {
		minus += inner >> axis & 1 * (at % 2)
		minus += outer >> axis & 1 * (at / 2)
	}
	return float32(1 - 2*(minus%2))
}

// newCosmosPair builds CosmosConvProjection3d: a convolution of each frame, then one over
// time.
func newCosmosPair(l *loader, name string, cin, cout int) engine.Series {
	return engine.Series{l.conv(name+".conv_s", cin, cout, engine.Causal{Kernel: 1}, 1), l.timeConv(name+".conv_t", cout, 1, causal(engine.Repeated))}
}

// cosmosResnet is CosmosResnetBlock3d.
type cosmosResnet struct {
	_ engine.Incomparable

	norm1, norm2, conv1, space layer
	time                       *engine.TimeConv
	shortcut                   *engine.Pointwise // nil if the number of channels stays
}

func newCosmosResnet(l *loader, name string, cin, cout int) *cosmosResnet {
	b := &cosmosResnet{
		norm1: l.groupNorm(name+".norm1.norm", cin, cosmosEps, true), conv1: newCosmosPair(l, name+".conv1", cin, cout),
		norm2: l.groupNorm(name+".norm2.norm", cout, cosmosEps, true),
		space: l.conv(name+".conv2.conv_s", cout, cout, engine.Causal{Kernel: 1}, 1),
		time:  l.timeConv(name+".conv2.conv_t", cout, 1, causal(engine.Repeated)),
	}
	if cin != cout {
		b.shortcut = l.pointwise(name+".conv_shortcut", cin, cout, 3)
	}
	return b
}

// Forward returns the block's output.
func (b *cosmosResnet) Forward(g *engine.Graph, x engine.Value) engine.Value {
	y := x
	if b.shortcut != nil {
		y = b.shortcut.Forward(g, x) // first, so that the norm can overwrite x
	}
	h := b.conv1.Forward(g, b.norm1.Forward(g, x))
	h = b.space.Forward(g, b.norm2.Forward(g, h))
	return b.time.Add(g, h, y)
}

// newCosmosBlocks builds residual blocks.
func newCosmosBlocks(l *loader, name string, cin, cout, n int) (all engine.Series) {
	for i := range n {
		all = append(all, newCosmosResnet(l, fmt.Sprintf("%s.resnets.%d", name, i), cin, cout))
		cin = cout
	}
	return all
}

// newCosmosMid builds CosmosMidBlock3d: between two residual blocks, attention over a
// frame's pixels, then over a pixel's earlier frames.
func newCosmosMid(l *loader, name string, c int) *marked {
	attends := func(at string, core layer) *attention {
		return &attention{
			norm: l.groupNorm(at+".norm.norm", c, cosmosEps, false),
			qkv:  l.queries(at+".to_qkv", []string{at + ".to_q", at + ".to_k", at + ".to_v"}, c),
			core: core, out: l.pointwise(at+".to_out.0", c, c, 0),
		}
	}
	space, time := name+".attentions.0", name+".temp_attentions.0"
	return &marked{name: name, layer: engine.Series{
		newCosmosResnet(l, name+".resnets.0", c, c),
		attends(space, &engine.Attention{Name: space, Out: c}),
		attends(time, &engine.TimeAttention{Name: time, Out: c, Heads: 1}),
		newCosmosResnet(l, name+".resnets.1", c, c),
	}}
}

// cosmosDown is CosmosDownsample3d: it halves pixels, then frames, each by a convolution
// plus means, then applies a pointwise layer.
type cosmosDown struct {
	space *engine.Conv
	time  *engine.TimeConv
	out   *engine.Pointwise
	c     int
}

func newCosmosDown(l *loader, name string, c int) *cosmosDown {
	return &cosmosDown{
		l.conv(name+".conv1", c, c, engine.Causal{Kernel: 1}, 2),
		l.timeConv(name+".conv2", c, 1, engine.Causal{Kernel: 3, Step: 2, Past: engine.Repeated}),
		l.pointwise(name+".conv3", c, c, 3), c,
	}
}

// Forward returns x at the smaller size.
func (d *cosmosDown) Forward(g *engine.Graph, x engine.Value) engine.Value {
	squares := &engine.Unshuffle{Name: d.space.Name + " means", Out: d.c, Time: 1, Space: 2}
	y := squares.Add(g, x, d.space.Forward(g, x))
	pairs := &engine.Unshuffle{Name: d.time.Name + " means", Out: d.c, Time: 2, Space: 1}
	return d.out.Forward(g, pairs.Add(g, y, d.time.Forward(g, y)))
}

// cosmosUp is CosmosUpsample3d: it doubles frames, then pixels, adds a convolution of the
// result to each, then applies a pointwise layer.
type cosmosUp struct {
	time  *engine.TimeConv
	space *engine.Conv
	out   *engine.Pointwise
}

func newCosmosUp(l *loader, name string, c int) *cosmosUp {
	u := &cosmosUp{time: l.timeConv(name+".conv1", c, 1, causal(engine.Repeated))}
	l.product(name+".conv2", c, c, 1, 3, 3)
	u.space = &engine.Conv{Name: name + ".conv2", Out: c, Enlarge: true, Folded: l.fold}
	if l.fold {
		u.space.Weights = l.weights.Enlarging(name+".conv2", c, c)
	} else {
		u.space.Weights = l.weights.Conv(name+".conv2", wgsl.Shape{O: c, I: c, KT: 1, KS: 3}, 1)
	}
	u.out = l.pointwise(name+".conv3", c, c, 3)
	return u
}

// Forward returns x at the larger size.
func (u *cosmosUp) Forward(g *engine.Graph, x engine.Value) engine.Value {
	twice := (&engine.Repeat{Name: u.time.Name + " frames", Time: 2, Space: 1}).Forward(g, x)
	y := engine.AddMeans(g, u.time.Name+" sum", twice, u.time.Forward(g, twice))
	larger := &engine.Repeat{Name: u.space.Name + " pixels", Time: 1, Space: 2}
	return u.out.Forward(g, larger.Add(g, y, u.space.Forward(g, y)))
}

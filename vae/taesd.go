package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/tiling"
)

// taesd is the name of the family of tiny autoencoders.
const taesd = "taesd"

// taesdFamily is the tiny autoencoders of pictures, TAESD and its relatives: taesd.py,
// and AutoencoderTiny of diffusers. Each approximates the VAE of a diffusion model, and
// its latents are as that model has them.
var taesdFamily = family{
	name:      taesd,
	marks:     []string{tinyKey, tinyComfyKey, tinyDiffusersKey},
	encoders:  []string{tinyEncoderKey, tinyComfyEncoderKey, tinyDiffusersEncoderKey},
	told:      isTiny,
	config:    configureTiny,
	published: &publishedTAESD,
	encoder:   newTinyEncoder,
	decoder:   newTinyDecoder,

	tilings:       []Tiling{Exact, Feather}, // layers that see the whole picture work at the latent's size
	first:         func(step int) int { return step },
	beyond:        func(t, _, _ int) int { return t },
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	means:         true,
	unnormed:      true,
	even:          true,
	unsigned:      true,
	rowsFirst:     true,
	anySize:       true, // a strided convolution pads a picture with zeros
	classes:       []string{"AutoencoderTiny"},
	saturates:     func(*Config) bool { return true },
	ignored:       []string{"vae_scale", "vae_shift"}, // see comfyStatistics
}

// newTinyEncoder builds the layers one after another.
func newTinyEncoder(l *loader, c Config) *engine.Network {
	layers := c.tiny.encoder
	all := newTinyLayers(l, "encoder", layers, c.Channels*c.Patch*c.Patch)
	last := len(layers) - 1
	for !layers[last].resizes {
		last--
	}
	p := &tinyParts{outer: all[:last+1], inner: all[last+1:], width: layers[last].out}
	return &engine.Network{Name: "encoder", Whole: all.series(), Parts: p}
}

// newTinyDecoder builds the layers one after another, and the conversion of patches to
// pixels. The family's saturates is the tanh before them.
func newTinyDecoder(l *loader, c Config) *engine.Network {
	layers := c.tiny.decoder
	all := newTinyLayers(l, "decoder", layers, c.Latent)
	l.signed(layers[len(layers)-1].name("decoder"))
	first := 0
	for !layers[first].resizes {
		first++
	}
	p := &tinyParts{inner: all[:first], outer: all[first:], width: layers[first-1].out}
	if c.Patch > 1 {
		p.end = engine.Series{&engine.Unpatchify{Name: "unpatchify", Side: c.Patch, C: c.Channels, Rows: true}}
	}
	return &engine.Network{Name: "decoder", Whole: append(all.series(), p.end...), Parts: p}
}

// tinyModule is a layer, with its convolution if it is not a block.
type tinyModule struct {
	engine.Module
	conv *engine.Conv
}

type tinyModules []tinyModule

// series returns the layers alone.
func (all tinyModules) series() (s engine.Series) {
	for _, m := range all {
		s = append(s, m.Module)
	}
	return s
}

// newTinyLayers builds the layers of one half of a model. A convolution has no mark if the
// original's output of that name differs: if ReLU follows, and at a decoder's end, where
// the original's pixels are from 0 to 1.
func newTinyLayers(l *loader, half string, layers []tinyLayer, in int) (all tinyModules) {
	for i, at := range layers {
		name := at.name(half)
		if at.block {
			all = append(all, tinyModule{&marked{name: name, layer: newTinyBlock(l, name, in, at.pool)}, nil})
			continue
		}
		from := l
		if !at.bias {
			from = l.unbiased()
		}
		var conv *engine.Conv
		switch {
		case !at.resizes:
			conv = from.conv2d(name, in, at.out, 1)
		case half == "decoder":
			conv = from.enlarging(name, in, at.out)
		default:
			conv = from.conv2d(name, in, at.out, 2)
			conv.Around = true
		}
		conv.ReLU, in = at.relu, at.out
		m := tinyModule{conv, conv}
		if !conv.ReLU && (half == "encoder" || i < len(layers)-1) {
			m.Module = &marked{name: name, layer: conv}
		}
		all = append(all, m)
	}
	return all
}

// tinyParts is a half in two parts: the layers at the latent's size, some of which may
// see the whole picture, and those that change the size.
type tinyParts struct {
	inner, outer tinyModules
	end          engine.Series // in a decoder with patches
	width        int           // channels between them
}

func (p *tinyParts) Inner() engine.Module { return p.inner.series() }
func (p *tinyParts) Outer() engine.Module { return append(p.outer.series(), p.end...) }
func (p *tinyParts) Width() int           { return p.width }

// Halo is the halo of the layers that change the size. A decoder's last layer computes
// only the wanted part.
func (p *tinyParts) Halo(out tiling.Rect, from, _ tiling.Size) (tiling.Rect, engine.Windows, tiling.Rect) {
	var steps []sizeStep
	for i, m := range p.outer {
		switch {
		case m.conv == nil:
			steps = append(steps, sizeStep{reach: tinyReach})
		case m.conv.Enlarge || m.conv.Around || i == len(p.outer)-1:
			steps = append(steps, sizeStep{conv: m.conv})
		default:
			steps = append(steps, sizeStep{reach: m.conv.Reach()})
		}
	}
	return halo(steps, out, from)
}

// tinyReach is the reach of a block's convolutions.
const tinyReach = 3

// tinyBlock is Block: three convolutions with ReLU, plus the input, then ReLU.
type tinyBlock struct {
	pool  *tinyPool // nil: none
	convs [3]*engine.Conv
}

// newTinyBlock builds a block of c channels.
func newTinyBlock(l *loader, name string, c int, pool bool) *tinyBlock {
	b := &tinyBlock{}
	if pool {
		b.pool = newTinyPool(l, name+".pool", c)
	}
	for i := range b.convs {
		b.convs[i] = l.conv2d(fmt.Sprintf("%s.conv.%d", name, 2*i), c, c, 1)
		b.convs[i].ReLU = true
	}
	return b
}

// Forward returns the block's output.
func (b *tinyBlock) Forward(g *engine.Graph, x engine.Value) engine.Value {
	if b.pool != nil {
		x = b.pool.Forward(g, x)
	}
	y := b.convs[1].Forward(g, b.convs[0].Forward(g, x))
	return b.convs[2].Add(g, y, x)
}

// tinyPool is the start of TAEF2's deepest blocks, with four times the channels; its norm
// spans the whole picture.
type tinyPool struct {
	widen, narrow *engine.Pointwise
	norm          *engine.GroupNorm
}

// newTinyPool builds a tinyPool of c channels.
func newTinyPool(l *loader, name string, c int) *tinyPool {
	p := &tinyPool{norm: l.groupNorm(name+".1", 4*c, 1e-5, false)}
	p.norm.ReLU = true
	p.widen, p.narrow = l.unbiased().pointwise(name+".0", c, 4*c, 2), l.unbiased().pointwise(name+".3", 4*c, c, 2)
	return p
}

// Forward returns x plus the pool's output.
func (p *tinyPool) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return p.narrow.Add(g, p.norm.Forward(g, p.widen.Forward(g, x)), x)
}

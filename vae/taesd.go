package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/tiling"
)

// taesd is the tiny autoencoders' name.
const taesd = "taesd"

// taesdFamily is the tiny autoencoders of pictures, TAESD and its kin: taesd.py, and
// AutoencoderTiny of diffusers. They stand for the VAE of a diffusion model, whose
// latents they take and give as that model has them.
var taesdFamily = family{
	name:      taesd,
	marks:     []string{tinyKey, tinyComfyKey, tinyDiffusersKey},
	encoders:  []string{tinyEncoderKey, tinyComfyEncoderKey, tinyDiffusersEncoderKey},
	told:      isTiny,
	config:    configureTiny,
	published: &publishedTAESD,
	encoder:   newTinyEncoder,
	decoder:   newTinyDecoder,

	tilings:       []Tiling{Exact, Feather}, // what sees all of a picture is in the latent's size
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
	anySize:       true, // a convolution with stride takes zeros around a picture
	classes:       []string{"AutoencoderTiny"},
	saturates:     func(*Config) bool { return true },
	ignored:       []string{"vae_scale", "vae_shift"}, // see comfyStatistics
}

// newTinyEncoder is the layers one after another.
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

// newTinyDecoder is the layers one after another, and what makes pixels of patches. The
// tanh in front of them is the family's.
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

// tinyModule is a layer, and its convolution where it is no block.
type tinyModule struct {
	engine.Module
	conv *engine.Conv
}

type tinyModules []tinyModule

// series are the layers without more.
func (all tinyModules) series() (s engine.Series) {
	for _, m := range all {
		s = append(s, m.Module)
	}
	return s
}

// newTinyLayers are those of half a model. What the original names without ReLU, or of
// pixels from 0 to 1, has no mark.
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

// tinyParts is a half of two: the layers in the latent's size, some of which may see all
// of a picture, and those that change the size.
type tinyParts struct {
	inner, outer tinyModules
	end          engine.Series // of a decoder with patches
	width        int           // channels between them
}

func (p *tinyParts) Inner() engine.Module { return p.inner.series() }
func (p *tinyParts) Outer() engine.Module { return append(p.outer.series(), p.end...) }
func (p *tinyParts) Width() int           { return p.width }

// Halo is that of the layers that change the size; a decoder's last one makes no more than
// is wanted.
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

// tinyReach is how far a block's convolutions reach.
const tinyReach = 3

// tinyBlock is Block: three convolutions with ReLU, plus the input, and ReLU of that.
type tinyBlock struct {
	pool  *tinyPool // nil: none
	convs [3]*engine.Conv
}

// newTinyBlock is a block of c channels.
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

// Forward is the block's output.
func (b *tinyBlock) Forward(g *engine.Graph, x engine.Value) engine.Value {
	if b.pool != nil {
		x = b.pool.Forward(g, x)
	}
	y := b.convs[1].Forward(g, b.convs[0].Forward(g, x))
	return b.convs[2].Add(g, y, x)
}

// tinyPool is what the deepest blocks of TAEF2 begin with, in four times the channels,
// whose norm sees all of a picture.
type tinyPool struct {
	widen, narrow *engine.Pointwise
	norm          *engine.GroupNorm
}

// newTinyPool is one of c channels.
func newTinyPool(l *loader, name string, c int) *tinyPool {
	p := &tinyPool{norm: l.groupNorm(name+".1", 4*c, 1e-5, false)}
	p.norm.ReLU = true
	p.widen, p.narrow = l.unbiased().pointwise(name+".0", c, 4*c, 2), l.unbiased().pointwise(name+".3", 4*c, c, 2)
	return p
}

// Forward is x and what is made of it.
func (p *tinyPool) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return p.narrow.Add(g, p.norm.Forward(g, p.widen.Forward(g, x)), x)
}

package vae

import (
	"fmt"

	"tessera/engine"
)

// taesd is the tiny autoencoders' name.
const taesd = "taesd"

// taesdFamily is the tiny autoencoders of pictures, TAESD and its kin: taesd.py, and
// AutoencoderTiny of diffusers. They stand for the VAE of a diffusion model, whose
// latents they take and give as that model has them.
var taesdFamily = family{
	name:      taesd,
	marks:     []mark{{tinyKey, "TAESD and its kin"}, {tinyComfyKey, "the same from ComfyUI"}, {tinyDiffusersKey, "the same from diffusers"}},
	encoders:  []string{tinyEncoderKey, tinyComfyEncoderKey, tinyDiffusersEncoderKey},
	told:      isTiny,
	config:    configureTiny,
	published: publishedTAESD,
	encoder:   newTinyEncoder,
	decoder:   newTinyDecoder,

	tilings:       []Tiling{Feather},
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
	saturates:     func(*Config) bool { return true },
	ignored:       []string{"vae_scale", "vae_shift"}, // see comfyStatistics
}

// newTinyEncoder is the layers one after another.
func newTinyEncoder(l *loader, c Config) *engine.Network {
	return &engine.Network{Name: "encoder", Whole: newTinyLayers(l, "encoder", c.tiny.encoder, c.Channels*c.Patch*c.Patch)}
}

// newTinyDecoder is the layers one after another, and what makes pixels of patches. The
// tanh in front of them is the family's.
func newTinyDecoder(l *loader, c Config) *engine.Network {
	layers := c.tiny.decoder
	all := newTinyLayers(l, "decoder", layers, c.Latent)
	l.signed(layers[len(layers)-1].name("decoder"))
	if c.Patch > 1 {
		all = append(all, &engine.Unpatchify{Name: "unpatchify", Side: c.Patch, C: c.Channels, Rows: true})
	}
	return &engine.Network{Name: "decoder", Whole: all}
}

// newTinyLayers are those of half a model. What the original names without ReLU, or of
// pixels from 0 to 1, has no mark.
func newTinyLayers(l *loader, half string, layers []tinyLayer, in int) (all engine.Series) {
	for i, at := range layers {
		name := at.name(half)
		if at.block {
			all = append(all, &marked{name: name, layer: newTinyBlock(l, name, in, at.pool)})
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
		if conv.ReLU || half == "decoder" && i == len(layers)-1 {
			all = append(all, conv)
		} else {
			all = append(all, &marked{name: name, layer: conv})
		}
	}
	return all
}

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

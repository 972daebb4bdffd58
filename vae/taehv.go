package vae

import (
	"fmt"

	"tessera/engine"
)

// taehvFamily is TAEHV (taehv.py), tiny autoencoders that approximate the VAEs of video
// generators. Their blocks read each frame and the previous one, and no other time.
var taehvFamily = family{
	name:      taehv,
	marks:     []string{taehvKey},
	encoders:  []string{taehvEncoderKey},
	told:      isTAEHV,
	config:    configureTAEHV,
	published: &publishedTAEHV,
	encoder:   newTAEHVEncoder,
	decoder:   newTAEHVDecoder,

	tilings:       []Tiling{Exact, Feather, Diffusers},
	first:         func(step int) int { return step }, // a clip's first latent frame is like the others
	beyond:        func(t, frames, _ int) int { return min(t, frames-1) },
	twins:         func() []twin { return twins(taehvModels) },
	groups:        true,
	means:         true,
	unnormed:      true,
	even:          true,
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	unsigned:      true,
	rowsFirst:     true,
	anySize:       true, // a strided convolution pads a frame with zeros
	saturates:     func(c *Config) bool { return c.Variant != superTAEHV },
}

// taehvBlocks is the number of a stage's blocks that read the previous frame.
const taehvBlocks = 3

// times returns how many frames become one in a stage, or are made of one.
func times(time bool) int {
	if time {
		return 2
	}
	return 1
}

// taehvStage is a network's layers at one frame size.
type taehvStage struct {
	_ engine.Incomparable

	layers engine.Module // in an encoder what makes the stage's size, in a decoder the blocks
	after  engine.Module // in an encoder the blocks, in a decoder what makes the next size
	frames int           // of the clip, which an encoder's stage turns into one
	depth  int           // of the portions in which a decoder continues from the stage
}

type taehvEncoder struct {
	start, end engine.Module
	stages     []taehvStage
}

// newTAEHVEncoder builds an encoder that makes one latent frame of each Temporal frames,
// from the clip's first on.
func newTAEHVEncoder(l *loader, c Config) *engine.Network {
	start := l.conv2d("encoder.0", c.Channels*c.Patch*c.Patch, c.Widths[0], 1)
	start.ReLU = true
	e := &taehvEncoder{start: &marked{name: "encoder.1", layer: start}, end: &outputs{l.conv2d("encoder.17", c.Widths[3], c.Latent, 1)}}
	p := &taehvParts{width: c.Widths[3], steps: []sizeStep{{reach: 1}}}
	frames := 1
	for i, time := range c.TimeDown {
		at, in, out := 2+5*i, c.Widths[i], c.Widths[i+1]
		down := l.unbiased().conv2d(fmt.Sprintf("encoder.%d", at+1), in, out, 2)
		down.Around = true
		p.steps = append(p.steps, sizeStep{conv: down})
		if i < len(c.TimeDown)-1 {
			p.steps = append(p.steps, sizeStep{reach: taehvBlocks * memReach})
		}
		layers := engine.Series{l.unbiased().joinFrames(fmt.Sprintf("encoder.%d.conv", at), in, times(time)), &marked{name: down.Name, layer: down}}
		frames *= times(time)
		e.stages = append(e.stages, taehvStage{layers: layers, after: engine.Series(newMemBlocks(l, "encoder", at+2, out)), frames: frames})
	}
	last := len(e.stages) - 1
	p.outer = recorded(func(g *engine.Graph, x engine.Value) engine.Value {
		return e.stages[last].layers.Forward(g, e.down(g, x, last-1))
	})
	p.inner = engine.Series{e.stages[last].after, e.end}
	return &engine.Network{Name: "encoder", Whole: e, Parts: p}
}

// Forward returns the latent.
func (e *taehvEncoder) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return e.end.Forward(g, e.down(g, x, len(e.stages)-1))
}

// down runs the stages up to i, the larger frames a few at a time.
func (e *taehvEncoder) down(g *engine.Graph, x engine.Value, i int) engine.Value {
	if i < 0 {
		return e.start.Forward(g, x)
	}
	at := &e.stages[i]
	return g.Groups(2-i, at.frames, x, func(x engine.Value) engine.Value { return at.after.Forward(g, at.layers.Forward(g, e.down(g, x, i-1))) })
}

type taehvDecoder struct {
	start, end engine.Module
	stages     []taehvStage
}

// newTAEHVDecoder builds a decoder that makes Temporal frames of each latent frame. Only
// the last frame of the first latent frame belongs to the clip; the others are dropped as
// soon as no block needs them. CogVideoX's clips with an even number of latent frames
// keep them.
func newTAEHVDecoder(l *loader, c Config) *engine.Network {
	blocks, up := newMemBlocks, newTAEHVUp
	at, length, reach := 3, 6, memReach // of a stage's layers; reach of a block
	switch c.Variant {
	case wideTAEHV:
		reach = wideReach
		blocks = func(l *loader, network string, at, n int) []engine.Module {
			return newWideBlocks(l, network, at, n, c.inGroup[(at-3)/6])
		}
	case superTAEHV:
		blocks, up, at, length, reach = newSuperBlocks, newSuperUp, 1, 7, superSide/2
	}
	end, conv := newTAEHVEnd(l, c)
	d := &taehvDecoder{start: newTAEHVStart(l, c), end: end}
	p := &taehvParts{width: c.Decoder[0]}
	frames, depth, last := 1, 0, len(c.TimeUp)-1
	for i, time := range c.TimeUp {
		layers := engine.Series(blocks(l, "decoder", at, c.Decoder[i]))
		drop := 0
		if i == last {
			layers = append(layers, &engine.Drop{Name: "drop", N: frames - 1})
			drop = times(time) - 1
		}
		after, step := up(l, at+taehvBlocks, stageSize{in: c.Decoder[i], out: c.Decoder[i+1]}, times(time), drop)
		if i > 0 {
			p.steps = append(p.steps, sizeStep{reach: taehvBlocks * reach})
		}
		p.steps = append(p.steps, step)
		s := taehvStage{layers: layers, after: after}
		if i == last || i > 0 && frames == 1 { // otherwise the first portion would not make the clip's first frame
			depth++
			s.depth = depth
		}
		d.stages = append(d.stages, s)
		frames *= times(time)
		at += length
	}
	p.steps = append(p.steps, sizeStep{conv: conv})
	p.inner = engine.Series{d.start, d.stages[0].layers}
	p.outer = recorded(func(g *engine.Graph, x engine.Value) engine.Value {
		return d.up(g, d.stages[0].after.Forward(g, x), 1)
	})
	return &engine.Network{Name: "decoder", Whole: d, Parts: p}
}

// Forward returns the clip.
func (d *taehvDecoder) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return d.up(g, d.start.Forward(g, x), 0)
}

// up runs the stages from i on.
func (d *taehvDecoder) up(g *engine.Graph, x engine.Value, i int) engine.Value {
	if i == len(d.stages) {
		return d.end.Forward(g, x)
	}
	at := &d.stages[i]
	return g.Portions(at.depth, 1, at.layers.Forward(g, x), func(x engine.Value) engine.Value {
		return d.up(g, at.after.Forward(g, x), i+1)
	})
}

// newTAEHVStart builds the decoder's first convolution.
func newTAEHVStart(l *loader, c Config) engine.Module {
	if c.Variant == superTAEHV {
		return &marked{name: "decoder.0", layer: l.unbiased().pointwise("decoder.0", c.Latent, c.Decoder[0], 2)}
	}
	conv := l.conv2d("decoder.1", c.Latent, c.Decoder[0], 1)
	conv.ReLU = true
	return &marked{name: "decoder.2", layer: conv}
}

// newTAEHVEnd builds the convolution that makes pixels.
func newTAEHVEnd(l *loader, c Config) (engine.Module, *engine.Conv) {
	conv := l.conv2d("decoder.22", c.Decoder[3], c.Channels*c.Patch*c.Patch, 1)
	end := engine.Series{conv}
	if !c.Leaky {
		l.signed("decoder.22")
	}
	if c.Patch > 1 {
		end = append(end, &engine.Unpatchify{Name: "unpatchify", Side: c.Patch, C: c.Channels, Rows: true})
	}
	return end, conv
}

package vae

import "tessera/engine"

// layer computes a new value from x.
type layer = engine.Module

// causal returns the temporal side of a 3x3x3 convolution with a step of one frame.
func causal(past engine.Past) engine.Causal { return engine.Causal{Kernel: 3, Past: past} }

// resnet is ResnetBlock3D and ResidualBlock: norm, SiLU and convolution, twice, plus the
// input or its shortcut.
type resnet struct {
	_ engine.Incomparable

	norm1, norm2 layer
	conv1, conv2 *engine.Conv
	shortcut     *engine.Pointwise // nil if the number of channels stays
	delay        *engine.Delay     // of the added input, if the convolutions read ahead; nil: they do not
}

// Reach returns how many pixels beyond its own position an output pixel reads, to each
// side.
func (b *resnet) Reach() int { return b.conv1.Reach() + b.conv2.Reach() }

// Forward returns the block's output.
func (b *resnet) Forward(g *engine.Graph, x engine.Value) engine.Value {
	y := x
	if b.shortcut != nil {
		y = b.shortcut.Forward(g, x) // first, so that the norm can overwrite x
	}
	if b.delay != nil {
		y = b.delay.Forward(g, y)
	}
	h := b.norm1.Forward(g, x)
	h = b.conv1.Forward(g, h)
	h = b.norm2.Forward(g, h)
	return b.conv2.Add(g, h, y)
}

// attention is a mid block's attention: by default one head over all pixels of a frame.
type attention struct {
	_ engine.Incomparable

	norm layer
	qkv  *engine.Pointwise
	core layer
	out  *engine.Pointwise
}

// Forward returns x plus the attention's output.
func (a *attention) Forward(g *engine.Graph, x engine.Value) engine.Value {
	h := a.norm.Forward(g, x)
	h = a.qkv.Forward(g, h)
	h = a.core.Forward(g, h)
	return a.out.Add(g, h, x)
}

// midBlock is UNetMidBlock3D and Wan's middle: block, attention, block.
type midBlock struct {
	before    *resnet
	attention *attention
	after     *resnet
}

// Forward returns the block's output.
func (m *midBlock) Forward(g *engine.Graph, x engine.Value) engine.Value {
	x = m.before.Forward(g, x)
	x = m.attention.Forward(g, x)
	return m.after.Forward(g, x)
}

// head is the end of a network: norm, SiLU, convolution.
type head struct {
	norm layer
	conv *engine.Conv
}

// Forward returns the network's output.
func (d *head) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return d.conv.Forward(g, d.norm.Forward(g, x))
}

// marked is a module whose output has a name in traces.
type marked struct {
	_ engine.Incomparable

	name string
	layer
}

// Forward returns the module's output.
func (m *marked) Forward(g *engine.Graph, x engine.Value) engine.Value {
	x = m.layer.Forward(g, x)
	g.Mark(m.name, x)
	return x
}

// stage is a network's layers at one frame size, and the change to or from the next size.
type stage struct {
	_ engine.Incomparable

	before, after layer
	frames        int // in an encoder: frames of the clip that the stage turns into one, after the first
}

// stages are an encoder's stages after its start, or a decoder's with its end. They
// process the larger frames a few at a time.
type stages struct {
	all        []stage
	start, end layer // one is nil
}

// Forward returns the output of the last stage or of the end.
func (s *stages) Forward(g *engine.Graph, x engine.Value) engine.Value {
	if s.start != nil {
		return s.down(g, x, len(s.all)-1)
	}
	return s.up(g, x, 0)
}

// down runs the stages up to i.
func (s *stages) down(g *engine.Graph, x engine.Value, i int) engine.Value {
	if i < 0 {
		return s.start.Forward(g, x)
	}
	at := &s.all[i]
	return g.Portions(2-i, at.frames, x, func(x engine.Value) engine.Value {
		return at.after.Forward(g, at.before.Forward(g, s.down(g, x, i-1)))
	})
}

// up runs the stages from i on.
func (s *stages) up(g *engine.Graph, x engine.Value, i int) engine.Value {
	if i == len(s.all) {
		return s.end.Forward(g, x)
	}
	at := &s.all[i]
	return g.Portions(i, 1, at.before.Forward(g, x), func(x engine.Value) engine.Value {
		return s.up(g, at.after.Forward(g, x), i+1)
	})
}

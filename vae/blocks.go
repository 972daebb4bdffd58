package vae

import "tessera/engine"

// layer makes a new value of x.
type layer = engine.Module

// causal is the time of a 3x3x3 convolution of every frame.
func causal(past engine.Past) engine.Causal { return engine.Causal{Kernel: 3, Past: past} }

// resnet is ResnetBlock3D and ResidualBlock: norm, SiLU, conv, twice, plus the
// input or its shortcut.
type resnet struct {
	_ engine.Incomparable

	norm1, norm2 layer
	conv1, conv2 *engine.Conv
	shortcut     *engine.Pointwise // nil where channels stay
	delay        *engine.Delay     // of what is added, where the convolutions read ahead; nil: they don't
}

// Reach is how far to each side a pixel of the output reads, beyond its own.
func (b *resnet) Reach() int { return b.conv1.Reach() + b.conv2.Reach() }

// Forward is the block's output.
func (b *resnet) Forward(g *engine.Graph, x engine.Value) engine.Value {
	y := x
	if b.shortcut != nil {
		y = b.shortcut.Forward(g, x) // first, so that the norm is in place
	}
	if b.delay != nil {
		y = b.delay.Forward(g, y)
	}
	h := b.norm1.Forward(g, x)
	h = b.conv1.Forward(g, h)
	h = b.norm2.Forward(g, h)
	return b.conv2.Add(g, h, y)
}

// attention is the mid block's, one head over all pixels of a frame, or another.
type attention struct {
	_ engine.Incomparable

	norm layer
	qkv  *engine.Pointwise
	core layer
	out  *engine.Pointwise
}

// Forward is x plus what it attends to.
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

// Forward is the block's output.
func (m *midBlock) Forward(g *engine.Graph, x engine.Value) engine.Value {
	x = m.before.Forward(g, x)
	x = m.attention.Forward(g, x)
	return m.after.Forward(g, x)
}

// head is what a network ends with: norm, SiLU, convolution.
type head struct {
	norm layer
	conv *engine.Conv
}

// Forward is the network's output.
func (d *head) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return d.conv.Forward(g, d.norm.Forward(g, x))
}

// marked is a module whose output is named, for traces.
type marked struct {
	_ engine.Incomparable

	name string
	layer
}

// Forward is the module's output.
func (m *marked) Forward(g *engine.Graph, x engine.Value) engine.Value {
	x = m.layer.Forward(g, x)
	g.Mark(m.name, x)
	return x
}

// stage is what a network does in one size, and how it comes to the other.
type stage struct {
	_ engine.Incomparable

	before, after layer
	frames        int // of the clip that the stage makes one of, after the first; in an encoder
}

// stages are those of an encoder behind its start, or of a decoder with its end: the
// larger frames run a few at a time.
type stages struct {
	all        []stage
	start, end layer // one of them is nil
}

// Forward is the last stage's output, or the end's.
func (s *stages) Forward(g *engine.Graph, x engine.Value) engine.Value {
	if s.start != nil {
		return s.down(g, x, len(s.all)-1)
	}
	return s.up(g, x, 0)
}

// down goes as far as stage i.
func (s *stages) down(g *engine.Graph, x engine.Value, i int) engine.Value {
	if i < 0 {
		return s.start.Forward(g, x)
	}
	at := &s.all[i]
	return g.Portions(2-i, at.frames, x, func(x engine.Value) engine.Value {
		return at.after.Forward(g, at.before.Forward(g, s.down(g, x, i-1)))
	})
}

// up goes on from stage i.
func (s *stages) up(g *engine.Graph, x engine.Value, i int) engine.Value {
	if i == len(s.all) {
		return s.end.Forward(g, x)
	}
	at := &s.all[i]
	return g.Portions(i, 1, at.before.Forward(g, x), func(x engine.Value) engine.Value {
		return s.up(g, at.after.Forward(g, x), i+1)
	})
}

package vae

import (
	"fmt"

	"tessera/engine"
	"tessera/wgsl"
)

// memBlock is MemBlock: layers that read a frame and the previous one, plus the frame.
type memBlock struct {
	_ engine.Incomparable

	before engine.Series
	last   adder
}

// adder is a layer that adds its output for x to y.
type adder interface {
	Add(g *engine.Graph, x, y engine.Value) engine.Value
}

// Forward returns the block's output.
func (b *memBlock) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return b.last.Add(g, b.before.Forward(g, x), x)
}

// each builds a stage's blocks of c channels, from layer number at on.
func each(network string, at int, make func(name string) *memBlock) (all []engine.Module) {
	for i := range taehvBlocks {
		name := fmt.Sprintf("%s.%d", network, at+i)
		all = append(all, &marked{name: name, layer: make(name + ".conv.")})
	}
	return all
}

// Reach of the blocks' convolutions.
const (
	memReach  = 3
	wideReach = 2
)

// newMemBlocks builds blocks of three 3x3 convolutions, each followed by ReLU.
func newMemBlocks(l *loader, network string, at, c int) []engine.Module {
	return each(network, at, func(name string) *memBlock {
		first, second, third := l.pastConv(name+"0", c, c), l.conv2d(name+"2", c, c, 1), l.conv2d(name+"4", c, c, 1)
		first.ReLU, second.ReLU, third.ReLU = true, true, true
		return &memBlock{before: engine.Series{first, second}, last: third}
	})
}

// newTAEHVUp builds nearest-neighbour enlargement. The pointwise layers that make frames
// come first, because repeated pixels would give repeated results.
func newTAEHVUp(l *loader, at int, size stageSize, frames, drop int) (engine.Module, sizeStep) {
	conv := l.unbiased().enlarging(fmt.Sprintf("decoder.%d", at+2), size.in, size.out)
	made := conv.Name
	if at+2 == 20 { // the last one, followed by ReLU
		conv.ReLU, made = true, "decoder.21"
	}
	split := l.unbiased().splitFrames(fmt.Sprintf("decoder.%d.conv", at+1), size.in, frames)
	split.Early = true
	return engine.Series{
		split,
		&engine.Drop{Name: "drop", N: drop},
		&marked{name: made, layer: conv},
	}, sizeStep{conv: conv}
}

// newWideBlocks builds blocks of pointwise layers and grouped 3x3 convolutions, each
// followed by ReLU.
func newWideBlocks(l *loader, network string, at, c, group int) []engine.Module {
	return each(network, at, func(name string) *memBlock {
		first, third := l.pastPointwise(name+"0", c, c), l.pointwise(name+"4", c, c, 2)
		first.ReLU, third.ReLU = true, true
		return &memBlock{before: engine.Series{first, l.grouped(name+"2", c, group), third}, last: l.grouped(name+"6", c, group)}
	})
}

// convolution is a layer that can also add.
type convolution interface {
	engine.Module
	adder
}

// grouped builds a 3x3 convolution in groups of the given channels, followed by ReLU: a
// weight [c, group, 3, 3].
func (l *loader) grouped(name string, c, group int) convolution {
	if group == c {
		conv := l.conv2d(name, c, c, 1)
		conv.ReLU = true
		return conv
	}
	l.product(name, c, group, 3, 3)
	w := l.weights.Grouped(name, wgsl.Shape{O: c, I: group, KT: 1, KS: 3})
	return &engine.Grouped{Name: name, Weights: w, Out: c, Group: group, ReLU: true}
}

// superSide is the kernel side of the depthwise convolutions.
const superSide = 7

// newSuperBlocks builds blocks of a depthwise convolution and two pointwise layers,
// without a final ReLU.
func newSuperBlocks(l *loader, network string, at, c int) []engine.Module {
	return each(network, at, func(name string) *memBlock {
		l.need(name+"0.weight", 2*c, 1, superSide, superSide)
		single := &engine.Depthwise{Name: name + "0", Weight: l.weights.Depthwise(name+"0", 2*c, superSide), Side: superSide}
		widen := l.pointwise(name+"1", 2*c, 4*c, 2)
		widen.ReLU = true
		return &memBlock{before: engine.Series{single, widen}, last: l.unbiased().pointwise(name+"3", 4*c, c, 2)}
	})
}

// newSuperUp builds enlargement by PyTorch's pixel_shuffle.
func newSuperUp(l *loader, at int, size stageSize, frames, drop int) (engine.Module, sizeStep) {
	conv := l.conv2d(fmt.Sprintf("decoder.%d", at), size.in, 4*size.out, 1)
	conv.ReLU = true
	return engine.Series{
		&marked{name: fmt.Sprintf("decoder.%d", at+1), layer: conv},
		&marked{name: fmt.Sprintf("decoder.%d", at+2), layer: &engine.Unpatchify{Name: fmt.Sprintf("decoder.%d", at+2), Side: 2, C: size.out, Rows: true}},
		l.unbiased().splitFrames(fmt.Sprintf("decoder.%d.conv", at+3), size.out, frames),
		&engine.Drop{Name: "drop", N: drop},
	}, sizeStep{conv: conv, shuffle: true}
}

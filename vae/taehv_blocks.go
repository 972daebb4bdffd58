package vae

import (
	"fmt"

	"tessera/engine"
)

// memBlock is MemBlock: layers that read a frame and the one before it, plus the frame.
type memBlock struct {
	_ engine.Incomparable

	before engine.Series
	last   adder
}

// adder is a layer that adds what it makes of x to y.
type adder interface {
	Add(g *engine.Graph, x, y engine.Value) engine.Value
}

// Forward is the block's output.
func (b *memBlock) Forward(g *engine.Graph, x engine.Value) engine.Value {
	return b.last.Add(g, b.before.Forward(g, x), x)
}

// each makes a stage's blocks of c channels, from layer number at on.
func each(network string, at int, make func(name string) *memBlock) (all []engine.Module) {
	for i := range taehvBlocks {
		name := fmt.Sprintf("%s.%d", network, at+i)
		all = append(all, &marked{name: name, layer: make(name + ".conv.")})
	}
	return all
}

// newMemBlocks are three 3x3 convolutions, each with ReLU behind.
func newMemBlocks(l *loader, network string, at, c int) []engine.Module {
	return each(network, at, func(name string) *memBlock {
		first, second, third := l.pastConv(name+"0", c, c), l.conv2d(name+"2", c, c, 1), l.conv2d(name+"4", c, c, 1)
		first.ReLU, second.ReLU, third.ReLU = true, true, true
		return &memBlock{before: engine.Series{first, second}, last: third}
	})
}

// newTAEHVUp enlarges by nearest neighbour. The products that make frames come first,
// which are the same for pixels that are.
func newTAEHVUp(l *loader, at int, size stageSize, frames, drop int) engine.Module {
	conv := l.unbiased().enlarging(fmt.Sprintf("decoder.%d", at+2), size.in, size.out)
	conv.ReLU = at+2 == 20
	return engine.Series{
		l.unbiased().splitFrames(fmt.Sprintf("decoder.%d.conv", at+1), size.in, frames),
		&engine.Drop{Name: "drop", N: drop},
		&marked{name: conv.Name, layer: conv},
	}
}

package engine

import "tessera/wgsl"

// Pointwise is a 1x1x1 convolution, or a linear layer over channels.
type Pointwise struct {
	Name    string
	Weights wgsl.Weights
	Out     int  // channels
	ReLU    bool // apply it to the result
}

// First computes only the first n outputs.
func (p *Pointwise) First(n int) *Pointwise {
	first := *p
	first.Out = n
	return &first
}

// Forward returns the product with x.
func (p *Pointwise) Forward(g *Graph, x Value) Value { return p.Add(g, x, Value{}) }

// Add adds the product with x to y in place. No later layer may read y.
func (p *Pointwise) Add(g *Graph, x, y Value) Value {
	return g.record(node{
		label: p.Name, kind: "pointwise", macs: macs(1, x.T, x.H, x.W, x.C, p.Out), reads: []Value{x}, onto: y, out: Value{T: x.T, H: x.H, W: x.W, C: p.Out},
		reach: each,
		emit: func(e *emitter, out wgsl.Tensor) {
			in := e.x
			for _, r := range wgsl.Runs(in.T, e.atOnce(&in, &out), nil) {
				e.set.Pointwise(e.batch, p.Name, wgsl.Pointwise{Weights: p.Weights, X: in, XT: r.T, Y: out, YT: r.T, N: r.N, Add: y.id != 0, ReLU: p.ReLU})
			}
		},
	})
}

// PixelShuffle is a 1x1x1 convolution to 4*Phases times the channels, whose outputs
// become 2x2 pixels of Phases frames. If the first frame of a clip becomes two frames,
// the second is dropped and not computed, unless All is set.
type PixelShuffle struct {
	Name    string
	Weights wgsl.Weights // outputs [Phases, 2, 2, Out padded to 4]
	Out     int          // channels of a pixel
	Phases  int          // frames made of one: 1 or 2, or more with All
	All     bool         // all frames made of a clip's first one are kept
}

// Forward returns x at the larger size.
func (p *PixelShuffle) Forward(g *Graph, x Value) Value {
	head := g.headFrames(p.Phases)
	if p.All {
		head = 0
	}
	return g.record(node{
		label: p.Name, kind: "pixel_shuffle", macs: macs(4*p.Phases, x.T, x.H, x.W, x.C, p.Out), reads: []Value{x}, out: Value{T: p.Phases*x.T - head, H: 2 * x.H, W: 2 * x.W, C: p.Out},
		reach: reach{by: 1, to: 1, per: 2}, step: 2, makes: p.Phases,
		emit: func(e *emitter, y wgsl.Tensor) { p.emit(e, e.x, y, head) },
	})
}

func (p *PixelShuffle) emit(e *emitter, x, y wgsl.Tensor, head int) {
	if head == 1 {
		e.set.PixelShuffle(e.batch, p.Name, wgsl.PixelShuffle{Weights: p.Weights, X: x, Y: y, N: 1, Phases: 1})
	}
	most := max(1, min(e.atOnce(&x), e.atOnce(&y)/p.Phases))
	for _, r := range wgsl.Runs(x.T-head, most, nil) {
		r.T += head
		e.set.PixelShuffle(e.batch, p.Name, wgsl.PixelShuffle{
			Weights: p.Weights, X: x, XT: r.T, Y: y, YT: r.T*p.Phases - head, N: r.N, Phases: p.Phases,
		})
	}
}

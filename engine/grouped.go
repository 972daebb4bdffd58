package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// Grouped is a grouped 3x3 convolution of each frame separately.
type Grouped struct {
	Name    string
	Weights wgsl.Weights // Weights.Grouped
	Out     int          // channels
	Group   int          // input channels per group
	ReLU    bool         // apply it to the result
}

// Forward returns the convolution of x.
func (c *Grouped) Forward(g *Graph, x Value) Value { return c.Add(g, x, Value{}) }

// Add adds the convolution of x to y in place. No later layer may read y.
func (c *Grouped) Add(g *Graph, x, y Value) Value {
	w := Window{H: x.H, W: x.W}
	return g.record(node{
		label: c.Name, kind: "conv", macs: macs(9, x.T, x.H, x.W, c.Group, c.Out), reads: []Value{x}, onto: y, out: Value{T: x.T, H: x.H, W: x.W, C: c.Out},
		reach: reach{by: 1, from: -1, to: 1, per: 1},
		emit: func(e *emitter, out wgsl.Tensor) {
			in, at := e.x, e.window(w)
			for _, r := range wgsl.Runs(in.T, e.atOnce(&in, &out), nil) {
				e.set.ConvGrouped(e.batch, c.Name, wgsl.ConvGrouped{
					Weights: c.Weights, Group: c.Group, X: in, XT: r.T, Y0: at.Y, X0: at.X, Y: out, YT: r.T, N: r.N, Add: y.id != 0, ReLU: c.ReLU,
				})
			}
		},
	})
}

// Depthwise is a depthwise convolution of frames and, in as many channels after them, of
// the previous frames.
type Depthwise struct {
	_ gpu.Incomparable

	Name   string
	Weight *gpu.Buffer // Weights.Depthwise
	Side   int         // of the kernel
}

// Forward returns the convolution of x.
func (c *Depthwise) Forward(g *Graph, x Value) Value {
	whole, time := Window{H: x.H, W: x.W}, Causal{Kernel: 2, Past: Zeros}
	half := c.Side / 2
	return g.record(node{
		label: c.Name, kind: "conv", macs: macs(c.Side*c.Side, x.T, x.H, x.W, 1, 2*x.C), reads: []Value{x}, out: Value{T: x.T, H: x.H, W: x.W, C: 2 * x.C},
		reach: reach{by: 1, from: -half, to: half, per: 1}, keeps: time.kept(),
		emit: func(e *emitter, y wgsl.Tensor) {
			l, at := e.time(c.Name, time), e.window(whole)
			for _, r := range l.runs(y.T, e.atOnce(&l.x, &y)) {
				e.set.ConvDepthwise(e.batch, c.Name, wgsl.ConvDepthwise{Weight: c.Weight, Side: c.Side, Taps: l.taps(r.T), Y0: at.Y, X0: at.X, Y: y, T: r.T, N: r.N})
			}
			l.keep(e, c.Name)
		},
	})
}

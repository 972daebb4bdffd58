//go:build !js

package engine

import "tessera/wgsl"

// lines makes frames one by one with the pixels of a row four by four, where the set does
// so and all that this takes can be bound.
func (c *Conv) lines(e *emitter, p wgsl.Conv3D, pixels int) bool {
	shape := wgsl.Shape{O: p.Y.C, I: p.Taps[0].X.C, KT: p.KT, KS: 3}
	clip := e.at != Whole || p.Y.T > 1
	if len(p.Taps) != p.KT || c.Time.step() > 1 || p.Stride > 1 || p.Upsample || !e.set.Lined(p.Packing, shape, pixels, clip) {
		return false
	}
	bytes, sums := e.set.LineBytes(shape), e.set.LineSums(p.Y.C, &p.Taps[0].X, p.Y.W, p.KT)
	if max(bytes, sums) > e.limits.MaxBinding {
		return false
	}
	weights := &e.weights[5]
	if weights.Weight == nil {
		to := e.temporary(c.Name+" taps", bytes)
		*weights = e.set.LineTaps(e.batch, c.Name+" taps", p.Weights, shape, to.Buffer)
	}
	e.sumsFor(c.Name, sums)
	e.set.ConvLines(e.batch, c.Name, wgsl.ConvLines{Weights: *weights, Taps: p.Taps, Y0: p.Y0, X0: p.X0, Y: p.Y, T: p.T, N: p.N, Add: p.Add, Sums: e.sums})
	return true
}

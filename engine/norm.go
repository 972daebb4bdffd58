package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// GroupNorm is a group norm of each frame separately, or of all frames that reach the
// layer at once, optionally followed by SiLU or ReLU.
type GroupNorm struct {
	_ gpu.Incomparable

	Name        string
	Gamma, Beta *gpu.Buffer
	Groups      int
	Eps         float32
	SiLU, ReLU  bool
	Clip        bool // over all frames together
}

// Forward normalises x.
func (n *GroupNorm) Forward(g *Graph, x Value) Value {
	k := wgsl.GroupNorm{Gamma: n.Gamma, Beta: n.Beta, Groups: n.Groups, Eps: n.Eps, SiLU: n.SiLU, ReLU: n.ReLU, Clip: n.Clip}
	return g.record(node{
		label: n.Name, kind: "group_norm", reads: []Value{x}, over: true, clip: n.Clip, out: Value{T: x.T, H: x.H, W: x.W, C: x.C},
		reach:   each,
		prepare: func(e *emitter) { n.prepare(e, &k) },
		emit: func(e *emitter, y wgsl.Tensor) {
			k := k
			k.X, k.Y = e.x, y
			for _, r := range wgsl.Runs(y.T, e.behind(&e.x, &y), nil) {
				k.XT, k.YT, k.N = r.T, r.T, r.N
				e.set.GroupNormed(e.batch, n.Name, &k)
			}
		},
	})
}

// prepare records the factors of all frames of e.x.
func (n *GroupNorm) prepare(e *emitter, k *wgsl.GroupNorm) {
	most := e.behind(&e.x, &e.x)
	if n.Clip {
		most = e.x.T
	}
	k.X, k.N, k.Most = e.x, min(most, e.x.T), e.limits.MaxBinding
	if k.Bring = nil; e.hosted(&e.x) {
		k.Most, k.N, most = min(k.Most, e.hostedBandLimit()), 1, 1
		b := &hostReader{e: e, label: n.Name, x: e.x}
		k.Bring = b.read
		defer b.close()
	}
	partials, factors := k.Scratch()
	k.Partials = e.temporary(n.Name+" moments", partials)
	k.Factors = e.temporary(n.Name+" factors", factors)
	for _, r := range wgsl.Runs(e.x.T, most, nil) {
		k.XT, k.N = r.T, r.N
		e.set.GroupFactors(e.batch, n.Name, k)
	}
}

// SiLU is x*sigmoid(x), computed by an identity group norm.
type SiLU struct {
	_ gpu.Incomparable

	Name    string
	Factors *gpu.Buffer // Weights.Identity
}

// Forward returns the activation.
func (n *SiLU) Forward(g *Graph, x Value) Value {
	return g.record(node{
		label: n.Name, kind: "silu", reads: []Value{x}, over: true, out: Value{T: x.T, H: x.H, W: x.W, C: x.C},
		reach: each,
		emit: func(e *emitter, y wgsl.Tensor) {
			k := wgsl.GroupNorm{Groups: 1, SiLU: true, Clip: true, X: e.x, Y: y, Factors: n.Factors.All()}
			for _, r := range wgsl.Runs(y.T, e.behind(&e.x, &y), nil) {
				k.XT, k.YT, k.N = r.T, r.T, r.N
				e.set.GroupNormed(e.batch, n.Name, &k)
			}
		},
	})
}

// SpatialNorm is a group norm of all frames that reach the layer at once, scaled and
// shifted by two products of the network's input, followed by SiLU. Each pixel and frame
// uses the input's pixel and frame that it comes from. If the number of frames is odd,
// the first comes from the input's first, the others from the rest.
type SpatialNorm struct {
	_ gpu.Incomparable

	Norm        *GroupNorm // its SiLU and ReLU are ignored
	Times, Plus *Pointwise
}

// Forward normalises x.
func (s *SpatialNorm) Forward(g *Graph, x Value) Value {
	n, z := s.Norm, g.Input()
	times, plus := s.Times.Forward(g, z), s.Plus.Forward(g, z)
	for i := range 2 { // the original enlarges the input first
		g.nodes[len(g.nodes)-1-i].macs = macs(1, x.T, x.H, x.W, z.C, x.C)
	}
	k := wgsl.GroupNorm{Gamma: n.Gamma, Beta: n.Beta, Groups: n.Groups, Eps: n.Eps, Clip: true}
	return g.record(node{
		label: n.Name, kind: "spatial_norm", reads: []Value{x, times, plus}, over: true, clip: true, out: Value{T: x.T, H: x.H, W: x.W, C: x.C},
		reach:   each,
		prepare: func(e *emitter) { n.prepare(e, &k) },
		emit: func(e *emitter, y wgsl.Tensor) {
			side := x.W / z.W
			from, to := e.b.lo/side, (e.b.hi+side-1)/side
			at, by := e.tensors[times.id], e.tensors[plus.id]
			m := wgsl.SpatialNorm{
				Factors: k.Factors, X: e.x, Y: y, Times: at.Part(from, to-from), Plus: by.Part(from, to-from), Top: e.b.lo % side,
			}
			head := oddHead(x.T)
			share := (x.T - head) / max(1, z.T-head) // number of frames per input frame
			for _, r := range wgsl.Runs(y.T, e.behind(&e.x, &y), func(t, _ int) bool { return t >= head }) {
				m.XT, m.YT, m.N, m.ZT, m.Each, m.Lead = r.T, r.T, r.N, 0, 1, 0
				if r.T >= head {
					m.ZT, m.Each, m.Lead = head+(r.T-head)/share, share, (r.T-head)%share
				}
				e.set.SpatialNorm(e.batch, n.Name, m)
			}
		},
	})
}

// oddHead returns how many of n frames are handled separately: the first if n is odd.
func oddHead(frames int) int {
	if frames == 1 {
		return 0
	}
	return frames % 2
}

// RMSNorm divides a pixel's channels by their root mean square. SiLU may follow.
type RMSNorm struct {
	_ gpu.Incomparable

	Name  string
	Gamma *gpu.Buffer
	Eps   float32 // added to the mean of squares
	SiLU  bool
}

// Forward normalises x.
func (n *RMSNorm) Forward(g *Graph, x Value) Value {
	return g.record(node{
		label: n.Name, kind: "rms_norm", reads: []Value{x}, over: true, out: Value{T: x.T, H: x.H, W: x.W, C: x.C},
		reach: each,
		emit: func(e *emitter, y wgsl.Tensor) {
			in := e.x
			for _, r := range wgsl.Runs(in.T, e.behind(&in, &y), nil) {
				e.set.RMSNorm(e.batch, n.Name, wgsl.RMSNorm{Gamma: n.Gamma, Eps: n.Eps, SiLU: n.SiLU, X: in, XT: r.T, Y: y, YT: r.T, N: r.N})
			}
		},
	})
}

package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// Attention has one head, over all pixels of a frame, or with Past also of earlier
// frames. All these frames must reach the layer at once, because it keeps no memory.
type Attention struct {
	_ gpu.Incomparable

	Name string
	Out  int  // channels
	Past bool // a pixel also sees earlier frames
}

// Forward reads queries, keys and values, each of Out channels padded to 4, one
// after another.
func (a *Attention) Forward(g *Graph, qkv Value) Value {
	seen := qkv.T // frames that are seen, times frames that see them
	if a.Past {
		seen = qkv.T * (qkv.T + 1) / 2
	}
	return g.record(node{
		label: a.Name, kind: Attend, macs: macs(2*qkv.H*qkv.W, seen, qkv.H, qkv.W, 1, a.Out), reads: []Value{qkv}, out: Value{T: qkv.T, H: qkv.H, W: qkv.W, C: a.Out},
		emit: func(e *emitter, o wgsl.Tensor) {
			k := wgsl.Attention{QKV: e.x, O: o, Most: e.limits.MaxBinding, Past: a.Past}
			scores, state, sums := k.Scratch()
			k.Scores = e.temporary(a.Name+" scores", scores)
			k.State = e.temporary(a.Name+" softmax", state)
			k.Acc = e.temporary(a.Name+" sums", sums)
			for k.T = 0; k.T < o.T && e.proceed(); k.T += k.N {
				k.N = min(wgsl.FramesAtOnce, o.T-k.T)
				e.set.Attention(e.batch, a.Name, k)
			}
		},
	})
}

// TimeAttention has Heads heads, each over a pixel's frames up to the current one. All
// these frames must reach the layer at once, because it keeps no memory.
type TimeAttention struct {
	_ gpu.Incomparable

	Name  string
	Out   int  // channels
	Heads int  // divides the channels into multiples of 4, or into 1
	Unit  bool // queries and keys are normalised to unit length
}

// Forward reads queries, keys and values, as Attention does.
func (a *TimeAttention) Forward(g *Graph, qkv Value) Value {
	return g.record(node{
		label: a.Name, kind: Attend, macs: macs(1, qkv.T*(qkv.T+1), qkv.H, qkv.W, 1, a.Out), reads: []Value{qkv}, out: Value{T: qkv.T, H: qkv.H, W: qkv.W, C: a.Out},
		reach: each, makes: qkv.T, joint: qkv.T,
		emit: func(e *emitter, o wgsl.Tensor) {
			e.set.TimeAttention(e.batch, a.Name, wgsl.TimeAttention{Heads: a.Heads, Unit: a.Unit, QKV: e.x, O: o, N: o.T})
		},
	})
}

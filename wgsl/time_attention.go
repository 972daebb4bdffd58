package wgsl

import (
	"math"

	"tessera/gpu"
)

// TimeAttention describes softmax(q k^T / sqrt(D)) v over the frames up to the query's,
// for each pixel separately, with Heads of D channels each.
type TimeAttention struct {
	Heads int    // 1, or a number that divides C into multiples of 4
	Unit  bool   // queries and keys are divided by their lengths
	QKV   Tensor // 3*Pad4(C) channels: a pixel's query, key and value in sequence, each padded
	O     Tensor // output, C channels
	T, N  int    // frames T to T+N-1 of both, which attend to none before T
}

type timeAttentionParams struct {
	First             gpu.First
	W, C4, D4, Blocks uint32
	Qkv_at            uint32
	Qkv_stride        uint32
	O_at, O_stride    uint32
	Scale             float32
}

// TimeAttention records o = attention(qkv).
func (s *Set) TimeAttention(b *gpu.Batch, label string, a TimeAttention) {
	x, o := a.QKV, a.O
	if x.C != 3*Pad4(o.C) || x.H != o.H || x.W != o.W || a.Heads < 1 || a.Heads > 1 && o.C%(4*a.Heads) != 0 {
		panic(badNumbers(label, "attention over time in heads of HxWxC into HxWxC", a.Heads, x.H, x.W, x.C, o.H, o.W, o.C))
	}
	h := s.shader(label, "time_attention", nil)
	d4, part := o.C4()/a.Heads, h.block/4
	blocks := a.Heads * ((d4 + part - 1) / part)
	p := s.program(h, constants{"UNIT": flag(a.Unit)}, gpu.Read, gpu.ReadWrite)
	in, inAt := x.Frames(a.T, a.N)
	out, outAt := o.Frames(a.T, a.N)
	pairs := int64(a.N) * int64(a.N+1) / 2 * int64(o.H*o.W)
	macs := 2 * pairs * int64(o.C)
	b.Dispatch(label, p, h.cover(extent{o.H, o.W, blocks, a.N}), timeAttentionParams{
		W: uint32(o.W), C4: uint32(o.C4()), D4: uint32(d4), Blocks: uint32(blocks),
		Qkv_at: inAt, Qkv_stride: uint32(x.Stride()), O_at: outAt, O_stride: uint32(o.Stride()),
		Scale: float32(math.Log2E / math.Sqrt(float64(o.C)/float64(a.Heads))),
	}, gpu.Cost{
		FLOPs: 2*macs + 6*pairs*int64(a.Heads), MACs: macs,
		Bytes: int64(a.N) * (x.FrameBytes() + o.FrameBytes()),
	}, in, out)
}

package wgsl

import (
	"math"

	"tessera/gpu"
)

// Attention describes softmax(q k^T / sqrt(C)) v over the pixels of a frame, with
// one head. It goes through blocks of queries and, for each, blocks of keys:
// scores of the block, their powers with a running maximum, values weighted by
// them. No barriers, and scratch that does not grow with the frame.
type Attention struct {
	Queries, Keys int // in a block, multiples of 8; 0 is 4096 and 1024

	QKV  Tensor // 3*Pad4(C) channels: query, key and value of a pixel one after the other, each padded
	O    Tensor // output, C channels
	T, N int    // frames T to T+N-1 of both

	Scores, State, Acc gpu.View // scratch, at least the bytes of Scratch
}

// attentionParams is that of all three phases.
type attentionParams struct {
	First          gpu.First
	N, C4          uint32
	Query, Queries uint32
	Key, Keys      uint32
	Qkv_at, O_at   uint32
	Scale          float32
}

// attentionKernels compute Attention: scores, their powers, values weighted by
// them. Pixels are queries; a block is of keys, then of channels.
var attentionKernels = []kernel{{
	name: "plain",
	shaders: []shader{
		{file: "attention_scores", wg: 64, pixels: 8, block: keyBlock, grid: blockGrid},
		{file: "attention_softmax", wg: 64, grid: frameGrid},
		{file: "attention_values", wg: 64, pixels: 8, block: 8, grid: blockGrid},
	},
}}

// keyBlock divides every block of keys, whatever the kernel: what is beyond the
// last key weighs nothing.
const keyBlock = 8

// padKeys rounds a number of keys up.
func padKeys(n int) int { return (n + keyBlock - 1) / keyBlock * keyBlock }

// blocks are the sizes for n tokens.
func (a Attention) blocks(n int) (queries, keys int) {
	queries, keys = a.Queries, a.Keys
	if queries == 0 {
		queries, keys = 4096, 1024
	}
	return min(queries, n), min(keys, padKeys(n))
}

// Scratch is the bytes of the three buffers that an output like O needs, for
// any number of frames: scores, state of the softmax, unfinished output.
func (a Attention) Scratch() (scores, state, acc int64) {
	queries, keys := a.blocks(a.O.H * a.O.W)
	return 4 * int64(queries) * int64(keys), 16 * int64(queries), 16 * int64(queries) * int64(a.O.C4())
}

// Attention records o = attention(qkv).
func (s *Set) Attention(b *gpu.Batch, label string, a Attention) {
	qkv, o, scores, state, acc := a.QKV, a.O, a.Scores, a.State, a.Acc
	if qkv.C != 3*Pad4(o.C) || qkv.H*qkv.W != o.H*o.W {
		panic(wrong(label, "attention of HxWxC into HxWxC", qkv.H, qkv.W, qkv.C, o.H, o.W, o.C))
	}
	scores.Size, state.Size, acc.Size = a.Scratch()
	queries, keys := a.blocks(o.H * o.W)
	pixels := o.H * o.W
	for f := a.T; f < a.T+a.N; f++ {
		in, inAt := qkv.Frames(f, 1)
		out, outAt := o.Frames(f, 1)
		for q := 0; q < pixels; q += queries {
			for k := 0; k < pixels; k += keys {
				s.attentionBlock(b, label, attentionParams{
					N: uint32(pixels), C4: uint32(o.C4()),
					Query: uint32(q), Queries: uint32(min(queries, pixels-q)),
					Key: uint32(k), Keys: uint32(min(keys, padKeys(pixels-k))),
					Qkv_at: inAt, O_at: outAt, Scale: float32(math.Log2E / math.Sqrt(float64(o.C))),
				}, o, in, scores, state, acc, out)
			}
		}
	}
}

// attentionBlock records the three phases for one block of queries and keys.
func (s *Set) attentionBlock(b *gpu.Batch, label string, p attentionParams, o Tensor, in, scores, state, acc, out gpu.View) {
	const R, W = gpu.Read, gpu.ReadWrite
	queries, keys := int(p.Queries), int(min(p.Keys, p.N-p.Key)) // keys that exist
	pairs := int64(queries) * int64(keys)
	macs := pairs * int64(o.C)
	row := int64(4 * o.Elem.Bytes() * o.C4())
	class := classOf("attention", Shape{O: o.C, I: o.C})
	k := s.kernel(label, class, nil)
	softmax := &k.shaders[1]
	score, scored := s.phase(k, 0, o.C)
	value, valued := s.phase(k, 2, int(p.Keys))

	b.Dispatch(label, s.made(score, class, F32, scored, R, W), score.cover(extent{W: queries, C4: int(p.Keys) / 4, N: 1}), p, gpu.Cost{
		FLOPs: 2*macs + pairs, MACs: macs,
		Bytes: int64(queries+keys)*row + 4*pairs,
	}, in, scores)
	b.Dispatch(label, s.made(softmax, class, F32, nil, W, W), softmax.cover(extent{1, queries, 1, 1}), p, gpu.Cost{
		FLOPs: 4 * pairs,
		Bytes: 8*pairs + 32*int64(queries),
	}, scores, state)
	b.Dispatch(label, s.made(value, class, F32, valued, R, R, R, W, W), value.cover(extent{W: queries, C4: o.C4(), N: 1}), p, gpu.Cost{
		FLOPs: 2*macs + int64(queries)*int64(o.C), MACs: macs,
		Bytes: 4*pairs + 16*int64(queries) + int64(keys)*row + 32*int64(queries)*int64(o.C4()),
	}, in, scores, state, acc, out)
}

// phase is a shader of attention for the set's adapter, and its constants, where
// so many numbers are added up.
func (s *Set) phase(k *kernel, i, terms int) (*shader, constants) {
	h := k.shaders[i].on(s.info)
	c := constants{"ROLLED": flag(s.info.Type == "cpu")}
	h.whole(c, terms)
	return h, c
}

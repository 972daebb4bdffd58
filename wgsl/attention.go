package wgsl

import (
	"math"

	"tessera/gpu"
)

// Attention describes softmax(q k^T / sqrt(C)) v with one head, over the pixels of a
// frame or over those of all frames up to the query's.
//
// It goes through blocks of queries and, for each, blocks of keys: the scores of the
// block, their exponentials with a running maximum, and the values weighted by these.
// It needs no barriers, and its scratch does not grow with the frame.
type Attention struct {
	Queries, Keys int   // per block, multiples of 8; 0 means 4096 and 1024
	Most          int64 // bytes that may be bound at once, for which blocks are made smaller; 0: unlimited

	QKV  Tensor // 3*Pad4(C) channels: a pixel's query, key and value in sequence, each padded
	O    Tensor // output, C channels
	T, N int    // frames T to T+N-1 of both
	Past bool   // the keys include those of frames From on, which must be contiguous
	From int    //

	Scores, State, Acc gpu.View // scratch, at least the bytes of Scratch
}

// attentionParams are the Params of all three phases.
type attentionParams struct {
	First            gpu.First
	N, C4            uint32
	Queries          uint32
	Key, Keys        uint32
	Q_at, K_at, O_at uint32
	Scale            float32
}

// keyBlock divides every block of keys, for every kernel. Positions beyond the last key
// have weight zero.
const keyBlock = 8

// padKeys rounds a number of keys up.
func padKeys(n int) int { return (n + keyBlock - 1) / keyBlock * keyBlock }

// blocks returns the block sizes for n tokens.
func (a Attention) blocks(n int) (queries, keys int) {
	queries, keys = a.Queries, a.Keys
	if queries == 0 {
		queries, keys = 4096, 1024
	}
	queries, keys = min(queries, n), min(keys, padKeys(n))
	if a.Most == 0 {
		return queries, keys
	}
	least := func(n int) int { return max(keyBlock, n/keyBlock*keyBlock) }
	fit := least(int((a.Most - bindAlign) / (3 * a.O.pixelBytes())))
	keys = min(keys, fit)
	return min(queries, fit, least(int(a.Most)/(4*keys))), keys
}

// Scratch returns the bytes of the three buffers for an output like O, for any number
// of frames: scores, state of the softmax, unfinished output.
func (a Attention) Scratch() (scores, state, acc int64) {
	queries, keys := a.blocks(a.O.H * a.O.W)
	return 4 * int64(queries) * int64(keys), 16 * int64(queries), 16 * int64(queries) * int64(a.O.C4())
}

// Attention records o = attention(qkv).
func (s *Set) Attention(b *gpu.Batch, label string, a Attention) {
	qkv, o, scores, state, acc := a.QKV, a.O, a.Scores, a.State, a.Acc
	if qkv.C != 3*Pad4(o.C) || qkv.H*qkv.W != o.H*o.W {
		panic(badNumbers(label, "attention of HxWxC into HxWxC", qkv.H, qkv.W, qkv.C, o.H, o.W, o.C))
	}
	if a.Past && qkv.Rows > 0 && qkv.Rows != qkv.H {
		panic(badNumbers(label, "attention over frames of rows among", qkv.H, qkv.Rows))
	}
	scores.Size, state.Size, acc.Size = a.Scratch()
	queries, keys := a.blocks(o.H * o.W)
	pixels := o.H * o.W
	for f := a.T; f < a.T+a.N; f++ {
		first, tokens := f, pixels // the frames whose keys are read
		if a.Past {
			first, tokens = a.From, (f+1-a.From)*pixels
		}
		for q := 0; q < pixels; q += queries {
			n := min(queries, pixels-q)
			query, queryAt := qkv.pixels(f, q, n)
			out, outAt := o.pixels(f, q, n)
			for k := 0; k < tokens; k += keys {
				key, keyAt := qkv.pixels(first, k, min(keys, tokens-k))
				s.attentionBlock(b, label, attentionParams{
					N: uint32(tokens), C4: uint32(o.C4()), Queries: uint32(n),
					Key: uint32(k), Keys: uint32(min(keys, padKeys(tokens-k))),
					Q_at: queryAt, K_at: keyAt, O_at: outAt, Scale: float32(math.Log2E / math.Sqrt(float64(o.C))),
				}, o, query, key, scores, state, acc, out)
			}
		}
	}
}

// attentionBlock records the three phases for one block of queries and keys.
func (s *Set) attentionBlock(b *gpu.Batch, label string, p attentionParams, o Tensor, query, key, scores, state, acc, out gpu.View) {
	const R, W = gpu.Read, gpu.ReadWrite
	queries, keys := int(p.Queries), int(min(p.Keys, p.N-p.Key)) // without padding
	pairs := int64(queries) * int64(keys)
	macs := pairs * int64(o.C)
	row := int64(4 * o.Elem.Bytes() * o.C4())
	class := classOf("attention", Shape{O: o.C, I: o.C})
	k := s.kernel(label, class, nil)
	softmax := &k.shaders[1]
	score, scored := s.phase(k, 0, o.C)
	value, valued := s.phase(k, 2, int(p.Keys))

	b.Dispatch(label, s.made(score, class, F32, scored, R, R, W), score.cover(extent{W: queries, C4: int(p.Keys) / 4, N: 1}), p, gpu.Cost{
		FLOPs: 2*macs + pairs, MACs: macs,
		Bytes: int64(queries+keys)*row + 4*pairs,
	}, query, key, scores)
	b.Dispatch(label, s.made(softmax, class, F32, nil, W, W), softmax.cover(extent{1, queries, 1, 1}), p, gpu.Cost{
		FLOPs: 4 * pairs,
		Bytes: 8*pairs + 32*int64(queries),
	}, scores, state)
	b.Dispatch(label, s.made(value, class, F32, valued, R, R, R, W, W), value.cover(extent{W: queries, C4: o.C4(), N: 1}), p, gpu.Cost{
		FLOPs: 2*macs + int64(queries)*int64(o.C), MACs: macs,
		Bytes: 4*pairs + 16*int64(queries) + int64(keys)*row + 32*int64(queries)*int64(o.C4()),
	}, key, scores, state, acc, out)
}

// pixels returns a view of n pixels of frame t from number `from` on, and the offset of
// the first one in it, in vec4s.
func (x *Tensor) pixels(t, from, n int) (gpu.View, uint32) {
	at := x.At(t) + int64(from)*x.pixelBytes()
	return x.bytes(at, at+int64(n)*x.pixelBytes())
}

// phase returns an attention shader for the set's adapter with its constants; terms is
// the length of its sums.
func (s *Set) phase(k *kernel, i, terms int) (*shader, constants) {
	h := k.shaders[i].forAdapter(s.info)
	c := constants{"ROLLED": flag(s.info.Type == "cpu")}
	h.setWhole(c, terms)
	return h, c
}

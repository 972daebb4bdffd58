package wgsl

import (
	"fmt"
	"math"

	"tessera/gpu"
)

type attentionParams struct {
	First        gpu.First
	N, C4        uint32
	Qkv_at, O_at uint32
	Scale        float32
}

// Attention records o = softmax(q k^T / sqrt(C)) v for frames t to t+n-1: one
// head per frame, over its pixels. o has C channels; qkv has 3*Pad4(C), the
// query, key and value of a pixel one after the other, each padded.
func (s *Set) Attention(b *gpu.Batch, label string, qkv, o Tensor, t, n int) {
	if qkv.C != 3*Pad4(o.C) || qkv.H*qkv.W != o.H*o.W {
		panic(fmt.Sprintf("wgsl: %s: attention of %dx%d pixels, %d channels into %dx%d, %d", label, qkv.H, qkv.W, qkv.C, o.H, o.W, o.C))
	}
	in, inAt := qkv.Frames(t, n)
	out, outAt := o.Frames(t, n)
	pixels := o.H * o.W
	p := s.program("attention", nil, gpu.Read, gpu.ReadWrite)
	// A workgroup takes 16 queries and 128 vec4s of channels.
	b.Dispatch(label, p, [3]uint32{groups(pixels, 16), uint32(n), groups(o.C4(), 128)}, attentionParams{
		N: uint32(pixels), C4: uint32(o.C4()), Qkv_at: inAt, O_at: outAt,
		Scale: float32(math.Log2E / math.Sqrt(float64(o.C))),
	}, gpu.Cost{
		FLOPs: 4 * int64(n) * int64(pixels) * int64(pixels) * int64(o.C), // the two products
		Bytes: int64(n) * (qkv.FrameBytes() + o.FrameBytes()),
	}, in, out)
}

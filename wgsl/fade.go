package wgsl

import "tessera/gpu"

// Fade blends two frames: the share Weight of B, the rest of A.
type Fade struct {
	A, B, Y Tap // frames of equal size
	Weight  float32
}

type fadeParams struct {
	First            gpu.First
	N                uint32
	A_at, B_at, Y_at uint32
	Weight           float32
}

// Fade records y = a blended into b.
func (s *Set) Fade(b *gpu.Batch, label string, f Fade) {
	y := &f.Y.X
	for _, x := range []*Tensor{&f.A.X, &f.B.X} {
		if x.H != y.H || x.W != y.W || x.C != y.C {
			panic(badNumbers(label, "fade of HxWxC into HxWxC", x.H, x.W, x.C, y.H, y.W, y.C))
		}
	}
	from, fromAt := f.A.X.Frames(f.A.T, 1)
	to, toAt := f.B.X.Frames(f.B.T, 1)
	out, outAt := y.Frames(f.Y.T, 1)
	h := s.shader(label, "fade", nil)
	p := s.program(h, nil, gpu.Read, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{y.H, y.W, y.C4(), 1}), fadeParams{
		N: uint32(y.H * y.W * y.C4()), A_at: fromAt, B_at: toAt, Y_at: outAt, Weight: f.Weight,
	}, gpu.Cost{FLOPs: 3 * int64(y.H*y.W) * int64(y.C), Bytes: 3 * y.FrameBytes()}, from, to, out)
}

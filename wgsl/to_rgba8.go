package wgsl

import (
	"fmt"

	"tessera/gpu"
)

type toRGBA8Params struct {
	First        gpu.First
	H, W         uint32
	H_out, W_out uint32
	Y0, X0, X_at uint32
}

// Crop is a rectangle of a frame, in pixels.
type Crop struct{ Y0, X0, H, W int }

// ToRGBA8 converts numbers in [-1, 1], clamped, to 8-bit red, green, blue, alpha. A
// pixel with a NaN or an infinity becomes 0, including alpha.
type ToRGBA8 struct {
	X    Tensor   // 3 channels
	T, N int      // frames T to T+N-1 of X
	Crop Crop     // the part of the frame to convert
	Y    gpu.View // bytes [N, Crop.H, Crop.W, 4]
}

// ToRGBA8 records y as the bytes of x.
func (s *Set) ToRGBA8(b *gpu.Batch, label string, r ToRGBA8) {
	x, n, c, y := r.X, r.N, r.Crop, r.Y
	bytes := 4 * int64(n) * int64(c.H*c.W)
	if x.C4() != 1 || c.Y0+c.H > x.H || c.X0+c.W > x.W || y.Bytes() < bytes {
		panic(fmt.Sprintf("wgsl: %s: %+v of %dx%dx%d into %d bytes, needs %d", label, c, x.H, x.W, x.C, y.Bytes(), bytes))
	}
	in, inAt := x.Frames(r.T, n)
	h := s.shader(label, "to_rgba8", nil)
	p := s.program(h, nil, gpu.Read, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{c.H, c.W, 1, n}), toRGBA8Params{
		H: uint32(x.rows()), W: uint32(x.W), H_out: uint32(c.H), W_out: uint32(c.W), Y0: uint32(c.Y0), X0: uint32(c.X0), X_at: inAt,
	}, gpu.Cost{
		FLOPs: 4 * int64(n) * int64(c.H*c.W) * 3,
		Bytes: int64(n)*int64(c.H*c.W)*int64(4*x.Elem.Bytes()) + bytes,
	}, in, y)
}

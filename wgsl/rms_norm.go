package wgsl

import (
	"math"

	"tessera/gpu"
)

// RMSNorm describes a norm of each pixel over its channels.
type RMSNorm struct {
	Gamma *gpu.Buffer // f32, a number per channel, padded to a multiple of 4
	Eps   float32     // added to the mean of squares
	SiLU  bool        // y*sigmoid(y) of the result

	X, Y   Tensor // input and output, of equal size; if they share a buffer, their frames must be the same
	XT, YT int    // the first frame of each
	N      int    // frames
}

type rmsNormParams struct {
	First gpu.First
	P, C4 uint32
	Root  float32
	Eps   float32
	X_at  uint32
	Y_at  uint32
}

// rmsGrid covers all pixels; each invocation is one lane of several pixels.
func rmsGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(e.N*e.H*e.W, h.pixels*h.wg/rmsLanes(e.C4)), 1, 1}
}

// rmsLanes returns how many invocations share a pixel of c4 vec4s: 8, so that they read
// 64 or 128 bytes side by side; 16 if each then has enough work; fewer for few vec4s.
// Each adds up the sums of all: on lavapipe, 16 cost a third more than 8 at 192
// channels, a tenth more at 1024, and 32 twice as much.
func rmsLanes(c4 int) int {
	lanes := 8
	if c4 >= 64 {
		lanes = 16
	}
	for lanes > c4 {
		lanes /= 2
	}
	return lanes
}

// RMSNorm records y = norm(x).
func (s *Set) RMSNorm(b *gpu.Batch, label string, r RMSNorm) {
	x, y, n := r.X, r.Y, r.N
	if x.C != y.C || x.H != y.H || x.W != y.W || r.Gamma.Size < int64(4*Pad4(x.C)) {
		panic(badNumbers(label, "rms norm of HxWxC into HxWxC with a gamma of bytes, needs", x.H, x.W, x.C, y.H, y.W, y.C, int(r.Gamma.Size), 4*Pad4(x.C)))
	}
	x.alone(n)
	y.alone(n)
	in, inAt := x.Frames(r.XT, n)
	out, outAt := y.Frames(r.YT, n)
	pixels := n * x.H * x.W
	elements := int64(pixels) * int64(x.C)
	flops := 4 * elements
	if r.SiLU {
		flops += 4 * elements
	}
	const R = gpu.Read
	h := s.shader(label, "rms_norm", nil)
	c, in := inPlace(in, out, r.Gamma.All())
	c["LANES"], c["SILU"] = float64(rmsLanes(x.C4())), flag(r.SiLU)
	p := s.program(h, c, R, R, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{x.H, x.W, x.C4(), n}), rmsNormParams{
		P: uint32(pixels), C4: uint32(x.C4()), Root: float32(math.Sqrt(float64(x.C))), Eps: float32(x.C) * r.Eps, X_at: inAt, Y_at: outAt,
	}, gpu.Cost{FLOPs: flops, Bytes: int64(n)*(x.FrameBytes()+y.FrameBytes()) + r.Gamma.Size}, in, r.Gamma.All(), out)
}

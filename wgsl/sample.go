package wgsl

import (
	"fmt"

	"tessera/gpu"
)

type sampleParams struct {
	First                      gpu.First
	P, Z                       uint32
	Moments_at, Noise_at, Z_at uint32
}

// Sample records the latent z of frames t to t+n-1, in the model's own scale.
// The moments have 2*z.C channels, mean and log-variance. Where noise is nil z
// is the mean; else it is a sample, and noise is N(0,1) shaped like z. z and
// noise are f32 whatever the set's Elem is.
func (s *Set) Sample(b *gpu.Batch, label string, moments Tensor, noise *Tensor, z Tensor, t, n int) {
	if moments.C != 2*z.C {
		panic(fmt.Sprintf("wgsl: %s: moments of %d channels for a latent of %d", label, moments.C, z.C))
	}
	in, inAt := moments.Frames(t, n)
	out, outAt := z.Frames(t, n)
	drawn, drawnAt := in, uint32(0)
	elements := int64(n) * int64(z.H*z.W) * int64(z.C)
	cost := gpu.Cost{Bytes: int64(n) * (moments.FrameBytes() + z.FrameBytes())}
	if noise != nil {
		drawn, drawnAt = noise.Frames(t, n)
		cost.FLOPs += 4 * elements
		cost.Bytes += int64(n) * noise.FrameBytes()
	}
	const R = gpu.Read
	p := s.program("sample", constants{"DRAW": flag(noise != nil)}, R, R, gpu.ReadWrite)
	pixels := n * z.H * z.W
	b.Dispatch(label, p, [3]uint32{groups(pixels*z.C4(), 64), 1, 1}, sampleParams{
		P: uint32(pixels), Z: uint32(z.C), Moments_at: inAt, Noise_at: drawnAt, Z_at: outAt,
	}, cost, in, drawn, out)
}

// groups covers n invocations with workgroups of wg.
func groups(n, wg int) uint32 { return uint32((n + wg - 1) / wg) }

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

// Sample draws latents from moments, in the model's own scale. Z and Noise are always
// f32.
type Sample struct {
	Moments Tensor // 2*Z.C channels, mean and log-variance
	Noise   Tensor // N(0,1), shaped like Z
	Z       Tensor
	T, N    int // frames T to T+N-1 of all
}

// Sample records z, drawn from the moments.
func (s *Set) Sample(b *gpu.Batch, label string, d Sample) {
	moments, noise, z, n := d.Moments, d.Noise, d.Z, d.N
	if moments.C != 2*z.C {
		panic(fmt.Sprintf("wgsl: %s: moments of %d channels for a latent of %d", label, moments.C, z.C))
	}
	moments.alone(n)
	in, inAt := moments.Frames(d.T, n)
	out, outAt := z.Frames(d.T, n)
	drawn, drawnAt := noise.Frames(d.T, n)
	elements := int64(n) * int64(z.H*z.W) * int64(z.C)
	cost := gpu.Cost{FLOPs: 4 * elements, Bytes: int64(n) * (moments.FrameBytes() + z.FrameBytes() + noise.FrameBytes())}
	const R = gpu.Read
	h := s.shader(label, "sample", nil)
	p := s.program(h, nil, R, R, gpu.ReadWrite)
	pixels := n * z.H * z.W
	b.Dispatch(label, p, h.cover(extent{1, pixels, z.C4(), 1}), sampleParams{
		P: uint32(pixels), Z: uint32(z.C), Moments_at: inAt, Noise_at: drawnAt, Z_at: outAt,
	}, cost, in, drawn, out)
}

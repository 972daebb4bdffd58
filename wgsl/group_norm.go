package wgsl

import (
	"fmt"

	"tessera/gpu"
)

// GroupNorm is a group norm over Groups contiguous ranges of a tensor's
// channels, with statistics of each frame by itself.
type GroupNorm struct {
	Gamma, Beta *gpu.Buffer // f32, a number per channel
	Groups      int         // divides the channels, of which there are at most 1024
	Eps         float32
	SiLU        bool // y*sigmoid(y) of the result
}

type groupNormPartialParams struct {
	First               gpu.First
	P, C4, G            uint32
	Size, Chunk, Chunks uint32
	X_at                uint32
}

type groupNormMergeParams struct {
	First               gpu.First
	P, C, C4, G         uint32
	Size, Chunk, Chunks uint32
	X_at                uint32
	Eps                 float32
}

type groupNormApplyParams struct {
	First             gpu.First
	P, C4, Step, X_at uint32
	Y_at              uint32
}

const (
	normWG       = 256  // invocations in a workgroup of the partial and apply phases
	normPixels   = 4    // pixels of an invocation of the apply phase
	normChannels = 1024 // four channels an invocation
	normLeast    = 16   // pixels of an invocation of the partial phase: at least,
	normMost     = 256  // at most,
	normChunks   = 256  // and in between so many that there are about this many chunks
)

// chunk is how many pixels a workgroup of the partial phase takes: a multiple
// of the rows of pixels that its invocations take at a time.
func (g GroupNorm) chunk(x Tensor) int {
	rows := normWG / x.C4()
	each := (x.H*x.W + rows*normChunks - 1) / (rows * normChunks)
	return rows * min(max(each, normLeast), normMost)
}

func (g GroupNorm) chunks(x Tensor) int {
	chunk := g.chunk(x)
	return (x.H*x.W + chunk - 1) / chunk
}

// Scratch is the bytes of the two buffers that norming n frames of x needs.
// WebGPU lets no dispatch write one part of a buffer and read another, so they
// are two. Nothing in them outlives the norm.
func (g GroupNorm) Scratch(x Tensor, n int) (partials, factors int64) {
	return 8 * int64(n) * int64(g.Groups) * int64(g.chunks(x)), 3 * 16 * int64(n) * int64(x.C4())
}

// GroupNorm records y = norm(x) for n frames, from xT of x and yT of y on.
// partials and factors have at least the bytes of g.Scratch(x, n).
func (s *Set) GroupNorm(b *gpu.Batch, label string, g GroupNorm, x Tensor, xT int, y Tensor, yT, n int, partials, factors gpu.View) {
	partialBytes, factorBytes := g.Scratch(x, n)
	if x.C%g.Groups != 0 || x.C > normChannels || partials.Bytes() < partialBytes || factors.Bytes() < factorBytes {
		panic(fmt.Sprintf("wgsl: %s: group norm of %d channels in %d groups with %d and %d bytes of scratch, needs %d and %d",
			label, x.C, g.Groups, partials.Bytes(), factors.Bytes(), partialBytes, factorBytes))
	}
	in, inAt := x.Frames(xT, n)
	out, outAt := y.Frames(yT, n)
	partials.Size, factors.Size = partialBytes, factorBytes
	const R, W = gpu.Read, gpu.ReadWrite

	pixels, frames, groups := x.H*x.W, uint32(n), uint32(g.Groups)
	elements := int64(n) * int64(pixels) * int64(x.C)
	size, chunk, chunks := uint32(x.C/g.Groups), uint32(g.chunk(x)), uint32(g.chunks(x))
	b.Dispatch(label, s.program("group_norm_partial", nil, R, W), [3]uint32{chunks, frames, 1}, groupNormPartialParams{
		P: uint32(pixels), C4: uint32(x.C4()), G: groups, Size: size, Chunk: chunk, Chunks: chunks, X_at: inAt,
	}, gpu.Cost{FLOPs: 5 * elements, Bytes: int64(n)*x.FrameBytes() + partials.Size}, in, partials)

	b.Dispatch(label, s.program("group_norm_merge", nil, R, R, R, R, W), [3]uint32{groups, frames, 1}, groupNormMergeParams{
		P: uint32(pixels), C: uint32(x.C), C4: uint32(x.C4()), G: groups, Size: size, Chunk: chunk, Chunks: chunks, X_at: inAt, Eps: g.Eps,
	}, gpu.Cost{
		FLOPs: 7*int64(n)*int64(groups)*int64(chunks) + 4*int64(n)*int64(x.C),
		Bytes: partials.Size + factors.Size + g.Gamma.Size + g.Beta.Size,
	}, in, partials, g.Gamma.All(), g.Beta.All(), factors)

	step := (pixels + normPixels - 1) / normPixels
	flops := 3 * elements
	if g.SiLU {
		flops += 4 * elements
	}
	width := uint32((step*x.C4() + normWG - 1) / normWG)
	b.Dispatch(label, s.program("group_norm_apply", constants{"SILU": flag(g.SiLU)}, R, R, W), [3]uint32{width, frames, 1}, groupNormApplyParams{
		P: uint32(pixels), C4: uint32(x.C4()), Step: uint32(step), X_at: inAt, Y_at: outAt,
	}, gpu.Cost{FLOPs: flops, Bytes: int64(n)*(x.FrameBytes()+y.FrameBytes()) + factors.Size}, in, factors, out)
}

package wgsl

import (
	"fmt"

	"tessera/gpu"
)

// GroupNorm describes a group norm over Groups contiguous ranges of a tensor's
// channels, with statistics of each frame by itself.
type GroupNorm struct {
	Gamma, Beta *gpu.Buffer // f32, a number per channel
	Groups      int         // divides the channels, of which there are at most 1024
	Eps         float32
	SiLU        bool // y*sigmoid(y) of the result

	X, Y   Tensor // input and output, of the same size; in one buffer they are the same frames
	XT, YT int    // the first frame of each
	N      int    // frames

	Partials, Factors gpu.View // scratch, at least the bytes of Scratch
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

// groupNormKernels compute GroupNorm: moments of chunks of pixels, those of
// groups, the norm.
var groupNormKernels = []kernel{{
	name: "plain",
	shaders: []shader{
		{file: "group_norm_partial", wg: normWG, grid: eachGrid},
		{file: "group_norm_merge", wg: 64, grid: eachGrid},
		{file: "group_norm_apply", wg: 256, pixels: 4, grid: frameGrid},
	},
}}

// Chunks, and with them the scratch, are the same for every kernel.
const (
	normWG       = 256 // invocations in a workgroup of the partial phase
	normChannels = 4 * normWG
	normLeast    = 16  // pixels of an invocation of the partial phase: at least,
	normMost     = 256 // at most,
	normChunks   = 256 // and in between so many that there are about this many chunks
)

// chunk is how many pixels a workgroup of the partial phase takes: a multiple
// of the rows of pixels that its invocations take at a time.
func (g GroupNorm) chunk() int {
	rows := normWG / g.X.C4()
	each := (g.X.H*g.X.W + rows*normChunks - 1) / (rows * normChunks)
	return rows * min(max(each, normLeast), normMost)
}

func (g GroupNorm) chunks() int {
	chunk := g.chunk()
	return (g.X.H*g.X.W + chunk - 1) / chunk
}

// Scratch is the bytes of the two buffers that norming N frames of X needs.
// WebGPU lets no dispatch write one part of a buffer and read another, so they
// are two. Nothing in them outlives the norm.
func (g GroupNorm) Scratch() (partials, factors int64) {
	return 8 * int64(g.N) * int64(g.Groups) * int64(g.chunks()), 3 * 16 * int64(g.N) * int64(g.X.C4())
}

// GroupNorm records y = norm(x).
func (s *Set) GroupNorm(b *gpu.Batch, label string, g GroupNorm) {
	x, y, n, partials, factors := g.X, g.Y, g.N, g.Partials, g.Factors
	partialBytes, factorBytes := g.Scratch()
	if x.C%g.Groups != 0 || x.C > normChannels || partials.Bytes() < partialBytes || factors.Bytes() < factorBytes {
		panic(fmt.Sprintf("wgsl: %s: group norm of %d channels in %d groups with %d and %d bytes of scratch, needs %d and %d",
			label, x.C, g.Groups, partials.Bytes(), factors.Bytes(), partialBytes, factorBytes))
	}
	in, inAt := x.Frames(g.XT, n)
	out, outAt := y.Frames(g.YT, n)
	partials.Size, factors.Size = partialBytes, factorBytes
	const R, W = gpu.Read, gpu.ReadWrite

	pixels := x.H * x.W
	elements := int64(n) * int64(pixels) * int64(x.C)
	size, chunk, chunks := uint32(x.C/g.Groups), uint32(g.chunk()), uint32(g.chunks())
	k := s.kernel(label, "group_norm", nil)
	partial, merge, apply := &k.shaders[0], &k.shaders[1], &k.shaders[2]
	b.Dispatch(label, s.program(partial, nil, R, W), partial.cover(extent{W: int(chunks), N: n}), groupNormPartialParams{
		P: uint32(pixels), C4: uint32(x.C4()), G: uint32(g.Groups), Size: size, Chunk: chunk, Chunks: chunks, X_at: inAt,
	}, gpu.Cost{FLOPs: 5 * elements, Bytes: int64(n)*x.FrameBytes() + partials.Size}, in, partials)

	b.Dispatch(label, s.program(merge, nil, R, R, R, R, W), merge.cover(extent{W: g.Groups, N: n}), groupNormMergeParams{
		P: uint32(pixels), C: uint32(x.C), C4: uint32(x.C4()), G: uint32(g.Groups), Size: size, Chunk: chunk, Chunks: chunks, X_at: inAt, Eps: g.Eps,
	}, gpu.Cost{
		FLOPs: 7*int64(n)*int64(g.Groups)*int64(chunks) + 4*int64(n)*int64(x.C),
		Bytes: partials.Size + factors.Size + g.Gamma.Size + g.Beta.Size,
	}, in, partials, g.Gamma.All(), g.Beta.All(), factors)

	flops := 3 * elements
	if g.SiLU {
		flops += 4 * elements
	}
	c, in := inPlace(in, out, factors)
	c["SILU"] = flag(g.SiLU)
	b.Dispatch(label, s.program(apply, c, R, R, W), apply.cover(extent{x.H, x.W, x.C4(), n}), groupNormApplyParams{
		P: uint32(pixels), C4: uint32(x.C4()), Step: groups(pixels, apply.pixels), X_at: inAt, Y_at: outAt,
	}, gpu.Cost{FLOPs: flops, Bytes: int64(n)*(x.FrameBytes()+y.FrameBytes()) + factors.Size}, in, factors, out)
}

// inPlace says whether a norm of in makes out of itself. Then no buffer may be bound
// twice, and other stands where in would.
func inPlace(in, out, other gpu.View) (constants, gpu.View) {
	if in.Buffer != out.Buffer {
		return constants{}, in
	}
	return constants{"IN_PLACE": 1}, other
}

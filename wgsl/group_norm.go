package wgsl

import "tessera/gpu"

// GroupNorm describes a group norm over Groups contiguous ranges of a tensor's
// channels. Statistics are per frame, or over all frames with Clip.
type GroupNorm struct {
	Gamma, Beta *gpu.Buffer // f32, a number per channel
	Groups      int         // divides the channels, of which there are at most 1024
	Eps         float32
	SiLU, ReLU  bool // activation of the result: y*sigmoid(y), or max(y, 0)
	Clip        bool // statistics cover all frames of GroupFactors

	X, Y   Tensor // input and output, of equal size; if they share a buffer, their frames must be the same
	XT, YT int    // the first frame of each
	N      int    // frames
	Most   int64  // bytes of X that may be bound at once; a larger frame is normed alone, in parts; 0: unlimited
	// Bring uploads bytes of X, which is not on the device, and returns a binding:
	// first of one pixel, then of parts, each valid until the next call. nil: X is on
	// the device.
	Bring func(from, bytes int64) gpu.View

	Partials, Factors gpu.View // scratch, at least the bytes of Scratch
}

type groupNormPartialParams struct {
	First               gpu.First
	P, C4, G            uint32
	Size, Chunk, Chunks uint32
	Base, X_at, Head_at uint32
}

type groupNormMergeParams struct {
	First               gpu.First
	P, C, C4, G         uint32
	Size, Chunk, Chunks uint32
	X_at, Frame         uint32
	Eps                 float32
}

type groupNormApplyParams struct {
	First             gpu.First
	P, C4, Step, X_at uint32
	Y_at, Frame       uint32
}

// All kernels use these chunks, so their scratch has equal size.
const (
	normWG       = 256 // invocations in a workgroup of the partial phase
	normChannels = 4 * normWG
	normLeast    = 16  // least pixels of an invocation of the partial phase
	normMost     = 256 // most pixels
	normChunks   = 256 // between these, the number of chunks to aim for
)

// frames returns N frames and their pixels, counting frames with common statistics as
// one.
func (g *GroupNorm) frames() (pixels, n int) {
	if g.Clip {
		return g.N * g.X.H * g.X.W, 1
	}
	return g.X.H * g.X.W, g.N
}

// frame returns the position of the first frame's factors.
func (g *GroupNorm) frame() uint32 {
	if g.Clip {
		return 0
	}
	return uint32(g.XT)
}

// chunk returns how many pixels a workgroup of the partial phase takes: a multiple of
// the pixels that its invocations read at a time.
func (g *GroupNorm) chunk() int {
	rows := normWG / g.X.C4()
	pixels, _ := g.frames()
	each := (pixels + rows*normChunks - 1) / (rows * normChunks)
	return rows * min(max(each, normLeast), normMost)
}

func (g *GroupNorm) chunks() int {
	chunk := g.chunk()
	pixels, _ := g.frames()
	return (pixels + chunk - 1) / chunk
}

// Scratch returns the bytes of the two buffers for norming N frames of X at once:
// moments, which only GroupFactors needs, and factors of all frames of X, which
// GroupNormed reads. These are two buffers because WebGPU does not let a dispatch write
// one part of a buffer and read another.
func (g *GroupNorm) Scratch() (partials, factors int64) {
	_, n := g.frames()
	return 8 * int64(n) * int64(g.Groups) * int64(g.chunks()), 3 * 16 * int64(g.X.T) * int64(g.X.C4())
}

// phase returns shader i of the kernel, and its program. Merging reads four buffers,
// the others two.
func (g *GroupNorm) phase(s *Set, label string, i int, c constants) (*shader, *gpu.Program) {
	const R, W = gpu.Read, gpu.ReadWrite
	class := classOf("group_norm", Shape{O: g.X.C, I: g.X.C})
	h := s.kernel(label, class, nil).shaders[i].withReLU(g.ReLU && i == 2)
	storage := []gpu.Access{R, R, R, R, W}
	if i != 1 {
		storage = storage[2:]
	}
	return h, s.made(h, class, F32, c, storage...)
}

// GroupNorm records y = norm(x).
func (s *Set) GroupNorm(b *gpu.Batch, label string, g GroupNorm) {
	s.GroupFactors(b, label, &g)
	s.GroupNormed(b, label, &g)
}

// GroupFactors records the factors of frames of X for GroupNormed. The frames must be
// whole.
func (s *Set) GroupFactors(b *gpu.Batch, label string, g *GroupNorm) {
	x, partials, factors := &g.X, g.Partials, g.Factors
	pixels, n := g.frames()
	x.alone(g.N)
	partialBytes, factorBytes := g.Scratch()
	if x.C%g.Groups != 0 || x.C > normChannels || partials.Bytes() < partialBytes || factors.Bytes() < factorBytes {
		panic(badNumbers(label, "group norm of channels in groups with bytes of scratch, needs", x.C, g.Groups, int(partials.Bytes()), int(factors.Bytes()), int(partialBytes), int(factorBytes)))
	}
	partials.Size, factors.Size = partialBytes, factorBytes
	merge, p := g.phase(s, label, 1, nil)
	head, headAt := x.Frames(g.XT, g.N)
	if g.Bring != nil || g.Most > 0 && head.Bytes() > g.Most {
		head, headAt = g.parts(s, b, label, partials)
	} else {
		g.partial(s, b, label, partials, 0, pixels, head, headAt, head, headAt)
	}
	b.Dispatch(label, p, merge.cover(extent{W: g.Groups, N: n}), groupNormMergeParams{
		P: uint32(pixels), C: uint32(x.C), C4: uint32(x.C4()), G: uint32(g.Groups), Size: uint32(x.C / g.Groups),
		Chunk: uint32(g.chunk()), Chunks: uint32(g.chunks()), X_at: headAt, Frame: g.frame(), Eps: g.Eps,
	}, gpu.Cost{
		FLOPs: 7*int64(n)*int64(g.Groups)*int64(g.chunks()) + 4*int64(n)*int64(x.C),
		Bytes: partials.Size + int64(n)*int64(48*x.C4()) + g.Gamma.Size + g.Beta.Size,
	}, head, partials, g.Gamma.All(), g.Beta.All(), factors)
}

// partial records the moments of chunks from number `first` on, over the given number
// of pixels in the view in.
func (g *GroupNorm) partial(s *Set, b *gpu.Batch, label string, to gpu.View, first, pixels int, in gpu.View, at uint32, head gpu.View, headAt uint32) {
	h, p := g.phase(s, label, 0, nil)
	all, n := g.frames()
	chunk, elements := g.chunk(), int64(n)*int64(pixels)*int64(g.X.C)
	b.Dispatch(label, p, h.cover(extent{H: 1, W: (pixels + chunk - 1) / chunk, C4: g.Groups, N: n}), groupNormPartialParams{
		P: uint32(pixels), C4: uint32(g.X.C4()), G: uint32(g.Groups), Size: uint32(g.X.C / g.Groups),
		Chunk: uint32(chunk), Chunks: uint32(g.chunks()), Base: uint32(first), X_at: at, Head_at: headAt,
	}, gpu.Cost{FLOPs: 5 * elements, Bytes: int64(n)*int64(pixels)*g.X.pixelBytes() + to.Size*int64(pixels)/int64(all)}, in, head, to)
}

// GroupNormed records y = norm(x) with existing factors. X and Y may be parts of the
// tensors that the factors belong to.
func (s *Set) GroupNormed(b *gpu.Batch, label string, g *GroupNorm) {
	x, y := &g.X, &g.Y
	x.alone(g.N)
	y.alone(g.N)
	in, inAt := x.Frames(g.XT, g.N)
	out, outAt := y.Frames(g.YT, g.N)
	factors := g.Factors
	if _, all := g.Scratch(); !g.Clip { // the view may hold the factors of one frame only
		factors.Size = all
	}
	pixels, n := g.frames()
	flops := 3 * int64(n) * int64(pixels) * int64(x.C)
	if g.SiLU {
		flops = flops / 3 * 7
	}
	c, in := inPlace(in, out, factors)
	c["SILU"] = flag(g.SiLU)
	h, p := g.phase(s, label, 2, c)
	b.Dispatch(label, p, h.cover(extent{pixels / x.W, x.W, x.C4(), n}), groupNormApplyParams{
		P: uint32(pixels), C4: uint32(x.C4()), Step: groups(pixels, h.pixels), X_at: inAt, Y_at: outAt, Frame: g.frame(),
	}, gpu.Cost{FLOPs: flops, Bytes: int64(g.N)*(x.FrameBytes()+y.FrameBytes()) + int64(n)*int64(48*x.C4())}, in, factors, out)
}

// inPlace reports whether a norm of in overwrites its input. A buffer must not be bound
// twice, so `other` is then bound in place of in.
func inPlace(in, out, other gpu.View) (constants, gpu.View) {
	if in.Buffer != out.Buffer {
		return constants{}, in
	}
	return constants{"IN_PLACE": 1}, other
}

package wgsl

import "tessera/gpu"

// GroupNorm describes a group norm over Groups contiguous ranges of a tensor's
// channels, with statistics of each frame by itself, or of all together.
type GroupNorm struct {
	Gamma, Beta *gpu.Buffer // f32, a number per channel
	Groups      int         // divides the channels, of which there are at most 1024
	Eps         float32
	SiLU, ReLU  bool // y*sigmoid(y) of the result, or what is not below zero
	Clip        bool // statistics are of all frames that GroupFactors is asked for

	X, Y   Tensor // input and output, of the same size; in one buffer they are the same frames
	XT, YT int    // the first frame of each
	N      int    // frames
	Most   int64  // bytes that may be bound of X at once; a frame of more is one, in parts; 0: any
	// Bring has bytes of X, which is not on the device, where they can be bound: a pixel,
	// and then parts, each until the next; nil: X is there.
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

// Chunks, and with them the scratch, are the same for every kernel.
const (
	normWG       = 256 // invocations in a workgroup of the partial phase
	normChannels = 4 * normWG
	normLeast    = 16  // pixels of an invocation of the partial phase: at least,
	normMost     = 256 // at most,
	normChunks   = 256 // and in between so many that there are about this many chunks
)

// frames are N frames of the pixels that have statistics of their own.
func (g *GroupNorm) frames() (pixels, n int) {
	if g.Clip {
		return g.N * g.X.H * g.X.W, 1
	}
	return g.X.H * g.X.W, g.N
}

// frame is where the factors of the first frame are.
func (g *GroupNorm) frame() uint32 {
	if g.Clip {
		return 0
	}
	return uint32(g.XT)
}

// chunk is how many pixels a workgroup of the partial phase takes: a multiple
// of the rows of pixels that its invocations take at a time.
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

// Scratch is the bytes of the two buffers that norming N frames of X at once
// needs. WebGPU lets no dispatch write one part of a buffer and read another, so
// they are two: moments, which only GroupFactors needs, and factors of all frames
// of X, which GroupNormed reads.
func (g *GroupNorm) Scratch() (partials, factors int64) {
	_, n := g.frames()
	return 8 * int64(n) * int64(g.Groups) * int64(g.chunks()), 3 * 16 * int64(g.X.T) * int64(g.X.C4())
}

// phase is a shader of the kernel that norms take, and its program: merging reads four
// buffers, the others two.
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

// GroupFactors records what GroupNormed needs of frames of X, which are whole.
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

// partial records the moments of chunks from number `first` on, of so many pixels
// that lie in a view.
func (g *GroupNorm) partial(s *Set, b *gpu.Batch, label string, to gpu.View, first, pixels int, in gpu.View, at uint32, head gpu.View, headAt uint32) {
	h, p := g.phase(s, label, 0, nil)
	all, n := g.frames()
	chunk, elements := g.chunk(), int64(n)*int64(pixels)*int64(g.X.C)
	b.Dispatch(label, p, h.cover(extent{H: 1, W: (pixels + chunk - 1) / chunk, C4: g.Groups, N: n}), groupNormPartialParams{
		P: uint32(pixels), C4: uint32(g.X.C4()), G: uint32(g.Groups), Size: uint32(g.X.C / g.Groups),
		Chunk: uint32(chunk), Chunks: uint32(g.chunks()), Base: uint32(first), X_at: at, Head_at: headAt,
	}, gpu.Cost{FLOPs: 5 * elements, Bytes: int64(n)*int64(pixels)*g.X.pixelBytes() + to.Size*int64(pixels)/int64(all)}, in, head, to)
}

// GroupNormed records y = norm(x), by factors that are there. X and Y may be parts
// of those of which they are.
func (s *Set) GroupNormed(b *gpu.Batch, label string, g *GroupNorm) {
	x, y := &g.X, &g.Y
	x.alone(g.N)
	y.alone(g.N)
	in, inAt := x.Frames(g.XT, g.N)
	out, outAt := y.Frames(g.YT, g.N)
	factors := g.Factors
	if _, all := g.Scratch(); !g.Clip { // there may be those of one frame alone
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

// inPlace says whether a norm of in makes out of itself. Then no buffer may be bound
// twice, and other stands where in would.
func inPlace(in, out, other gpu.View) (constants, gpu.View) {
	if in.Buffer != out.Buffer {
		return constants{}, in
	}
	return constants{"IN_PLACE": 1}, other
}

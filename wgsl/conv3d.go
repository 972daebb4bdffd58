package wgsl

import "tessera/gpu"

// Tensor is an activation in memory: frames of [H, W, C] channels-last, C
// padded to a multiple of 4, frame t at Frame(t).
type Tensor struct {
	Buffer *gpu.Buffer
	Elem   Elem
	T      int // frames
	H, W   int // pixels
	C      int // channels, not padded
}

// C4 is the number of vec4s in a pixel.
func (x Tensor) C4() int { return Pad4(x.C) / 4 }

// Stride is the number of vec4s in a frame.
func (x Tensor) Stride() int { return x.H * x.W * x.C4() }

// FrameBytes is the size of one frame.
func (x Tensor) FrameBytes() int64 { return int64(x.Stride()) * int64(4*x.Elem.Bytes()) }

// Bytes is the size of the whole.
func (x Tensor) Bytes() int64 { return int64(x.T) * x.FrameBytes() }

// bindAlign is the largest StorageAlignment any device asks for.
const bindAlign = 256

// Frames binds n frames from t on: a view that starts at a multiple of
// bindAlign, and the offset of frame t in it in vec4s.
func (x Tensor) Frames(t, n int) (gpu.View, uint32) {
	from := int64(t) * x.FrameBytes()
	start := from &^ (bindAlign - 1)
	return gpu.View{Buffer: x.Buffer, Offset: start, Size: from + int64(n)*x.FrameBytes() - start},
		uint32((from - start) / int64(4*x.Elem.Bytes()))
}

// Weights are a convolution's, packed by PackConv: weight as Elem, bias f32.
type Weights struct {
	Weight, Bias *gpu.Buffer
	Elem         Elem
}

// Tap is where one temporal tap reads: frame t of x for the first output frame.
type Tap struct {
	X Tensor
	T int
}

type conv3dParams struct {
	First                         gpu.First
	H, W, C_in4, C_out4           uint32
	X0_at, X1_at, X2_at, X_stride uint32
	Y_at, Y_stride                uint32
	Segments, Across              uint32
}

type conv3dStridedParams struct {
	First                         gpu.First
	H_in, W_in, W, C_in4, C_out4  uint32
	X0_at, X1_at, X2_at, X_stride uint32
	Y_at, Y_stride                uint32
	Segments, Across              uint32
}

// Conv3D describes one dispatch of a causal convolution.
type Conv3D struct {
	Weights
	Taps   []Tap  // 1 or 3, as the kernel has temporal taps
	Step   int    // frames of x between output frames: the temporal stride
	Stride int    // 1 with one pixel of padding around, 2 with one right and below
	Y      Tensor // output
	T, N   int    // output frames T to T+N-1
	Add    bool   // add to Y, which holds the residual; Stride 1 only
}

const convWG = 64 // invocations in a workgroup of the convolutions

// Conv3D records a 3x3 convolution with one or three temporal taps.
func (s *Set) Conv3D(b *gpu.Batch, label string, c Conv3D) {
	x := c.Taps[0].X
	views := make([]gpu.View, 3)
	var at [3]uint32
	for k := range views {
		tap := c.Taps[min(k, len(c.Taps)-1)]
		views[k], at[k] = tap.X.Frames(tap.T, (c.N-1)*c.Step+1)
	}
	y, yAt := c.Y.Frames(c.T, c.N)
	blocks := (c.Y.C4() + 1) / 2
	cost := gpu.Cost{
		FLOPs: 2 * int64(c.N) * int64(c.Y.H*c.Y.W) * int64(c.Y.C) * int64(x.C) * 9 * int64(len(c.Taps)),
		Bytes: views[0].Bytes() + y.Bytes() + c.Weight.Size,
	}
	const R, W = gpu.Read, gpu.ReadWrite
	if c.Stride == 2 {
		segments := c.Y.H * ((c.Y.W + 3) / 4)
		groups, across := grid(segments, blocks, c.N)
		p := s.weighted("conv3d_strided", c.Elem, constants{"WG": convWG, "KT": float64(len(c.Taps))}, R, R, R, R, R, W)
		b.Dispatch(label, p, groups, conv3dStridedParams{
			H_in: uint32(x.H), W_in: uint32(x.W), W: uint32(c.Y.W), C_in4: uint32(x.C4()), C_out4: uint32(c.Y.C4()),
			X0_at: at[0], X1_at: at[1], X2_at: at[2], X_stride: uint32(c.Step * x.Stride()),
			Y_at: yAt, Y_stride: uint32(c.Y.Stride()), Segments: uint32(segments), Across: across,
		}, cost, views[0], views[1], views[2], c.Weight.All(), c.Bias.All(), y)
		return
	}
	segments := c.Y.H * ((c.Y.W + 7) / 8)
	groups, across := grid(segments, blocks, c.N)
	p := s.weighted("conv3d", c.Elem, constants{"WG": convWG, "KT": float64(len(c.Taps)), "ACCUMULATE": flag(c.Add)}, R, R, R, R, R, W)
	b.Dispatch(label, p, groups, conv3dParams{
		H: uint32(x.H), W: uint32(x.W), C_in4: uint32(x.C4()), C_out4: uint32(c.Y.C4()),
		X0_at: at[0], X1_at: at[1], X2_at: at[2], X_stride: uint32(c.Step * x.Stride()),
		Y_at: yAt, Y_stride: uint32(c.Y.Stride()), Segments: uint32(segments), Across: across,
	}, cost, views[0], views[1], views[2], c.Weight.All(), c.Bias.All(), y)
}

// flag is a boolean override.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// grid covers n segments of pixels and blocks of eight output channels with
// workgroups of convWG, across segments wide.
func grid(n, blocks, frames int) (groups [3]uint32, across uint32) {
	across = convWG
	for across > 1 && int(across/2) >= n {
		across /= 2
	}
	wide, deep := int(across), convWG/int(across)
	return [3]uint32{uint32((n + wide - 1) / wide), uint32((blocks + deep - 1) / deep), uint32(frames)}, across
}

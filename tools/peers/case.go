package main

import (
	"fmt"
	"math/rand/v2"
)

// Case is an operation on T frames of HxW pixels, as in SeedVR2's and Wan's networks,
// or the whole decoder of a picture of HxW pixels. Its numbers are channels first, as
// in PyTorch and onnx.
type Case struct {
	Op  string `json:"op"` // conv3d, conv2d, norm, attention or decoder
	In  int    `json:"in"` // channels
	Out int    `json:"out"`
	T   int    `json:"t"`
	H   int    `json:"h"`
	W   int    `json:"w"`
	Of  string `json:"of"` // the network
}

// Names of operations.
const (
	conv3d    = "conv3d"
	conv2d    = "conv2d"
	norm      = "norm"
	attention = "attention"
	decoder   = "decoder"
)

// cell is the number of rows and columns of pixels per latent cell.
const cell = 8

// Every norm has these groups and epsilon.
const (
	groups = 32
	eps    = 1e-6
)

// native are the cases on a native adapter, as large as a peer computes in seconds on a
// processor.
var native = []Case{
	{Op: conv3d, In: 32, Out: 32, T: 8, H: 32, W: 32, Of: "as measured before"},
	{Op: conv3d, In: 128, Out: 128, T: 4, H: 32, W: 32, Of: "SeedVR2"},
	{Op: conv3d, In: 256, Out: 256, T: 4, H: 16, W: 32, Of: "SeedVR2"},
	{Op: conv3d, In: 512, Out: 512, T: 4, H: 16, W: 16, Of: "SeedVR2"},
	{Op: conv3d, In: 96, Out: 96, T: 8, H: 32, W: 32, Of: "Wan 2.1"},
	{Op: conv3d, In: 192, Out: 192, T: 4, H: 32, W: 32, Of: "Wan 2.1"},
	{Op: conv3d, In: 384, Out: 384, T: 4, H: 16, W: 16, Of: "Wan 2.1"},
	{Op: conv2d, In: 128, Out: 128, T: 1, H: 64, W: 64, Of: "SeedVR2"},
	{Op: conv2d, In: 192, Out: 96, T: 1, H: 64, W: 64, Of: "Wan 2.1"},
	{Op: conv2d, In: 384, Out: 192, T: 1, H: 32, W: 32, Of: "Wan 2.1"},
	{Op: norm, In: 128, Out: 128, T: 1, H: 256, W: 256, Of: "SeedVR2"},
	{Op: norm, In: 512, Out: 512, T: 1, H: 64, W: 64, Of: "SeedVR2"},
	{Op: norm, In: 96, Out: 96, T: 1, H: 256, W: 256, Of: "Wan's channels"},
	{Op: attention, In: 512, Out: 512, T: 1, H: 32, W: 32, Of: "SeedVR2"},
	{Op: attention, In: 384, Out: 384, T: 1, H: 32, W: 32, Of: "Wan 2.1"},
}

// inPage are the cases in Chromium, whose adapter on a processor is a tenth as fast.
var inPage = []Case{
	{Op: conv3d, In: 32, Out: 32, T: 8, H: 32, W: 32, Of: "as measured before"},
	{Op: conv3d, In: 128, Out: 128, T: 4, H: 16, W: 16, Of: "SeedVR2"},
	{Op: conv3d, In: 256, Out: 256, T: 4, H: 8, W: 16, Of: "SeedVR2"},
	{Op: conv3d, In: 96, Out: 96, T: 4, H: 16, W: 16, Of: "Wan 2.1"},
	{Op: conv3d, In: 192, Out: 192, T: 4, H: 8, W: 16, Of: "Wan 2.1"},
	{Op: conv2d, In: 64, Out: 64, T: 1, H: 64, W: 64, Of: "as measured before"},
	{Op: conv2d, In: 128, Out: 128, T: 1, H: 32, W: 32, Of: "SeedVR2"},
	{Op: conv2d, In: 192, Out: 96, T: 1, H: 32, W: 32, Of: "Wan 2.1"},
	{Op: norm, In: 128, Out: 128, T: 1, H: 128, W: 128, Of: "SeedVR2"},
	{Op: norm, In: 96, Out: 96, T: 1, H: 128, W: 128, Of: "Wan's channels"},
	{Op: attention, In: 512, Out: 512, T: 1, H: 16, W: 16, Of: "SeedVR2"},
	{Op: attention, In: 384, Out: 384, T: 1, H: 16, W: 16, Of: "Wan 2.1"},
}

// decoders are Stable Diffusion's, for square pictures of these sizes.
func decoders(sizes []int) (all []Case) {
	for _, size := range sizes {
		all = append(all, Case{Op: decoder, In: 4, Out: 3, T: 1, H: size, W: size, Of: "Stable Diffusion"})
	}
	return all
}

func (c Case) String() string {
	channels := fmt.Sprint(c.In)
	if c.Op == conv3d || c.Op == conv2d || c.Op == decoder {
		channels = fmt.Sprintf("%d→%d", c.In, c.Out)
	}
	return fmt.Sprintf("%s %s on %d×%d×%d", c.Op, channels, c.T, c.H, c.W)
}

// taps returns the number of temporal taps.
func (c Case) taps() int {
	if c.Op == conv3d {
		return 3
	}
	return 1
}

func (c Case) pixels() int { return c.T * c.H * c.W }

// inputs returns how many numbers an input has: [In, T, H, W], for attention three
// times [H*W, In] of query, key and value, for a decoder the latent.
func (c Case) inputs() int {
	switch c.Op {
	case attention:
		return 3 * c.In * c.pixels()
	case decoder:
		return c.In * c.pixels() / (cell * cell)
	}
	return c.In * c.pixels()
}

func (c Case) outputs() int { return c.Out * c.pixels() }

// flops returns the operation's FLOPs, without work that is not a product. Those of a
// decoder are not counted.
func (c Case) flops() float64 {
	switch c.Op {
	case attention:
		n := float64(c.pixels())
		return 4 * n * n * float64(c.In)
	case norm, decoder:
		return 0
	}
	return 2 * 9 * float64(c.taps()*c.In*c.outputs())
}

// numbers are a case's input and its learned numbers: for a convolution the weight
// [Out, In, taps, 3, 3] and the bias, for a norm gamma and beta. A decoder's weights
// are a file.
type numbers struct{ x, weight, bias []float32 }

// numbers returns the same numbers every time.
func (c Case) numbers() numbers {
	r := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- no secret depends on it
	n := numbers{x: normal(r, c.inputs(), 1)}
	switch c.Op {
	case conv3d, conv2d:
		n.weight, n.bias = normal(r, c.Out*c.In*c.taps()*9, 0.05), normal(r, c.Out, 1)
	case norm:
		n.weight, n.bias = normal(r, c.In, 1), normal(r, c.In, 1)
	}
	return n
}

func normal(r *rand.Rand, n int, deviation float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(deviation * r.NormFloat64())
	}
	return v
}

// nmse is the normalised mean square error.
func nmse(got, want []float32) float64 {
	var d, s float64
	for i := range want {
		e := float64(got[i]) - float64(want[i])
		d += e * e
		s += float64(want[i]) * float64(want[i])
	}
	return d / s
}

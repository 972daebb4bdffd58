package wgsl

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// BenchmarkConv3D times a 3x3x3 convolution, readback included, in every kernel
// that the adapter can run.
func BenchmarkConv3D(b *testing.B) {
	benchmark(b, "conv3d", []int{32, 128, 256}, func(s *Set, batch *gpu.Batch, x, y Tensor, w Weights) Weights {
		w.Packing = s.ConvPacking(Shape{O: y.C, I: x.C, KT: 3, KS: 3}, 1)
		s.Conv3D(batch, "conv3d", Conv3D{Weights: w, Taps: []Tap{{x, 0}, {x, 1}, {x, 2}}, Step: 1, Stride: 1, Y: y, N: y.T})
		return w
	}, 27)
}

// BenchmarkStrided times a 3x3x3 convolution of stride 2 in the same way; its output
// has a quarter of the pixels.
func BenchmarkStrided(b *testing.B) {
	benchmark(b, "conv3d_strided", []int{128, 256, 512}, func(s *Set, batch *gpu.Batch, x, y Tensor, w Weights) Weights {
		w.Packing = s.ConvPacking(Shape{O: y.C, I: x.C, KT: 3, KS: 3}, 2)
		y.H, y.W = x.H/2, x.W/2
		s.Conv3D(batch, "conv3d", Conv3D{Weights: w, Taps: []Tap{{x, 0}, {x, 1}, {x, 2}}, Step: 1, Stride: 2, Y: y, N: y.T})
		return w
	}, 27)
}

// BenchmarkPointwise times a 1x1 convolution in the same way.
func BenchmarkPointwise(b *testing.B) {
	benchmark(b, "pointwise", []int{128, 512}, func(s *Set, batch *gpu.Batch, x, y Tensor, w Weights) Weights {
		w.Packing = s.PointwisePacking(Shape{O: y.C, I: x.C, KT: 1, KS: 1})
		s.Pointwise(batch, "pointwise", Pointwise{Weights: w, X: x, Y: y, N: y.T})
		return w
	}, 1)
}

func benchmark(b *testing.B, operation string, widths []int, record func(s *Set, batch *gpu.Batch, x, y Tensor, w Weights) Weights, taps int) {
	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	if err != nil {
		b.Skip(err)
	}
	defer dev.Close()
	b.Log(dev.Info().Name)
	for _, c := range widths {
		for _, name := range Kernels(operation, F32, dev.Info()) {
			for _, elem := range []Elem{F32, Packed} {
				b.Run(fmt.Sprintf("%d/%s/%s", c, name, elem), func(b *testing.B) {
					s, err := NewSet(F32, dev.Info(), Choices{operation: name})
					require.NoError(b, err)
					x := Tensor{Buffer: &gpu.Buffer{Label: "x"}, Elem: F32, T: 6, H: 32, W: 32, C: c}
					y := Tensor{Buffer: &gpu.Buffer{Label: "y"}, Elem: F32, T: 4, H: 32, W: 32, C: c}
					x.Buffer.Size, y.Buffer.Size = x.Bytes(), y.Bytes()
					w := Weights{
						Weight: &gpu.Buffer{Label: "weight", Size: int64(c * c * taps * elem.Bytes())},
						Bias:   &gpu.Buffer{Label: "bias", Size: int64(4 * c)}, Elem: elem,
					}
					batch := &gpu.Batch{Label: operation}
					w = record(s, batch, x, y, w)
					repeat(b, dev, batch, x.Buffer, y.Buffer, w.Weight, w.Bias)
				})
			}
		}
	}
}

// repeat runs a batch b.N times, after runs that compile, and reads the second buffer
// each time.
func repeat(b *testing.B, dev *gpu.Device, batch *gpu.Batch, bufs ...*gpu.Buffer) {
	ctx := context.Background()
	require.NoError(b, dev.Alloc(bufs...))
	defer dev.Free(bufs...)
	out := make([]byte, bufs[1].Size)
	run := func() {
		require.NoError(b, dev.Submit(ctx, batch))
		require.NoError(b, dev.Read(ctx, out, bufs[1].All()))
	}
	for range 3 {
		run()
	}
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(batch.Cost().FLOPs)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkUpsampler measures SeedVR2's upsamplers in the steady state, on two frames:
// the separate layers, and folded. GFLOP/s count what each computes.
func BenchmarkUpsampler(b *testing.B) {
	dev := gputest.Open(b)
	b.Log(dev.Info().Name)
	for _, c := range []struct{ c, h, w, z int }{{512, 8, 8, 2}, {256, 16, 16, 1}} {
		name := fmt.Sprintf("%d channels to %d phases", c.c, c.z)
		b.Run(name+"/apart", func(b *testing.B) { benchApart(b, dev, c.c, c.h, c.w, c.z) })
		b.Run(name+"/folded", func(b *testing.B) { benchFolded(b, dev, c.c, c.h, c.w, c.z) })
	}
}

// benchWeights returns weights of zeros.
func benchWeights(b *testing.B, dev *gpu.Device, p *Packing, s Shape, bias int) Weights {
	w := Weights{Weight: &gpu.Buffer{Label: "weight", Size: int64(4 * p.Size(s))}, Bias: &gpu.Buffer{Label: "bias", Size: int64(4 * bias)}, Elem: F32, Packing: p}
	require.NoError(b, dev.Alloc(w.Weight, w.Bias))
	b.Cleanup(func() { dev.Free(w.Weight, w.Bias) })
	return w
}

func benchTensor(label string, t, h, w, c int) Tensor {
	x := Tensor{Elem: F32, T: t, H: h, W: w, C: c}
	return x.in(&gpu.Buffer{Label: label, Size: x.Bytes()})
}

func benchApart(b *testing.B, dev *gpu.Device, c, h, w, z int) {
	s, batch := plain(b, F32), &gpu.Batch{Label: "upsampler"}
	x, u, y := benchTensor("x", 2, h, w, c), benchTensor("u", 2*z+2, 2*h, 2*w, c), benchTensor("y", 2*z, 2*h, 2*w, c)
	up, conv := Shape{O: 4 * z * c, I: c, KT: 1, KS: 1}, Shape{O: c, I: c, KT: 3, KS: 3}
	s.PixelShuffle(batch, "shuffle", PixelShuffle{Weights: benchWeights(b, dev, s.PointwisePacking(up), up, up.O), X: x, Y: u, YT: 2, N: 2, Phases: z})
	s.Conv3D(batch, "conv", Conv3D{
		Weights: benchWeights(b, dev, s.ConvPacking(conv, 1), conv, c), Taps: []Tap{{u, 0}, {u, 1}, {u, 2}}, Step: 1, Stride: 1, Y: y, N: 2 * z,
	})
	gputest.Benchmark(b, dev, batch, x.Buffer, u.Buffer, y.Buffer)
	dev.Free(x.Buffer, u.Buffer, y.Buffer)
}

func benchFolded(b *testing.B, dev *gpu.Device, c, h, w, z int) {
	s, batch := plain(b, F32), &gpu.Batch{Label: "upsampler"}
	taps := 4 - z
	x, y := benchTensor("x", 1+taps, h, w, c), benchTensor("y", 2*z, 2*h, 2*w, c)
	shape := ConvUpShape(c, c, taps, z)
	up := ConvUp{Weights: benchWeights(b, dev, s.ConvUpPacking(shape), shape, ConvUpBias(shape)), Phases: z, Y: y, N: 2}
	for k := range taps {
		up.Taps = append(up.Taps, Tap{x, k})
	}
	s.ConvUp(batch, "folded", up)
	gputest.Benchmark(b, dev, batch, x.Buffer, y.Buffer)
	dev.Free(x.Buffer, y.Buffer)
}

// BenchmarkConv3DWinograd times four frames of a 3x3x3 convolution in the steady state:
// separate frames in one dispatch, and Winograd's F(2,3) or F(4,3), including its
// weights. GFLOP/s count the first one's operations.
func BenchmarkConv3DWinograd(b *testing.B) {
	dev := gputest.Open(b)
	b.Log(dev.Info().Name)
	for _, elem := range []Elem{F32, Packed} {
		for _, c := range []struct{ c, h, w int }{{128, 32, 32}, {256, 16, 16}, {512, 16, 16}} {
			for _, kernel := range Kernels("conv3d_winograd", elem, dev.Info()) {
				b.Run(fmt.Sprintf("%d/%s/%s", c.c, elem, kernel), func(b *testing.B) {
					s, err := NewSet(elem, dev.Info(), Choices{"conv3d_winograd": kernel})
					require.NoError(b, err)
					x, y, shape := benchTensor("x", 6, c.h, c.w, c.c), benchTensor("y", 4, c.h, c.w, c.c), Shape{O: c.c, I: c.c, KT: 3, KS: 3}
					x.Elem, y.Elem = elem, elem
					w, batch := benchWeights(b, dev, s.ConvPacking(shape, 1), shape, c.c), &gpu.Batch{Label: kernel}
					buffers := []*gpu.Buffer{x.Buffer}
					if s.UsesWinograd(w.Packing, shape) {
						s.Conv3DWinograd(batch, "winograd", s.WinogradOf(batch, "taps", w, x, y, s.WinogradFrames(shape, 4), func(label string, bytes int64) *gpu.Buffer {
							made := &gpu.Buffer{Label: label, Size: bytes}
							buffers = append(buffers, made)
							return made
						}))
					} else {
						s.Conv3D(batch, "conv3d", Conv3D{Weights: w, Taps: []Tap{{x, 0}, {x, 1}, {x, 2}}, Step: 1, Stride: 1, Y: y, N: 4})
					}
					buffers = append(buffers, y.Buffer)
					gputest.Benchmark(b, dev, batch, buffers...)
					dev.Free(buffers...)
				})
			}
		}
	}
}

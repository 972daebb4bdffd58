package wgsl

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

func BenchmarkConv3D(b *testing.B) {
	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	if err != nil {
		b.Skip(err)
	}
	defer dev.Close()
	b.Log(dev.Info().Name)
	for _, elem := range []Elem{F32, Packed} {
		b.Run("weights "+elem.String(), func(b *testing.B) { benchConv(b, dev, elem) })
	}
}

func benchConv(b *testing.B, dev *gpu.Device, elem Elem) {
	set := plain(b, F32)
	shape := Shape{O: 32, I: 32, KT: 3, KS: 3}
	x := Tensor{Buffer: &gpu.Buffer{Label: "x"}, Elem: F32, T: 10, H: 32, W: 32, C: 32}
	y := Tensor{Buffer: &gpu.Buffer{Label: "y"}, Elem: F32, T: 8, H: 32, W: 32, C: 32}
	x.Buffer.Size, y.Buffer.Size = x.Bytes(), y.Bytes()
	packing := set.ConvPacking(shape, 1)
	w := Weights{
		Weight: &gpu.Buffer{Label: "w", Size: int64(packing.Size(shape) * elem.Bytes())},
		Bias:   &gpu.Buffer{Label: "bias", Size: 4 * 32}, Elem: elem, Packing: packing,
	}
	require.NoError(b, dev.Alloc(x.Buffer, y.Buffer, w.Weight, w.Bias))
	batch := &gpu.Batch{Label: "conv3d"}
	set.Conv3D(batch, "conv3d", Conv3D{Weights: w, Taps: []Tap{{x, 0}, {x, 1}, {x, 2}}, Step: 1, Stride: 1, Y: y, T: 0, N: 8})
	out := make([]byte, y.Bytes())
	run := func() {
		require.NoError(b, dev.Submit(context.Background(), batch))
		require.NoError(b, dev.Read(context.Background(), out, y.Buffer.All()))
	}
	for range 5 {
		run()
	}
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(batch.Cost().FLOPs)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkUpsampler is SeedVR2's upsamplers in the steady state, on two frames: the
// layers one after the other, and folded. GFLOP/s are of what each computes.
func BenchmarkUpsampler(b *testing.B) {
	dev := gputest.Open(b)
	b.Log(dev.Info().Name)
	for _, c := range []struct{ c, h, w, z int }{{512, 8, 8, 2}, {256, 16, 16, 1}} {
		name := fmt.Sprintf("%d channels to %d phases", c.c, c.z)
		b.Run(name+"/apart", func(b *testing.B) { benchApart(b, dev, c.c, c.h, c.w, c.z) })
		b.Run(name+"/folded", func(b *testing.B) { benchFolded(b, dev, c.c, c.h, c.w, c.z) })
	}
}

// benchWeights are weights of zeros.
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
	up, conv := Shape{4 * z * c, c, 1, 1}, Shape{c, c, 3, 3}
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

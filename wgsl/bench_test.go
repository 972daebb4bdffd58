package wgsl

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
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

package runner

import (
	"context"
	"time"

	"tessera/engine"
	"tessera/gpu"
	"tessera/wgsl"
)

// Speed convolves a picture that occupies the slowest processor for a moment, then larger
// ones for the fastest card, until it has measured long enough.
const (
	speedChannels = 96
	speedSide     = 16  // of the first picture, in pixels
	speedLargest  = 512 // of the last: 100 MB of f32
	speedEnough   = 60 * time.Millisecond
)

// Speed measures how many FLOPs per second a device reaches in the convolutions that
// networks are made of. It takes about a tenth of a second. A network reaches about this
// speed, within a factor of 2.
func Speed(ctx context.Context, dev *gpu.Device, k engine.Kernels) (float64, error) {
	for side := speedSide; ; side *= 2 {
		b, buffers := speedBatch(k.Activations, side)
		err := dev.Alloc(buffers...)
		var took time.Duration
		for range 2 { // the first compiles
			if err == nil {
				start := time.Now()
				if err = dev.Submit(ctx, b); err == nil {
					err = dev.Wait(ctx)
				}
				took = time.Since(start)
			}
		}
		dev.Free(buffers...)
		if err != nil {
			return 0, err
		}
		if took >= speedEnough || side >= speedLargest {
			return float64(b.Cost().FLOPs) / took.Seconds(), nil
		}
	}
}

// speedBatch convolves a square.
func speedBatch(set *wgsl.Set, side int) (*gpu.Batch, []*gpu.Buffer) {
	shape := wgsl.Shape{O: speedChannels, I: speedChannels, KT: 1, KS: 3}
	packing := set.ConvPacking(shape, 1)
	stored := wgsl.F32
	if set.Elem.Bytes() < stored.Bytes() {
		stored = wgsl.Packed // weights in halves are packed, whatever activations are
	}
	x := wgsl.Tensor{Elem: set.Elem, T: 1, H: side, W: side, C: speedChannels}
	y := x
	x.Buffer = &gpu.Buffer{Label: "speed in", Size: x.Bytes()}
	y.Buffer = &gpu.Buffer{Label: "speed out", Size: y.Bytes()}
	w := wgsl.Weights{
		Weight: &gpu.Buffer{Label: "speed weight", Size: int64(packing.Size(shape) * stored.Bytes())},
		Bias:   &gpu.Buffer{Label: "speed bias", Size: 4 * speedChannels}, Elem: stored, Packing: packing,
	}
	b := &gpu.Batch{Label: "speed"}
	set.Conv3D(b, "speed", wgsl.Conv3D{Weights: w, KT: 1, Taps: []wgsl.Tap{{X: x}}, Step: 1, Stride: 1, Y: y, N: 1})
	return b, []*gpu.Buffer{x.Buffer, y.Buffer, w.Weight, w.Bias}
}

package tune

import (
	"context"

	"tessera/gpu"
	"tessera/wgsl"
)

// Speed returns the GFLOP/s of the fastest kernel of a device in a convolution that most
// models spend most of their time in. It makes and stores the trials of that convolution,
// however long they take.
func (t *Tuner) Speed(ctx context.Context, dev *gpu.Device, elem wgsl.Elem) (float64, error) {
	patient := *t
	patient.Patient, patient.Least = true, 1
	set, err := patient.newSet(elem, dev.Info(), nil)
	if err != nil {
		return 0, err
	}
	weight := wgsl.F32
	if elem.Bytes() < weight.Bytes() {
		weight = wgsl.Packed // whatever activations are
	}
	d := workload{wgsl.Workload{Class: wgsl.Class{Operation: "conv3d", In: 128, Out: 128}, Taps: 3, Weight: weight}, least}
	c := patient.begin(ctx, dev, set)
	if err := c.verifyAll(map[wgsl.Workload]int64{d.Workload: least}); err != nil {
		return 0, err
	}
	if err := c.tryAll([]workload{d}); err != nil {
		return 0, err
	}
	kernels := c.trusted(d)
	if trial := c.record.trial(c.about(d)); trial != nil {
		return trial.GFLOPs[trial.quickest(kernels, c.margin())], nil
	}
	_, flops, err := c.speed(d, kernels[0])
	return flops / 1e9, err
}

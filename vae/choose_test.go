//go:build !js

package vae

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tiling"
	"tessera/wgsl"
)

// tiler chooses tiled kernels for products, and counts its calls.
type tiler struct {
	off bool
	on  []*gpu.Device
}

func (c *tiler) choose(_ context.Context, dev *gpu.Device, _ *wgsl.Set, work map[wgsl.Workload]int64, _ wgsl.Choices) (wgsl.Choices, error) {
	c.on = append(c.on, dev)
	choices := wgsl.Choices{}
	for d, flops := range work {
		if d.Operation == "pointwise" && flops > 0 && !c.off {
			choices[d.Class.String()] = "tiled"
		}
	}
	return choices, nil
}

// usesTiled reports whether a plan's products use tiled kernels.
func usesTiled(p *Plan) bool {
	for program := range p.Programs() {
		if program.Label == "pointwise_tiled_f32" {
			return true
		}
	}
	return false
}

// A job runs the kernels that were chosen for it, with weights packed for them, and uses
// as much memory as planned. Another choice replaces the weights, and each of several
// adapters has its own choice.
func TestChosenKernels(t *testing.T) {
	dev := gputest.Open(t)
	path := made(t, "choose.safetensors", func(path string) error {
		return synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{Widths: []int{8, 12, 20, 20}, Latent: 4, Groups: 4, DType: safetensors.F32})
	})
	want := decodeAll(t, open(t, dev, path, F32), noiseLatent(2, 4, 4), DecodeOptions{})
	c := &tiler{}
	m, err := Open(dev, path, Settings{Precision: F32, Kernels: KernelSettings{Choose: c.choose}})
	require.NoError(t, err)
	before := dev.Stats().Bytes
	for _, off := range []bool{true, false, false, true} {
		c.off = off
		p, err := m.PlanDecode(t.Context(), 2, 4, 4, DecodeOptions{})
		require.NoError(t, err)
		require.Equal(t, !off, usesTiled(p.Plan))
		dev.ResetPeaks()
		closeTo(t, decodeAll(t, m, noiseLatent(2, 4, 4), DecodeOptions{}), want, 1e-11, "on chosen kernels")
		require.LessOrEqual(t, dev.Stats().Bytes-before, p.Weights, "weights of two choices")
	}
	m.Unload()
	require.Equal(t, before, dev.Stats().Bytes)

	tiled := Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8)}
	other, second := helper(t, path, -1)
	second.settings.Kernels.Choose = c.choose
	require.NoError(t, m.Share(second))
	c.on = nil
	_, err = m.PlanDecode(t.Context(), 2, 4, 4, DecodeOptions{Options: tiled})
	require.NoError(t, err)
	require.Equal(t, []*gpu.Device{dev, other}, c.on)
	require.NoError(t, m.Close())
}

package vae

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tiling"
)

// Slices in portions, down to one frame at a time, give the same result as at once, and
// use no more memory than planned, which is less than without portions.
func TestPortionsAreExact(t *testing.T) {
	dev := gputest.Open(t)
	seedVR2 := made(t, "portions.safetensors", func(path string) error {
		return synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{Widths: []int{8, 12, 20, 20}, Latent: 4, Groups: 4, DType: safetensors.F32})
	})
	models := map[string]*Model{ // a model has no weights on the device while another runs
		"seedvr2": open(t, dev, seedVR2, F32),
		"wan2.1":  open(t, dev, wan(t, "portions_wan", synthetic.WanConfig{Dim: 6, Latent: 4, DType: safetensors.F32}), F32),
		"wan2.2":  open(t, dev, tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}), F32),

		"hunyuanvideo1.5": open(t, dev, narrow15(t), F32),
	}
	models["unfolded"] = unfolded(t, models["seedvr2"])
	for name, m := range models {
		c := m.Config
		for chunk, z := range map[int]Latent{1: {Frames: 3, Height: 5, Width: 4}, 3: {Frames: 5, Height: 3, Width: 4}} {
			o := Options{Unscaled: true, Chunk: chunk}
			z.Channels, z.Data = c.Latent, noise(c.Latent*z.Frames*z.Height*z.Width)
			h, w := z.Height*c.Spatial, z.Width*c.Spatial
			px := floats{4*z.Frames - 3, h, w, noise(c.Channels * (4*z.Frames - 3) * h * w)}
			t.Run(fmt.Sprintf("%s/decode/%d at once", name, chunk), func(t *testing.T) {
				portioned(t, m, o, func(o Options) (*Plan, func(Watch) ([]float32, error), error) {
					p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
					if err != nil {
						return nil, nil, err
					}
					return p.Plan, func(w Watch) (all []float32, err error) {
						for f, err := range p.Run(context.Background(), z, w) {
							if err != nil {
								return nil, err
							}
							all = append(all, f.Pixels...)
						}
						return all, nil
					}, nil
				})
			})
			t.Run(fmt.Sprintf("%s/encode/%d at once", name, chunk), func(t *testing.T) {
				portioned(t, m, o, func(o Options) (*Plan, func(Watch) ([]float32, error), error) {
					p, err := m.PlanEncode(t.Context(), px.t, px.h, px.w, EncodeOptions{Options: o})
					if err != nil {
						return nil, nil, err
					}
					return p.Plan, func(w Watch) ([]float32, error) {
						z, err := p.Collect(context.Background(), px, w)
						return z.Data, err
					}, nil
				})
			})
		}
	}
}

// portioned compares a job at once with the job in portions.
func portioned(t *testing.T, m *Model, o Options, plan func(o Options) (*Plan, func(Watch) ([]float32, error), error)) {
	t.Cleanup(m.Unload)
	p, run, err := plan(o)
	require.NoError(t, err)
	require.Zero(t, p.Depth)
	want, err := run(Watch{})
	require.NoError(t, err)
	for depth := 1; depth <= 2; depth++ {
		before := p
		o.Budget = p.Bytes() - p.Staging - 1
		p, run, err = plan(o)
		if slices.Contains([]string{wan22, hunyuan15}, m.Config.Family) && errors.Is(err, ErrMemory) {
			return // such a small one gains little
		}
		require.NoError(t, err)
		require.Equal(t, depth, p.Depth)
		require.Less(t, p.Activations, before.Activations)
		if depth == 1 {
			require.Less(t, p.Causal, before.Causal, "of layers that make fewer channels than they read")
		}
		var got []float32
		peakOf(t, m, p, func(w Watch) (err error) {
			got, err = run(w)
			return err
		})
		t.Logf("depth %d: %d of %d bytes, NMSE %.3g", depth, p.Bytes(), before.Bytes(), nmse(got, want))
		closeTo(t, got, want, 1e-11, fmt.Sprintf("differs at depth %d", depth))
	}
}

// A tile that fits in portions is not reduced.
func TestPortionsBeforeSmallerTiles(t *testing.T) {
	m := open(t, gputest.Open(t), tiny(t, synthetic.WanConfig{Dim: 6}), F32)
	o := DecodeOptions{Options: Options{Tile: tiling.Choice{Auto: true}, Shrink: true}}
	p, err := m.PlanDecode(t.Context(), 3, 9, 9, o)
	require.NoError(t, err)
	require.True(t, p.Tiles.Whole())
	require.Zero(t, p.Depth)
	o.Budget = p.Bytes() - p.Staging - 1
	p, err = m.PlanDecode(t.Context(), 3, 9, 9, o)
	require.NoError(t, err)
	require.True(t, p.Tiles.Whole())
	require.Positive(t, p.Depth)
}

// In halves, sums for later frames are rounded once more, within the goldens' bound.
func TestPortionsInHalves(t *testing.T) {
	dev := gputest.Open(t)
	path := made(t, "halves.safetensors", func(path string) error {
		return synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{Widths: []int{8, 16, 32, 32}, Latent: 4, Groups: 4, DType: safetensors.F32})
	})
	z := Latent{Channels: 4, Frames: 4, Height: 3, Width: 5, Data: noise(4 * 4 * 15)}
	want := decodeAll(t, open(t, dev, path, F32), z, DecodeOptions{})
	m := open(t, dev, path, F16)
	p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: Options{Internals: Internals{Least: true}}})
	require.NoError(t, err)
	require.Positive(t, p.Depth)
	closeTo(t, decodeAll(t, m, z, DecodeOptions{Options: Options{Internals: Internals{Least: true}}}), want, bounds[F16], "halves in portions")
}

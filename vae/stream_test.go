//go:build !js

package vae

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tiling"
)

// With smaller budgets, weights come from the host: first those that a slice uses once,
// then all large ones, for pictures and exact tiles too. The result has the same bits if
// the portions have equal depth and keep the same values, and the device never holds more
// than planned.
func TestStreamIsExact(t *testing.T) {
	dev := gputest.Open(t)
	seedVR2 := open(t, dev, narrow(t), F32)
	wan22 := open(t, dev, tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}), F32)
	for _, c := range []struct {
		name string
		m    *Model
		o    Options
	}{
		{"seedvr2", seedVR2, Options{Offload: OffloadOn}},
		{"unfolded", unfolded(t, seedVR2), Options{Offload: OffloadOn}},
		{"wan2.2", wan22, Options{Offload: OffloadOn}},
		{"exact tiles", wan22, Options{Offload: OffloadOn, Tiling: Exact, Tile: tiling.Choice{Tile: tiling.Square(64)}}},
		{"pictures", wan22, Options{Offload: OffloadOn, Independent: true}},
	} {
		c.o.Unscaled = true
		s := c.m.Config.Spatial
		z, px := noiseLatent(3, 5, 3), noiseClip(9, 5*s, 3*s)
		t.Run(c.name+"/decode", func(t *testing.T) {
			streamed(t, c.m, c.o, func(o Options) (*Plan, func() ([]float32, error), error) {
				p, err := c.m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
				if err != nil {
					return nil, nil, err
				}
				return p.Plan, func() ([]float32, error) { return framesOf(p.Run(context.Background(), z, Watch{})) }, nil
			})
		})
		t.Run(c.name+"/encode", func(t *testing.T) {
			streamed(t, c.m, c.o, func(o Options) (*Plan, func() ([]float32, error), error) {
				p, err := c.m.PlanEncode(t.Context(), px.t, px.h, px.w, EncodeOptions{Options: o})
				if err != nil {
					return nil, nil, err
				}
				return p.Plan, func() ([]float32, error) {
					z, err := p.Collect(context.Background(), px, Watch{})
					return z.Data, err
				}, nil
			})
		})
	}
}

// A job that is cancelled while weights move to or from the host releases all but those
// that stay on the device, and the next job is correct.
func TestStreamCancelled(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, narrow(t), F32)
	z := noiseLatent(4, 5, 3)
	o := DecodeOptions{Options: Options{Offload: OffloadOn, Internals: Internals{Least: true}, Unscaled: true}}
	p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, o)
	require.NoError(t, err)
	require.Greater(t, p.Streamed, 10*p.Weights)
	want, err := framesOf(p.Run(context.Background(), z, Watch{}))
	require.NoError(t, err)
	m.Unload()
	drain(t, dev)
	empty := dev.Stats().Bytes
	for _, loading := range []bool{true, false} {
		for _, at := range []float64{0.01, 0.5, 0.95} {
			name := fmt.Sprintf("loading %t, at %v", loading, at)
			ctx, cancel := context.WithCancel(t.Context())
			w := Watch{
				Loading: func(done, total int64) {
					if loading && float64(done) > at*float64(total) {
						cancel()
					}
				},
				Progress: func(v Progress) {
					if v.Done > at {
						cancel()
					}
				},
			}
			_, err := framesOf(p.Run(ctx, z, w))
			require.ErrorIs(t, err, context.Canceled, name)
			drain(t, dev)
			stay := p.Weights
			if loading {
				stay = 0
			}
			require.Equal(t, empty+stay, dev.Stats().Bytes, name)
			dev.ResetPeaks()
			got, err := framesOf(p.Run(context.Background(), z, Watch{}))
			require.NoError(t, err, name)
			require.LessOrEqual(t, dev.Stats().PeakBytes, p.Bytes(), name)
			require.True(t, slices.Equal(got, want), "%s: then NMSE %g", name, nmse(got, want))
			m.Unload()
		}
	}
}

// streamed runs a job with less and less memory, until it does not fit.
func streamed(t *testing.T, m *Model, o Options, plan func(o Options) (*Plan, func() ([]float32, error), error)) {
	t.Cleanup(m.Unload)
	type sums struct {
		depth int  // of portions
		rows  bool // convolutions to fewer channels keep sums instead of frames
	}
	made := map[sums][]float32{}
	var all []int64 // streamed bytes
	weights := int64(0)
	for {
		p, run, err := plan(o)
		if errors.Is(err, ErrMemory) {
			break
		}
		require.NoError(t, err)
		m.Unload()
		drain(t, m.dev)
		m.dev.ResetPeaks()
		got, err := run()
		require.NoError(t, err)
		peak := m.dev.Stats().PeakBytes
		require.LessOrEqual(t, peak, p.Bytes(), "planned %s, had %s", engine.Bytes(p.Bytes()), engine.Bytes(peak))
		way := sums{p.Depth, p.InPlace}
		if want := made[way]; want != nil {
			assert.True(t, slices.Equal(got, want), "%d bytes streamed: NMSE %g", p.Streamed, nmse(got, want))
		}
		made[way] = got
		closeTo(t, got, made[sums{}], 1e-11, "in portions")
		if all = append(all, p.Streamed); weights == 0 {
			weights = p.Weights
		}
		require.Equal(t, p.Streamed > 0 || p.Away, p.Host > 0)
		o.Budget = p.Bytes() - p.Staging - 1
	}
	require.Zero(t, all[0], "though there is room")
	require.Positive(t, all[len(all)-1])
	require.Greater(t, all[len(all)-1], weights*9/10, "nearly all")
}

//go:build !js

package vae

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// coded is a clip that a model decodes from latents, and the latents that it encodes from
// a clip.
type coded struct {
	pixels, latent []float32
	plans          [2]*Plan
}

// both decodes and encodes with options, and checks that the device never holds more than
// planned.
func both(t *testing.T, m *Model, o Options) (is coded) {
	t.Helper()
	o.Unscaled = true
	z := noiseLatent(4, 5, 3)
	px := noiseClip(13, z.Height*m.Config.Spatial, z.Width*m.Config.Spatial)
	d, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
	require.NoError(t, err)
	e, err := m.PlanEncode(t.Context(), px.t, px.h, px.w, EncodeOptions{Options: o})
	require.NoError(t, err)
	is.plans = [2]*Plan{d.Plan, e.Plan}
	for i, p := range is.plans {
		require.Equal(t, []bool{p.Away, false}, []bool{p.Host > p.Streamed, p.Away && p.Causal > 0})
		require.Equal(t, p.Host > 0, p.Moved > 0)
		m.Unload()
		drain(t, m.dev)
		m.dev.ResetPeaks()
		w := Watch{}
		if o.Internals.Least {
			w.Loading = loaded(t, m.dev)
		}
		if i == 0 {
			is.pixels, err = framesOf(d.Run(context.Background(), z, w))
			require.NoError(t, err)
		} else {
			latent, err := e.Collect(context.Background(), px, w)
			require.NoError(t, err)
			is.latent = latent.Data
		}
		peak := m.dev.Stats().PeakBytes
		require.LessOrEqual(t, peak, p.Bytes(), "planned %s, had %s", engine.Bytes(p.Bytes()), engine.Bytes(peak))
	}
	return is
}

// banded checks that all layers with causal memory ran in bands.
func banded(t *testing.T, p, plain *Plan) {
	was := plain.Layers()
	for k, l := range p.Layers() {
		if (l.Kind == "conv" || l.Kind == "upsample") && l.Name != "encoder.down_blocks.0.downsamplers.0.conv" { // it has one temporal tap
			assert.Greater(t, l.Dispatches, was[k].Dispatches, "%s", l.Name)
		}
	}
}

// Clips whose causal memory is on the host equal those without: whole frames, every layer
// with memory in bands of rows, also norms and others, in portions, and in slices of
// several frames in tiles.
func TestOffloadIsExact(t *testing.T) {
	dev := gputest.Open(t)
	seedVR2 := open(t, dev, narrow(t), F32)
	wan22 := open(t, dev, tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}), F32)
	wan21 := open(t, dev, tiny(t, synthetic.WanConfig{Dim: 6, Latent: 4}), F32)
	hunyuan15 := open(t, dev, narrow15(t), F32)
	cogVideoX := open(t, dev, narrowCogVideoX(t), F32)
	const rows = 400 // bytes; every layer keeps more
	for _, c := range []struct {
		name    string
		m       *Model
		o       Options
		binding int64
	}{
		{"frames at once", seedVR2, Options{}, 0},
		{"rows", seedVR2, Options{Internals: Internals{Across: rows}}, 0},
		{"rows of everything, in portions", seedVR2, Options{Internals: Internals{Across: 5000, Least: true}}, 14 << 10},
		{"unfolded", unfolded(t, seedVR2), Options{Internals: Internals{Across: rows}}, 0},
		{"wan2.2", wan22, Options{Internals: Internals{Across: rows}}, 0},
		{"wan2.1", wan21, Options{Internals: Internals{Across: rows}, Chunk: 2, Tiling: Exact, Tile: tiling.Choice{Tile: tiling.Square(24)}}, 0},
		{"hunyuanvideo1.5", hunyuan15, Options{Internals: Internals{Across: rows}}, 0},
		{"cogvideox", cogVideoX, Options{Internals: Internals{Across: rows}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if slices.Contains([]string{"rows", "unfolded", "wan2.2", "cogvideox"}, c.name) {
				testenv.Long(t)
			}
			t.Cleanup(c.m.Unload)
			plain := Options{Chunk: c.o.Chunk, Tiling: c.o.Tiling, Tile: c.o.Tile, Offload: OffloadOff}
			want := both(t, c.m, plain)
			if limit := c.m.info.Limits.MaxBinding; c.binding > 0 {
				c.m.info.Limits.MaxBinding = c.binding
				defer func() { c.m.info.Limits.MaxBinding = limit }()
			}
			c.o.Offload = OffloadOn
			got := both(t, c.m, c.o)
			for i, p := range got.plans {
				require.True(t, p.Away)
				require.Equal(t, c.o.Internals.Least, p.Depth > 0)
				if c.o.Internals.Across == rows && c.m.Config.Family == seedVR2.Config.Family {
					banded(t, p, want.plans[i])
				}
			}
			if c.o.Internals.Least { // this rounds differently
				closeTo(t, got.pixels, want.pixels, 1e-11, "decoded")
				closeTo(t, got.latent, want.latent, 1e-11, "encoded")
				return
			}
			assert.True(t, slices.Equal(got.pixels, want.pixels), "decoded: NMSE %g", nmse(got.pixels, want.pixels))
			assert.True(t, slices.Equal(got.latent, want.latent), "encoded: NMSE %g", nmse(got.latent, want.latent))
		})
	}
}

// After running out of memory, a job on a card continues with causal memory on the host,
// or if it is there already with less memory, to the same frames.
func TestOffloadOutOfMemory(t *testing.T) {
	dev := gputest.Open(t)
	defer dev.InjectFaults(nil)
	m := open(t, dev, narrow(t), F32)
	defer m.Unload()
	z := noiseLatent(4, 3, 5)
	want := frames(t, m, z, Options{})
	m.info.Type = "discrete"
	for _, o := range []Options{{Host: 1 << 30}, {Offload: OffloadOn, Internals: Internals{Across: 3000}}} {
		m.Unload()
		p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
		require.NoError(t, err)
		require.Equal(t, o.Offload == OffloadOn, p.Away)
		var all []*Plan
		o.Internals.Least, o.Offload = true, OffloadOff
		if !p.Away { // at most the least without the host
			least, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
			require.NoError(t, err)
			smaller(dev, dev.Stats().Bytes+least.Bytes()-least.Staging-1)
		} else {
			drain(t, dev)
			count := 0
			dev.InjectFaults(func(int64) error {
				if count++; count == 120 {
					return gpu.ErrOutOfMemory
				}
				return nil
			})
		}
		got, err := framesOf(p.Run(context.Background(), z, Watch{Less: func(was, now *Plan, _ int) { all = append(all, was, now) }}))
		dev.InjectFaults(nil)
		require.NoError(t, err)
		require.NotEmpty(t, all)
		require.Positive(t, p.Host)
		closeTo(t, got, want, 1e-11, "decoded otherwise")
	}
}

// Tiles are larger with causal memory on the host, as long as that has room.
func TestOffloadBeforeSmallerTiles(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits, Type: "discrete", Memory: 8 << 30}
	m, err := Inspect(smallCheckpoint(t), a, Settings{Precision: F32})
	require.NoError(t, err)
	defer m.Close()
	o := Options{Tile: tiling.Choice{Auto: true}, Overlap: tiling.Square(64), Budget: 200 << 20, Host: 1 << 40}
	side := func() (int, *Plan) {
		p, err := m.PlanDecode(t.Context(), 3, 90, 160, DecodeOptions{Options: o})
		require.NoError(t, err)
		require.LessOrEqual(t, p.Bytes(), o.Budget)
		require.LessOrEqual(t, p.Host, o.Host)
		return p.Tile.H, p.Plan
	}
	away, p := side()
	require.True(t, p.Away)
	o.Offload = OffloadOff
	off, _ := side()
	require.Greater(t, away, off)
	o.Offload, o.Host = OffloadAuto, 1
	full, p := side()
	require.False(t, p.Away)
	require.Equal(t, off, full)
}

// In portions, a convolution to fewer channels that makes frames in pairs keeps its input
// frames on the host, because pairs cannot add to the sums for later frames; the plan
// with the least memory keeps the sums. All give the same result.
func TestWinogradKeepsFramesOnTheHost(t *testing.T) {
	testenv.Long(t)
	dev, on := gputest.Open(t), true
	m, err := Open(dev, narrow(t), Settings{Precision: F32, Kernels: KernelSettings{Winograd: &on}})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	z := noiseLatent(4, 5, 6)
	z.Channels = m.Config.Latent
	z.Data = noise(z.Channels * z.Frames * z.Height * z.Width)
	plan := func(o Options) *DecodePlan {
		p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
		require.NoError(t, err)
		return p
	}
	macs := func(p *DecodePlan) int64 {
		layers := p.Layers()
		return layers[slices.IndexFunc(layers, func(l engine.Layer) bool { return l.Name == "decoder.up_blocks.3.resnets.0.conv1" })].MACs
	}
	run := func(p *DecodePlan) []float32 {
		all, err := framesOf(p.Run(context.Background(), z, Watch{}))
		require.NoError(t, err)
		return all
	}
	o := Options{Offload: OffloadOn}
	p := plan(o)
	want, once := run(p), macs(p)
	for p.Depth == 0 {
		o.Budget = p.Bytes() - 1
		p = plan(o)
	}
	require.False(t, p.InPlace)
	winograd := macs(p) // in portions of two frames; at once it may be four together
	require.LessOrEqual(t, winograd, once*4/3)
	closeTo(t, run(p), want, 1e-11, "portions that keep frames")
	p = plan(Options{Offload: OffloadOn, Internals: Internals{Least: true}})
	require.True(t, p.InPlace)
	require.Greater(t, macs(p), winograd)
	closeTo(t, run(p), want, 1e-11, "portions that keep what they give")
}

// The least memory of a plan is a budget that a job runs within, and no plan needs a byte
// less.
func TestLeastIsEnough(t *testing.T) {
	for name, path := range map[string]string{
		"seedvr2": narrow(t),
		"wan2.2":  tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}),
	} {
		m := open(t, gputest.Open(t), path, F32)
		z := Latent{Channels: m.Config.Latent, Frames: 3, Height: 4, Width: 3, Data: noise(m.Config.Latent * 3 * 12)}
		cell := m.Config.Spatial
		for how, o := range map[string]Options{
			"one tile": {},
			"tiles":    {Tiling: m.Config.Tilings[0], Tile: tiling.Choice{Tile: tiling.Square(2 * cell)}, Overlap: tiling.Square(cell)},
		} {
			for _, offload := range []Offload{OffloadOff, OffloadOn} {
				t.Run(name+"/"+how+"/offload "+string(offload), func(t *testing.T) {
					o.Offload = offload
					plan := func(budget int64, least bool) (*DecodePlan, error) {
						o.Budget, o.Internals.Least = budget, least
						return m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o, RGBA8: true})
					}
					least, err := plan(0, true)
					require.NoError(t, err)
					p, err := plan(least.Bytes(), false)
					require.NoError(t, err)
					peakOf(t, m, p.Plan, func(w Watch) error {
						w.Loading = loaded(t, m.dev)
						for _, err := range p.Run(context.Background(), z, w) {
							if err != nil {
								return err
							}
						}
						return nil
					})
					_, err = plan(least.Bytes()-1, false)
					require.ErrorIs(t, err, ErrMemory)
				})
			}
		}
	}
}

// loaded restarts the peak when weights are loaded: folding few channels takes more than
// their smallest decode.
func loaded(t *testing.T, dev *gpu.Device) func(done, total int64) {
	return func(done, total int64) {
		if done == total {
			drain(t, dev)
			dev.ResetPeaks()
		}
	}
}

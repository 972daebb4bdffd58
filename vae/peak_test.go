package vae

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// The device never holds more than planned, for every form of result: floats, 8-bit
// pictures, previews of tiles, moments, means and samples, in one tile, blended on the
// device and beside it, exact and as in diffusers.
func TestPeakIsPlanned(t *testing.T) {
	type job struct {
		name string
		plan func(o Options) (*Plan, func(Watch) error, error)
	}
	jobs := func(m *Model) []job {
		s, c := m.Config.Spatial, m.Config
		z := Latent{Channels: c.Latent, Frames: 3, Height: 4, Width: 3, Data: noise(c.Latent * 3 * 12)}
		clip := floats{5, 4 * s, 3 * s, noise(c.Channels * 5 * 12 * s * s)}
		decode := func(d DecodeOptions) func(Options) (*Plan, func(Watch) error, error) {
			return func(o Options) (*Plan, func(Watch) error, error) {
				d.Options = o
				p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, d)
				if err != nil {
					return nil, nil, err
				}
				return p.Plan, func(w Watch) error {
					for _, err := range p.Run(context.Background(), z, w) {
						if err != nil {
							return err
						}
					}
					return nil
				}, nil
			}
		}
		encode := func(e EncodeOptions) func(Options) (*Plan, func(Watch) error, error) {
			return func(o Options) (*Plan, func(Watch) error, error) {
				e.Options = o
				p, err := m.PlanEncode(t.Context(), clip.t, clip.h, clip.w, e)
				if err != nil {
					return nil, nil, err
				}
				return p.Plan, func(w Watch) error {
					_, err := p.Collect(context.Background(), clip, w)
					return err
				}, nil
			}
		}
		return []job{
			{"floats", decode(DecodeOptions{})},
			{"rgba8", decode(DecodeOptions{RGBA8: true})},
			{"rgba8, trimmed", decode(DecodeOptions{RGBA8: true, Frames: 7, Height: 4*s - 3, Width: 3*s - 5})},
			{"preview", decode(DecodeOptions{RGBA8: true, Preview: true})},
			{"moments", encode(EncodeOptions{Moments: true})},
			{"means", encode(EncodeOptions{})},
			{"samples", encode(EncodeOptions{Sample: true, Seed: 3})},
		}
	}
	for name, path := range map[string]string{
		"seedvr2": smallCheckpoint(t),
		"wan2.2":  tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}),
		"layered": tiny(t, synthetic.WanConfig{Dim: 4, Channels: 4}),

		"hunyuanvideo":    narrowHunyuan(t),
		"hunyuanvideo1.5": narrow15(t),
		"cogvideox":       narrowCogVideoX(t),
	} {
		m := open(t, gputest.Open(t), path, F32)
		for _, j := range jobs(m) {
			for how, o := range map[string]Options{
				"one tile": {}, "chunks of two": {Chunk: 2},
				"feathered": {Tiling: Feather, Tile: tiling.Choice{Tile: tiling.Square(2 * m.Config.Spatial)}, Overlap: tiling.Square(m.Config.Spatial)},
				"exact":     {Tiling: Exact, Tile: tiling.Choice{Tile: tiling.Square(2 * m.Config.Spatial)}},
				"diffusers": {Tiling: Diffusers, Tile: tiling.Choice{Tile: tiling.Square(2 * m.Config.Spatial)}, Overlap: tiling.Square(m.Config.Spatial)},
			} {
				if o.Tiling != "" && !slices.Contains(m.Config.Tilings, o.Tiling) {
					continue
				}
				if how != "one tile" && how != "feathered" && j.name != "floats" && j.name != "samples" {
					continue // nothing more to see
				}
				t.Run(name+"/"+j.name+"/"+how, func(t *testing.T) {
					if name != "seedvr2" || how == "feathered" && strings.HasPrefix(j.name, "rgba8") {
						testenv.Long(t)
					}
					p, run, err := j.plan(o)
					require.NoError(t, err)
					peakOf(t, m, p, run)
					if o.Tiling != Feather && o.Tiling != Exact || len(p.Tiles.Tiles) == 1 {
						return
					}
					o.Budget = p.Bytes() - p.Staging - 1 // less than a canvas on the device needs
					if p, run, err = j.plan(o); err == nil {
						require.Positive(t, p.Spool)
						peakOf(t, m, p, run)
					}
				})
			}
		}
	}
}

// peakOf runs a plan on an otherwise empty device.
func peakOf(t *testing.T, m *Model, p *Plan, run func(Watch) error) {
	t.Helper()
	var declared int64
	for _, b := range p.Buffers() {
		declared += b.Size
	}
	require.Equal(t, p.Bytes(), declared, "the plan's bytes and its buffers'")
	m.Unload()
	drain(t, m.dev)
	m.dev.ResetPeaks()
	previews := 0
	require.NoError(t, run(Watch{Preview: func(Preview) error { previews++; return nil }}))
	peak := m.dev.Stats().PeakBytes
	require.LessOrEqual(t, peak, p.Bytes(), "planned %s, had %s", engine.Bytes(p.Bytes()), engine.Bytes(peak))
	require.Greater(t, peak, p.Bytes()/2, "planned far more than was needed")
	require.Equal(t, p.Output().Preview && len(p.Tiles.Tiles) > 1, previews > 0)
	m.Unload()
	require.Zero(t, m.dev.Stats().Bytes, "left on the device")
}

// The weights of the other direction stay on the device as long as the budget has room.
func TestWeightsOfBothDirections(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	z := Latent{Channels: m.Config.Latent, Frames: 1, Height: 2, Width: 2, Data: noise(m.Config.Latent * 4)}
	for _, room := range []bool{true, false} {
		encodeAll(t, m, floats{1, 16, 16, noise(m.Config.Channels * 256)}, EncodeOptions{})
		left := dev.Stats().Bytes
		require.Positive(t, left)
		p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{})
		require.NoError(t, err)
		if !room {
			p, err = m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: Options{Budget: p.Bytes()}})
			require.NoError(t, err)
		}
		most := int64(0)
		for _, err := range p.Run(context.Background(), z, Watch{Progress: func(Progress) { most = max(most, dev.Stats().Bytes) }}) {
			require.NoError(t, err)
		}
		require.Positive(t, most)
		require.Equal(t, room, most > p.Bytes(), "%s on the device, planned %s", engine.Bytes(most), engine.Bytes(p.Bytes()))
		m.Unload()
	}
}

// drain makes a device release the memory that it caches.
func drain(t *testing.T, dev *gpu.Device) {
	t.Helper()
	b := &gpu.Buffer{Label: "drain", Size: 20 << 20}
	require.NoError(t, dev.Alloc(b))
	dev.Free(b)
}

// within decodes and encodes the model's own numbers with bindings of at most the given
// bytes, 0 for the device's limit. A decode uses no more memory than planned.
func within(t *testing.T, m *Model, z Latent, clip floats, o Options, binding int64) (decoded, encoded []float32, d *DecodePlan, e *EncodePlan) {
	t.Helper()
	defer m.Unload() // other models' peaks must not include its weights
	limit := m.info.Limits.MaxBinding
	defer func() { m.info.Limits.MaxBinding = limit }()
	if binding > 0 {
		m.info.Limits.MaxBinding = binding
	}
	o.Unscaled = true
	d, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
	require.NoError(t, err)
	m.Unload()
	drain(t, m.dev)
	m.dev.ResetPeaks()
	decoded, err = framesOf(d.Run(t.Context(), z, Watch{}))
	require.NoError(t, err)
	require.LessOrEqual(t, m.dev.Stats().PeakBytes, d.Bytes())
	m.Unload()
	e, err = m.PlanEncode(t.Context(), clip.t, clip.h, clip.w, EncodeOptions{Options: o})
	require.NoError(t, err)
	latent, err := e.Collect(t.Context(), clip, Watch{})
	require.NoError(t, err)
	return decoded, latent.Data, d, e
}

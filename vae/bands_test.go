package vae

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

var bandsConfig = synthetic.SeedVR2Config{Widths: []int{8, 12, 20, 20}, Latent: 4, Groups: 4, DType: safetensors.F32}

// bandsModels returns a model of each family, and SeedVR2 unfolded. A model has no
// weights on the device while another runs.
func bandsModels(t *testing.T, dev *gpu.Device) map[string]*Model {
	seedVR2 := made(t, "bands.safetensors", func(path string) error {
		return synthetic.CreateSeedVR2(path, bandsConfig)
	})
	models := map[string]*Model{
		"seedvr2": open(t, dev, seedVR2, F32),
		"wan2.1":  open(t, dev, wan(t, "bands_wan", synthetic.WanConfig{Dim: 6, Latent: 4, DType: safetensors.F32}), F32),
		"wan2.2":  open(t, dev, tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}), F32),
		"taef2": open(t, dev, tinyCheckpoint("bands_taef2", synthetic.TAESDConfig{
			Encoder: []int{12, 12, 16, 20}, Decoder: []int{20, 16, 12, 12}, Pools: true, DType: safetensors.F32,
		})(t), F32),
		"qwen2.1": open(t, dev, tiny(t, synthetic.WanConfig{Still: true, Dim: 4, Decoder: 4}), F32),

		"hunyuanvideo":    open(t, dev, narrowHunyuan(t), F32),
		"hunyuanvideo1.5": open(t, dev, narrow15(t), F32),
		"cogvideox":       open(t, dev, narrowCogVideoX(t), F32),
	}
	models["unfolded"] = unfolded(t, models["seedvr2"])
	return models
}

// Frames larger than any binding, of odd sizes and also at the latent's size, give the
// same result in bands as at once; so do frames slightly larger than a binding.
func TestBandsAreExact(t *testing.T) {
	dev := gputest.Open(t)
	for name, m := range bandsModels(t, dev) {
		c, limit := m.Config, m.info.Limits.MaxBinding
		z := Latent{Channels: c.Latent, Frames: 3, Height: 7, Width: 5}
		z.Data = noise(c.Latent * z.Frames * z.Height * z.Width)
		h, w := z.Height*c.Spatial, z.Width*c.Spatial
		px := floats{4*z.Frames - 3, h, w, noise(c.Channels * (4*z.Frames - 3) * h * w)}
		for _, chunk := range []int{1, 2} {
			if chunk == 2 && c.Full > 0 { // no difference
				continue
			}
			o := Options{Unscaled: true, Chunk: chunk}
			if c.Family == wan21 && chunk == 2 { // with layers that make parts of their outputs
				o.Tile, o.Tiling = tiling.Choice{Tile: tiling.Square(24)}, Exact
			}
			if name == "seedvr2" && chunk == 2 { // and blended
				o.Tile, o.Overlap = tiling.Choice{Tile: tiling.Square(32)}, tiling.Square(8)
			}
			run := func(t *testing.T, bytes int64) (decoded, encoded []float32, commands int64) {
				t.Cleanup(m.Unload)
				m.info.Limits.MaxBinding = bytes
				defer func() { m.info.Limits.MaxBinding = limit }()
				d, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
				require.NoError(t, err)
				for f, err := range d.Run(context.Background(), z, Watch{}) {
					require.NoError(t, err)
					decoded = append(decoded, f.Pixels...)
				}
				m.Unload()
				e, err := m.PlanEncode(t.Context(), px.t, px.h, px.w, EncodeOptions{Options: o})
				require.NoError(t, err)
				latent, err := e.Collect(context.Background(), px, Watch{})
				require.NoError(t, err)
				return decoded, latent.Data, dispatches(d.Plan) + dispatches(e.Plan)
			}
			t.Run(fmt.Sprintf("%s/%d at once", name, chunk), func(t *testing.T) {
				if name == "unfolded" || strings.HasPrefix(name, "hunyuanvideo") || name == "cogvideox" || (chunk == 2) != (name == "seedvr2") {
					testenv.Long(t)
				}
				decoded, encoded, before := run(t, limit)
				least := int64(8 << 10) // smaller than a tile, and than an attention's frame
				if c.is(hunyuan) || c.is(hunyuan15) || c.is(cogVideoX) {
					least = 18 << 10 // for more channels
				}
				for _, bytes := range []int64{40 << 10, least} {
					o.Internals.Least = bytes < 20<<10 // in portions too
					d, e, commands := run(t, bytes)
					closeTo(t, d, decoded, 1e-11, fmt.Sprintf("decoded with bindings of %d bytes", bytes))
					closeTo(t, e, encoded, 1e-11, fmt.Sprintf("encoded with bindings of %d bytes", bytes))
					t.Logf("%d bytes: %d commands for %d, NMSE %.3g and %.3g", bytes, commands, before, nmse(d, decoded), nmse(e, encoded))
					require.Greater(t, commands, before)
				}
			})
		}
	}
}

// Every layer in bands, on narrow frames whose height exceeds every binding at the
// latent's size too: each layer has more dispatches than at once.
func TestEveryLayerInBands(t *testing.T) {
	dev := gputest.Open(t)
	for name, m := range bandsModels(t, dev) {
		if strings.HasPrefix(name, "hunyuanvideo") || name == "cogvideox" { // a row of its widest layer exceeds all of the narrow ones
			continue
		}
		c, limit := m.Config, m.info.Limits.MaxBinding
		z := Latent{Channels: c.Latent, Frames: 2, Height: 27, Width: 3, Data: noise(c.Latent * 2 * 27 * 3)}
		px := floats{5, 27 * c.Spatial, 3 * c.Spatial, noise(c.Channels * 5 * 27 * 3 * c.Spatial * c.Spatial)}
		o := Options{Unscaled: true, Internals: Internals{Least: true}}
		run := func(t *testing.T, bytes int64) (decoded, encoded []float32, layers []engine.Layer) {
			t.Cleanup(m.Unload)
			m.info.Limits.MaxBinding = bytes
			defer func() { m.info.Limits.MaxBinding = limit }()
			d, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
			require.NoError(t, err)
			decoded, err = framesOf(d.Run(context.Background(), z, Watch{}))
			require.NoError(t, err)
			m.Unload()
			e, err := m.PlanEncode(t.Context(), px.t, px.h, px.w, EncodeOptions{Options: o})
			require.NoError(t, err)
			latent, err := e.Collect(context.Background(), px, Watch{})
			require.NoError(t, err)
			return decoded, latent.Data, append(d.Layers(), e.Layers()...)
		}
		t.Run(name, func(t *testing.T) {
			if name == "unfolded" || name == "wan2.2" {
				testenv.Long(t)
			}
			decoded, encoded, whole := run(t, limit)
			d, e, bands := run(t, 5<<10)
			closeTo(t, d, decoded, 1e-11, "decoded in bands")
			closeTo(t, e, encoded, 1e-11, "encoded in bands")
			require.Len(t, bands, len(whole))
			before, kinds := map[string]int64{}, map[string]int{}
			for _, l := range whole {
				before[l.Name] = l.Dispatches
			}
			for _, l := range bands {
				switch {
				case l.Dispatches == 0: // copied frames
				case l.Name == "conv1" || l.Name == "conv2": // only the latent's few channels
				default:
					kinds[l.Kind]++
					assert.Greater(t, l.Dispatches, before[l.Name], "%s, %s", l.Name, l.Kind)
				}
			}
			t.Logf("layers in bands: %v", kinds)
		})
	}
}

// Tiles beyond a binding have the same previews as at once.
func TestPreviewsInBands(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, made(t, "bands.safetensors", func(path string) error { return synthetic.CreateSeedVR2(path, bandsConfig) }), F32)
	t.Cleanup(m.Unload)
	z := Latent{Channels: 4, Frames: 1, Height: 7, Width: 5, Data: noise(4 * 7 * 5)}
	previews := func() (list []Preview) {
		p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{RGBA8: true, Preview: true, Options: Options{Tile: tiling.Choice{Tile: tiling.Square(32)}, Overlap: tiling.Square(8)}})
		require.NoError(t, err)
		for _, err := range p.Run(context.Background(), z, Watch{Preview: func(v Preview) error {
			v.RGBA = bytes.Clone(v.RGBA)
			list = append(list, v)
			return nil
		}}) {
			require.NoError(t, err)
		}
		return list
	}
	want := previews()
	require.Greater(t, len(want), 2)
	m.info.Limits.MaxBinding = 8 << 10
	got := previews()
	require.Len(t, got, len(want))
	for i := range want {
		require.Len(t, got[i].RGBA, 4*want[i].Height*want[i].Width)
		for k := range want[i].RGBA {
			require.InDelta(t, want[i].RGBA[k], got[i].RGBA[k], 1, "value %d of tile %d", k, i) // sums in another order
		}
		got[i].RGBA = want[i].RGBA
	}
	require.Equal(t, want, got)
}

// dispatches returns the dispatches of a plan.
func dispatches(p *engine.Plan) (n int64) {
	for _, l := range p.Layers() {
		n += l.Dispatches
	}
	return n
}

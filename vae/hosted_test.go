package vae

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// Pictures whose activations live on the host, transferred in bands of one row or
// several, equal one tile's to the bit, in either direction.
func TestHostedActivations(t *testing.T) {
	dev := gputest.Open(t)
	path := smallKL(t, "sdxl.safetensors", synthetic.KLConfig{Quant: true})
	z := Latent{Channels: 4, Frames: 2, Height: 5, Width: 4, Data: make([]float32, 160)}
	for i := range z.Data {
		z.Data[i] = float32(i%13)/4 - 1.5
	}
	pictures := Options{Independent: true, Unscaled: true}
	for _, p := range []Precision{F32, F16} {
		m := open(t, dev, path, p)
		want := decodeAll(t, m, z, DecodeOptions{Options: pictures})
		latent, err := m.Encode(t.Context(), floats{2, 40, 32, want}, EncodeOptions{Options: pictures})
		require.NoError(t, err)
		for _, across := range []int64{2 << 10, 20 << 10} {
			if across > 2<<10 && testenv.Short(t) {
				continue
			}
			o := pictures
			o.Internals.Least, o.Offload, o.Internals.Across = true, OffloadOn, across
			plan, err := m.PlanDecode(t.Context(), 2, 5, 4, DecodeOptions{Options: o})
			require.NoError(t, err)
			assert.True(t, plan.Hosted, "%s, %d bytes", p, across)
			assert.Greater(t, plan.Host, int64(0))
			assert.Greater(t, plan.Moved, 2*plan.Host)
			assert.Equal(t, want, decodeAll(t, m, z, DecodeOptions{Options: o}), "%s, %d bytes", p, across)
			got, err := m.Encode(context.Background(), floats{2, 40, 32, want}, EncodeOptions{Options: o})
			require.NoError(t, err)
			assert.Equal(t, latent.Data, got.Data, "%s, %d bytes", p, across)
		}
	}
	// Other families' pictures, too.
	for _, s := range suites() {
		if !strings.HasSuffix(s.name, "/small") || !strings.HasPrefix(s.name, "wan2.1") && testenv.Short(t) {
			continue
		}
		m := open(t, dev, s.path(t), F32)
		if m.Config.Can("decode") != nil {
			continue
		}
		one := Latent{Channels: m.Config.Latent, Frames: 1, Height: 4, Width: 4}
		for i := range 16 * one.Channels {
			one.Data = append(one.Data, float32(i%13)/4-1.5)
		}
		want := decodeAll(t, m, one, DecodeOptions{Options: Options{Unscaled: true}})
		o := Options{Unscaled: true, Offload: OffloadOn, Internals: Internals{Least: true, Across: 2 << 10}}
		got := decodeAll(t, m, one, DecodeOptions{Options: o})
		assert.Equal(t, want, got, s.name)
	}
	// Tiles use theirs one after another.
	m := open(t, dev, path, F32)
	tiled := pictures
	tiled.Tile.Tile, tiled.Overlap = tiling.Square(24), tiling.Square(8)
	want := decodeAll(t, m, z, DecodeOptions{Options: tiled})
	tiled.Internals.Least, tiled.Offload, tiled.Internals.Across = true, OffloadOn, 2<<10
	assert.Equal(t, want, decodeAll(t, m, z, DecodeOptions{Options: tiled}))
}

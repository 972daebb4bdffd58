//go:build !js

package vae

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// A convolution that overwrites its input gives the same result, from one row at a time
// to frames in one band, in portions and with several frames, with causal memory on the
// device and on the host, also for pictures.
func TestRowsAreExact(t *testing.T) {
	dev := gputest.Open(t)
	for name, m := range map[string]*Model{
		"seedvr2": open(t, dev, narrow(t), F32),
		"wan2.1":  open(t, dev, tiny(t, synthetic.WanConfig{Dim: 6, Latent: 4}), F32),
		"wan2.2":  open(t, dev, tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}), F32),
	} {
		for how, o := range map[string]Options{
			"one row": {Internals: Internals{Across: 1}}, "rows": {Internals: Internals{Across: 5000}}, "chunks of two": {Internals: Internals{Across: 3000}, Chunk: 2},
			"pictures": {Internals: Internals{Across: 2000}, Independent: true}, "one slice": {Internals: Internals{Across: 3000}, Chunk: 4},
			"one row away": {Internals: Internals{Across: 300}, Offload: OffloadOn}, "rows away": {Internals: Internals{Across: 5000}, Offload: OffloadOn},
			"exact tiles": {Internals: Internals{Across: 1000}, Tiling: Exact, Tile: tiling.Choice{Tile: tiling.Square(24)}},
		} {
			if !slices.Contains(append(m.Config.Tilings, ""), o.Tiling) || name == "wan2.2" && !o.Independent { // its peak is elsewhere
				continue
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				if name != "seedvr2" || how == "one row away" || how == "one slice" {
					testenv.Long(t)
				}
				t.Cleanup(m.Unload)
				plain := o
				plain.Internals.Across, plain.Offload = 0, OffloadOff
				want := both(t, m, plain)
				o.Internals.Least = true
				got := both(t, m, o)
				for i, p := range got.plans {
					require.True(t, p.InPlace, "%s of %s", engine.Bytes(p.Bytes()), engine.Bytes(want.plans[i].Bytes()))
				}
				closeTo(t, got.pixels, want.pixels, 1e-11, "decoded")
				closeTo(t, got.latent, want.latent, 1e-11, "encoded")
				if got.plans[0].Depth == 0 { // portions round differently
					assert.True(t, slices.Equal(got.pixels, want.pixels), "decoded: NMSE %g", nmse(got.pixels, want.pixels))
					assert.True(t, slices.Equal(got.latent, want.latent), "encoded: NMSE %g", nmse(got.latent, want.latent))
				}
			})
		}
	}
}

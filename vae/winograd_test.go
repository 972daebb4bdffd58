package vae

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
)

// Frames made in pairs are those made one by one: clips with an odd frame and
// without, in one slice, in slices of one latent frame and of several.
func TestPairsAreExact(t *testing.T) {
	dev := gputest.Open(t)
	for name, path := range map[string]string{"seedvr2": smallCheckpoint(t), "wan2.1": tiny(t, synthetic.WanConfig{Dim: 4})} {
		with := func(on bool) *Model {
			m, err := Open(dev, path, Settings{Precision: F32, Winograd: &on})
			require.NoError(t, err)
			t.Cleanup(func() { m.Close() })
			return m
		}
		pairs, singles := with(true), with(false)
		for _, c := range []struct{ frames, chunk int }{{3, 0}, {4, 2}} { // latent frames
			t.Run(fmt.Sprintf("%s/%d frames by %d", name, c.frames, max(1, c.chunk)), func(t *testing.T) {
				o := Options{Chunk: c.chunk}
				z, clip := noiseLatent(c.frames, 3, 4), noiseClip(4*c.frames-3, 24, 32)
				z.Channels = pairs.Config.Latent
				z.Data = noise(z.Channels * z.Frames * z.Height * z.Width)
				a, err := pairs.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
				require.NoError(t, err)
				b, err := singles.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
				require.NoError(t, err)
				require.Less(t, a.Cost.MACs, b.Cost.MACs)
				decode, encode := DecodeOptions{Options: o}, EncodeOptions{Options: o}
				closeTo(t, decodeAll(t, pairs, z, decode), decodeAll(t, singles, z, decode), 1e-9, "decoded in pairs and one by one")
				closeTo(t, encodeAll(t, pairs, clip, encode), encodeAll(t, singles, clip, encode), 1e-9, "encoded in pairs and one by one")
			})
		}
	}
}

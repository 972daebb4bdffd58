//go:build !js

package vae

import (
	"context"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// Clips whose causal memory has 8 bits are nearly the same as without, and the same to
// the bit on the host or device, in bands of rows or not. Each stored frame shrinks from
// four bytes per number to one, plus the rows' scales.
func TestMemoryIn8Bits(t *testing.T) {
	dev := gputest.Open(t)
	seedVR2 := open(t, dev, narrow(t), F32)
	for _, c := range []struct {
		name string
		m    *Model
		o    Options
		nmse float64 // limit for decoded and encoded clips
	}{
		{"seedvr2", seedVR2, Options{}, 1e-4},
		{"wan2.2", open(t, dev, tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}), F32), Options{}, 1e-4},
		{"wan2.1", open(t, dev, tiny(t, synthetic.WanConfig{Dim: 6, Latent: 4}), F32), Options{Chunk: 2, Tiling: Exact, Tile: tiling.Choice{Tile: tiling.Square(24)}}, 1e-4},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "seedvr2" {
				testenv.Long(t)
			}
			t.Cleanup(c.m.Unload)
			c.o.Offload = OffloadOff
			plain := both(t, c.m, c.o)
			c.o.MemoryFormat = MemoryI8
			want := both(t, c.m, c.o)
			for i, p := range want.plans {
				require.True(t, p.CausalI8)
				require.Less(t, p.Causal, plain.plans[i].Causal*2/3, "frames are small, and scales as much as many pixels")
				require.Greater(t, p.Causal, plain.plans[i].Causal/4)
			}
			for _, of := range []struct {
				what      string
				got, want []float32
			}{{"decoded", want.pixels, plain.pixels}, {"encoded", want.latent, plain.latent}} {
				off := nmse(of.got, of.want)
				t.Logf("%s: NMSE %.3g", of.what, off)
				assert.Greater(t, off, 0.0, of.what)
				assert.Less(t, off, c.nmse, of.what)
			}

			limit := c.m.info.Limits.MaxBinding
			defer func() { c.m.info.Limits.MaxBinding = limit }()
			for name, o := range map[string]struct {
				Options
				binding int64
			}{
				"rows":             {Options{Internals: Internals{Across: 400}}, limit},
				"on the host":      {Options{Offload: OffloadOn}, limit},
				"rows on the host": {Options{Offload: OffloadOn, Internals: Internals{Across: 400}}, limit},
				"bands":            {Options{}, 14 << 10},
			} {
				if (name == "rows" || name == "on the host") && testenv.Short(t) {
					continue // "rows on the host" covers both
				}
				if c.m.Config.Family != seedVR2.Config.Family && name == "bands" {
					continue // its middle needs more
				}
				o.MemoryFormat, o.Chunk, o.Tiling, o.Tile = MemoryI8, c.o.Chunk, c.o.Tiling, c.o.Tile
				if o.Offload == "" {
					o.Offload = OffloadOff
				}
				c.m.info.Limits.MaxBinding = o.binding
				got := both(t, c.m, o.Options)
				require.Equal(t, o.Offload == OffloadOn, got.plans[0].Away)
				if o.Offload == OffloadOn {
					require.Equal(t, want.plans[0].Causal, got.plans[0].Host)
				}
				if name == "bands" { // group norms sum in another order
					closeTo(t, got.pixels, want.pixels, 1e-6, name)
					closeTo(t, got.latent, want.latent, 1e-6, name)
					continue
				}
				assert.True(t, slices.Equal(got.pixels, want.pixels), "%s: decoded: NMSE %g", name, nmse(got.pixels, want.pixels))
				assert.True(t, slices.Equal(got.latent, want.latent), "%s: encoded: NMSE %g", name, nmse(got.latent, want.latent))
			}
		})
	}
}

// In portions, with less memory after the device ran out of it, and in tiles.
func TestMemoryIn8BitsWithLess(t *testing.T) {
	dev := gputest.Open(t)
	defer dev.InjectFaults(nil)
	m := open(t, dev, narrow(t), F32)
	defer m.Unload()
	z := noiseLatent(4, 3, 5)
	want := frames(t, m, z, Options{})
	for name, o := range map[string]Options{
		"least":             {Internals: Internals{Least: true}},
		"least on the host": {Offload: OffloadOn, Internals: Internals{Least: true, Across: 3000}},
		"out of memory":     {},
		"tiles":             {Tile: tiling.Choice{Tile: tiling.Square(24)}, Overlap: tiling.Square(8)},
	} {
		m.Unload()
		least := Options{Internals: Internals{Least: true}, Offload: OffloadOff, Tile: o.Tile, Overlap: o.Overlap}
		to := want
		if name == "tiles" {
			to = frames(t, m, z, Options{Tile: o.Tile, Overlap: o.Overlap})
			m.Unload()
		}
		o.MemoryFormat = MemoryI8
		p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
		require.NoError(t, err)
		q, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: least})
		require.NoError(t, err)
		if name == "least" {
			require.Less(t, p.Bytes(), q.Bytes(), "it is to take less")
			require.Positive(t, p.Depth)
		}
		drain(t, dev)
		most := p.Bytes()
		if name == "out of memory" {
			smaller(dev, dev.Stats().Bytes+p.Bytes()-p.Staging-1)
		}
		dev.ResetPeaks()
		less := 0
		w := Watch{Less: func(_, now *Plan, _ int) {
			less++
			require.True(t, now.CausalI8)
		}}
		if o.Internals.Least {
			w.Loading = loaded(t, dev)
		}
		got, err := framesOf(p.Run(context.Background(), z, w))
		require.NoError(t, err, name)
		require.Equal(t, name == "out of memory", less > 0)
		require.LessOrEqual(t, dev.Stats().PeakBytes, most, name)
		off := nmse(got, to)
		t.Logf("%s: NMSE %.3g", name, off)
		assert.Greater(t, off, 0.0, name)
		assert.Less(t, off, 2e-4, name)
		dev.InjectFaults(nil)
	}
}

// Progress kept in one format cannot continue in another.
func TestMemoryFormatIsKept(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, narrow(t), F32)
	z := noiseLatent(4, 3, 4)
	k := &kept{done: func(int) error { return errEnough }}
	for _, o := range []Options{{}, {MemoryFormat: MemoryI8}} {
		p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
		require.NoError(t, err)
		_, err = framesOf(p.Run(context.Background(), z, Watch{Keep: k}))
		require.ErrorIs(t, err, errEnough)
		require.Equal(t, 1, k.slices, "from the first slice")
		require.Zero(t, k.restored)
	}
}

// A real clip, of a photograph, with a trained model: frames in 8 bits change its
// pictures by a fiftieth of an 8-bit level, 75 dB, and their distance from the original
// by less than a hundredth of a decibel.
func TestMemoryIn8BitsOfPictures(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, filepath.Join("..", "assets", "tiny-seedvr2.safetensors"), F32)
	defer m.Unload()
	const frames, side = 9, 64
	px := floats{frames, side, side, make([]float32, 3*frames*side*side)}
	var original []float32 // in the order of frames
	for i := range frames {
		f, err := os.Open(filepath.Join("..", "assets", "demo", fmt.Sprintf("frame_%04d.png", i)))
		require.NoError(t, err)
		img, err := png.Decode(f)
		require.NoError(t, f.Close())
		require.NoError(t, err)
		for at := range side * side {
			c := color.NRGBAModel.Convert(img.At(96+at%side, 96+at/side)).(color.NRGBA)
			for k, v := range []byte{c.R, c.G, c.B} {
				original = append(original, float32(v)/127.5-1)
				px.v[((k*frames+i)*side*side)+at] = original[len(original)-1]
			}
		}
	}
	var made [2][]float32
	for i, o := range []Options{{}, {MemoryFormat: MemoryI8}} {
		e, err := m.PlanEncode(t.Context(), frames, side, side, EncodeOptions{Options: o})
		require.NoError(t, err)
		z, err := e.Collect(context.Background(), px, Watch{})
		require.NoError(t, err)
		made[i], err = framesOf(m.Decode(context.Background(), z, DecodeOptions{Options: o}))
		require.NoError(t, err)
	}
	between, plain, eight := psnr(made[0], made[1]), psnr(made[0], original), psnr(made[1], original)
	t.Logf("%.2f dB between the two; %.3f and %.3f dB from the original", between, plain, eight)
	assert.Greater(t, between, 75.0)
	assert.InDelta(t, plain, eight, 0.01)
}

// psnr returns the PSNR of numbers in [-1, 1].
func psnr(a, b []float32) float64 {
	var sum float64
	for i := range a {
		d := float64(max(-1, min(1, a[i])) - max(-1, min(1, b[i])))
		sum += d * d
	}
	return 10 * math.Log10(4*float64(len(a))/sum)
}

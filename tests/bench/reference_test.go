package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu"
	"tessera/tiling"
	"tessera/vae"
)

// published returns a family's published model, on an adapter without limits.
func published(t *testing.T, family string, p vae.Precision) *vae.Model {
	t.Helper()
	m, err := vae.Published(family, unlimited(), vae.Settings{Precision: p})
	require.NoError(t, err)
	return m
}

// Models that need no checkpoint equal those of the published files, and so do their
// plans.
func TestPublished(t *testing.T) {
	require.Len(t, planned, len(vae.Families()))
	for i, family := range vae.Families() {
		of, without := inspect(t, headerOnly(t, planned[i].tensors), vae.F16), published(t, family, vae.F16)
		config := of.Config
		config.Mean, config.Scale, config.Assumed = nil, nil, false                                                           // these depend on the checkpoint
		assert.True(t, strings.HasPrefix(config.Model, without.Config.Model), "%s of %s", config.Model, without.Config.Model) // TAEHV for Wan 2.1
		config.Model = without.Config.Model
		assert.Equal(t, config, without.Config)
		frames := clips(of)
		for _, direction := range []string{"decode", "encode"} {
			a := plan(t, of, direction, tiling.Square(256), frames[len(frames)-1], 0)
			b := plan(t, without, direction, tiling.Square(256), frames[len(frames)-1], 0)
			assert.Equal(t, a.Cost, b.Cost, "%s: %s", family, direction)
			assert.Equal(t, a.Bytes(), b.Bytes(), "%s: %s", family, direction)
			assert.Equal(t, a.Layers(), b.Layers(), "%s: %s", family, direction)
		}
	}
}

// products returns the multiply-adds of convolutions and matrix products, without
// attention: the plan's and the original implementation's.
func products(p *vae.Plan) (macs, reference int64) {
	for _, l := range p.Layers() {
		if l.Kind != engine.Attend {
			macs += l.MACs
			reference += l.Reference
		}
	}
	return macs, reference
}

// The exact work of the original implementations for 512x512 pixels, for each frame of
// a clip in the steady state. Our shortcuts must not change it. The millions per pixel
// were computed from the modules' sources.
func TestReference(t *testing.T) {
	counted := map[string][]string{}
	for _, c := range []struct {
		family, direction string
		image, frame      int64   // multiply-adds; pictures have no further frame
		image6, frame6    float64 // millions per pixel
	}{
		{"seedvr2", "decode", 3_738_097_942_528, 3_087_267_790_848, 14.26, 11.78},
		{"seedvr2", "encode", 1_588_299_038_720, 1_169_522_950_144, 6.06, 4.46},
		{"wan2.1", "decode", 1_408_783_876_096, 1_106_887_573_504, 5.37, 4.22},
		{"wan2.1", "encode", 872_528_478_208, 655_734_341_632, 0, 2.50},
		{"wan2.2", "decode", 2_985_356_951_552, 2_410_957_832_192, 0, 9.20},
		{"wan2.2", "encode", 608_665_862_144, 457_543_254_016, 0, 1.75},
		{"qwen2.1", "decode", 2_119_293_730_816, 0, 8.08, 0},
		{"qwen2.1", "encode", 388_375_773_184, 0, 1.48, 0},
		{"kl", "decode", 1_240_079_597_568, 0, 4.73, 0},
		{"kl", "encode", 541_149_364_224, 0, 2.06, 0},
		{"flux2", "decode", 1_240_612_208_640, 0, 4.73, 0},
		{"flux2", "encode", 542_222_843_904, 0, 2.07, 0},
		{"taesd", "decode", 70_675_070_976, 0, 0.270, 0},
		{"taesd", "encode", 61_162_389_504, 0, 0.233, 0},
		{"taehv", "decode", 146_095_996_928, 44_648_366_080, 0, 0.17},
		{"taehv", "encode", 79_377_203_200, 19_844_300_800, 0, 0.076},
		{"hunyuanvideo", "decode", 3_677_969_448_960, 2_205_726_015_488, 14.03, 8.41},
		{"hunyuanvideo", "encode", 1_607_630_585_856, 1_188_851_351_552, 6.13, 4.54},
		{"hunyuanvideo1.5", "decode", 4_240_609_116_160, 3_265_508_933_632, 16.18, 12.46},
		{"hunyuanvideo1.5", "encode", 2_255_629_582_336, 1_837_927_235_584, 8.60, 7.01},
		{"hunyuanimage2.1", "decode", 1_060_303_273_984, 0, 4.04, 0},
		{"hunyuanimage2.1", "encode", 618_341_072_896, 0, 2.36, 0},
		{"cogvideox", "decode", 2_843_536_785_408, 2_429_869_359_104, 10.85, 9.27},
		{"cogvideox", "encode", 1_811_905_773_568, 1_139_256_852_480, 6.91, 4.35},
		{"ltx2", "decode", 380_507_258_880, 164_093_755_392, 0, 0.63},
		{"ltx2", "encode", 754_686_885_888, 381_641_490_432, 0, 1.456},
		{"mochi1", "decode", 12_429_740_212_224, 2_071_623_368_704, 0, 7.90},
		{"mochi1", "encode", 936_726_495_232, 543_235_768_320, 0, 2.07},
		{"cosmos1", "decode", 363_227_774_976, 63_522_865_152, 0, 0.242},
		{"cosmos1", "encode", 214_987_440_128, 33_710_145_536, 0, 0.129},
	} {
		m := published(t, c.family, vae.F16)
		unfolded, err := vae.Published(c.family, unlimited(), vae.Settings{Precision: vae.F16, Kernels: vae.KernelSettings{NoFold: true}})
		require.NoError(t, err)
		of := func(frames int) int64 {
			_, reference := products(plan(t, m, c.direction, tiling.Square(512), frames, 0))
			_, plain := products(plan(t, unfolded, c.direction, tiling.Square(512), frames, 0))
			assert.Equal(t, plain, reference, "%s %s, %d frames: with shortcuts and without", c.family, c.direction, frames)
			return reference
		}
		image, frame := of(1), int64(0)
		if !m.Config.Independent {
			n := m.Config.Temporal * max(1, m.Config.Full)
			frame = (of(1+5*n) - of(1+4*n)) / int64(n)
		}
		name := c.family + " " + c.direction
		counted[c.family] = append(counted[c.family], c.direction)
		assert.Equal(t, c.image, image, "%s, one image", name)
		assert.Equal(t, c.frame, frame, "%s, a frame", name)
		if c.image6 > 0 {
			assert.InDelta(t, c.image6, float64(image)/512/512/1e6, 0.005, "%s, one image", name)
		}
		assert.InDelta(t, c.frame6, float64(frame)/512/512/1e6, 0.01, "%s, a frame", name)
	}
	for _, family := range vae.Families() {
		assert.Equal(t, []string{"decode", "encode"}, counted[family], "%s: directions whose reference is counted", family)
	}
}

// The largest share of the original's arithmetic that remains, in percent.
func TestShareOfReference(t *testing.T) {
	for _, c := range []struct {
		family, direction string
		frames            int
		most              int64
	}{
		{"seedvr2", "decode", 21, 79},
		{"seedvr2", "decode", 1, 28},
		{"seedvr2", "encode", 1, 35},
		{"wan2.1", "decode", 1, 35},
		{"wan2.1", "encode", 1, 35},
	} {
		macs, reference := products(plan(t, published(t, c.family, vae.F16), c.direction, tiling.Square(512), c.frames, 0))
		assert.LessOrEqual(t, 100*macs, c.most*reference, "%s %s, %d frames: %.4f of the reference's", c.family, c.direction, c.frames, float64(macs)/float64(reference))
	}
	on := true
	m, err := vae.Published("seedvr2", unlimited(), vae.Settings{Precision: vae.F16, Kernels: vae.KernelSettings{Winograd: &on}})
	require.NoError(t, err)
	for _, frames := range []int{21, 101} {
		macs, reference := products(plan(t, m, "decode", tiling.Square(512), frames, 0))
		assert.LessOrEqual(t, 100*macs, 55*reference, "%d frames in pairs: %.4f of the reference's", frames, float64(macs)/float64(reference))
	}
}

// Every product is counted: operations without multiply-adds are norms, softmax and the
// like.
func TestProductsAreCounted(t *testing.T) {
	for _, family := range vae.Families() {
		m := published(t, family, vae.F16)
		for _, direction := range []string{"decode", "encode"} {
			for _, frames := range []int{1, 9} {
				c := plan(t, m, direction, tiling.Square(512), frames, 0).Cost
				rest := c.FLOPs - 2*c.MACs
				assert.GreaterOrEqual(t, rest, int64(0), "%s %s", family, direction)
				assert.Less(t, 100*rest, c.FLOPs, "%s %s, %d frames", family, direction, frames)
			}
		}
	}
}

// A plan's layers add up to its cost, together with the work that takes results off the
// device.
func TestLayersAddUp(t *testing.T) {
	for _, family := range vae.Families() {
		m := published(t, family, vae.F32)
		for _, direction := range []string{"decode", "encode"} {
			for _, tile := range []int{0, 128} {
				p := plan(t, m, direction, tiling.Size{H: 192, W: 256}, 9, tile)
				var macs, bytes, dispatches int64
				besides := map[string]bool{}
				other := []string{"blend", "normalise", "sample", "to_rgba8"}
				for _, l := range p.Layers() {
					macs += l.MACs
					if slices.Contains(other, l.Name) {
						besides[l.Name] = true
						continue
					}
					bytes += l.Bytes
					dispatches += l.Dispatches
				}
				assert.Equal(t, p.Cost.MACs, macs, "%s %s", family, direction)
				assert.Equal(t, p.Cost.Bytes, bytes, "%s %s", family, direction)
				assert.Positive(t, dispatches)
				want := map[string]bool{}
				if direction == "decode" && m.Config.Channels == 3 { // alpha is downloaded as floats
					want["to_rgba8"] = true
				}
				if p.Canvas > 0 {
					want["blend"], want["normalise"] = true, true
				}
				assert.Equal(t, want, besides, "%s %s, tile %d", family, direction, tile)
			}
		}
	}
}

// unlimited returns an adapter on which whole frames are possible.
func unlimited() gpu.Info {
	limits := gpu.DefaultLimits
	limits.MaxBuffer, limits.MaxBinding = 1<<40, 1<<40
	return gpu.Info{Type: "discrete", F16: true, Memory: 1 << 40, Limits: limits}
}

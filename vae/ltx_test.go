package vae

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// The published sizes have the names and shapes of the reference's classes, and the names
// that diffusers has for them: lines of tests/synthetic/testdata.
func TestPublishedLTX(t *testing.T) {
	for _, c := range []struct {
		file       string
		config     synthetic.LTXConfig
		parameters int
	}{
		{"ltx20", synthetic.LTXConfig{}, 1_222_479_857},
		{"ltx23", synthetic.LTXConfig{New: true}, 726_106_225},
	} {
		text, err := os.ReadFile("../tests/synthetic/testdata/" + c.file + "_tensors.txt")
		require.NoError(t, err)
		want := strings.Split(strings.TrimSpace(string(text)), "\n")
		var got []string
		all := synthetic.LTX(c.config)
		for _, s := range all {
			dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Shape), "[]"), " ", ",")
			got = append(got, fmt.Sprintf("%s %s %s", s.Name, dims, ltxDiffusers(s.Name, map[string]int{"encoder": 8})))
		}
		assert.ElementsMatch(t, want, got)
		assert.Equal(t, c.parameters, parameters(all))
	}
	testPublished(t, "ltx2", without(synthetic.LTX(synthetic.LTXConfig{}), "per_channel_statistics."), 182, 1_222_479_601, "")
	testPublished(t, "ltx2.3", without(synthetic.LTX(synthetic.LTXConfig{New: true}), "per_channel_statistics."), 168, 726_105_969, "")
}

// without leaves out tensors whose names begin with prefix.
func without(all []synthetic.Spec, prefix string) []synthetic.Spec {
	return slices.DeleteFunc(all, func(s synthetic.Spec) bool { return strings.HasPrefix(s.Name, prefix) })
}

// inDiffusers is a tensor's name in diffusers' files.
func inDiffusers(name string) string { return ltxDiffusers(name, map[string]int{"encoder": 8}) }

// smallLTX is a checkpoint with names of a kind, and other tensors beside them.
func smallLTX(t testing.TB, c synthetic.LTXConfig, name func(string) string, beside ...string) string {
	t.Helper()
	c.Name = name
	path := filepath.Join(t.TempDir(), "ltx.safetensors")
	require.NoError(t, synthetic.CreateLTX(path, c))
	return withOthers(t, path, beside...)
}

// Names of the original and of diffusers, by themselves and in a whole checkpoint, are one
// model, which decodes and encodes to the same bits.
func TestNamesOfLTX(t *testing.T) {
	for model, config := range map[string]synthetic.LTXConfig{"LTX-2": ltx20Small, "LTX-2.3": ltx23Small} {
		c := testNames(t, slicedLTX(2, 2, 2), noiseClip(9, 64, 64), []layout{
			{smallLTX(t, config, nil), "original", ""},
			{smallLTX(t, config, inDiffusers), "diffusers", ""},
			{smallLTX(t, config, func(name string) string { return "vae." + name }, "audio_vae.decoder.conv_in.conv.weight", "model.diffusion_model.patchify_proj.weight", "vae.per_channel_statistics.channel"), "original", ""},
		})
		require.Equal(t, model, c.Model)
		require.Equal(t, []int{8, 32, 8, 4}, []int{c.Latent, c.Spatial, c.Temporal, c.Patch})
	}
}

// A pipeline's latents are (mu - mean) / deviation, by tensors of the file.
func TestStatisticsOfLTX(t *testing.T) {
	mean := synthetic.Weight("per_channel_statistics.mean-of-means", []int{8})
	std := synthetic.Weight("per_channel_statistics.std-of-means", []int{8})
	m, err := Inspect(smallLTX(t, ltx23Small, inDiffusers), gpu.Info{}, Settings{})
	require.NoError(t, err)
	defer m.Close()
	for k := range 8 {
		require.InDelta(t, float64(mean[k]), m.Config.Mean[k], 1e-7)
		require.InDelta(t, 1/float64(std[k]), m.Config.Scale[k], 1e-6)
	}
	require.Greater(t, std[0], float32(0.8))
}

// A file's mean and log-variance, which is one for all channels.
func TestMomentsOfLTX(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, ltxCheckpoint("ltx23_small", ltx23Small)(t), F32)
	clip := noiseClip(9, 32, 64)
	moments, err := m.Encode(t.Context(), clip, EncodeOptions{Moments: true})
	require.NoError(t, err)
	means := encodeAll(t, m, clip, EncodeOptions{Options: Options{Unscaled: true}})
	n := len(means) / 8
	require.Equal(t, means, moments.Data[:8*n])
	require.NotEqual(t, moments.Data[7*n:8*n], moments.Data[8*n:9*n])
	for k := range 8 {
		require.Equal(t, moments.Data[8*n:9*n], moments.Data[(8+k)*n:(9+k)*n])
	}
}

// What is built like it, and differs, is refused by name; damage is told.
func TestOtherLTX(t *testing.T) {
	for name, want := range map[string]string{
		"decoder.timestep_scale_multiplier":                       "with time steps",
		"decoder.last_scale_shift_table":                          "with time steps",
		"decoder.up_blocks.0.res_blocks.0.per_channel_scale1":     "with noise in its layers",
		"encoder.down_blocks.1.res_blocks.0.norm3.weight":         "with shortcuts",
		"encoder.down_blocks.1.res_blocks.0.conv_shortcut.weight": "with shortcuts",
	} {
		_, err := Inspect(smallLTX(t, ltx23Small, nil, name), gpu.Info{}, Settings{})
		require.ErrorIs(t, err, ErrBadModel)
		require.ErrorContains(t, err, want)
	}
	for change, c := range map[string]struct {
		name  string
		shape []int
		zero  bool
		want  string
	}{
		"deviations of 0":    {"per_channel_statistics.std-of-means", []int{8}, true, "element 0 is 0, expected statistics of latents"},
		"few":                {"per_channel_statistics.std-of-means", []int{7}, false, "found 8 means and 7 deviations"},
		"a sampler of 3":     {"decoder.up_blocks.1.conv.conv.weight", []int{96, 64, 3, 3, 3}, false, "makes 96 channels, next to a stage of 32"},
		"patches of 4.5":     {"encoder.conv_in.conv.weight", []int{8, 60, 3, 3, 3}, false, "60 channels of pixels, expected 3 times a square"},
		"a flat convolution": {"decoder.up_blocks.0.res_blocks.0.conv1.conv.weight", []int{64, 64, 3, 3}, false, "expected 5 dimensions"},
	} {
		path := changed(t, smallLTX(t, ltx20Small, nil), func(x *synthetic.Raw) bool {
			if x.Name != c.name {
				return true
			}
			n := 1
			for _, d := range c.shape {
				n *= d
			}
			number := []byte{0, 0, 0x80, 0x3f} // one
			if c.zero {
				number = make([]byte, 4)
			}
			x.Shape, x.Data = c.shape, bytes.Repeat(number, n)
			return true
		})
		_, err := Inspect(path, gpu.Info{}, Settings{})
		require.ErrorIs(t, err, ErrBadModel, change)
		require.ErrorContains(t, err, c.want, change)
	}
}

// slicedLTX is a latent clip that is longer than the decoder looks ahead: 22 latent frames
// in LTX-2, 14 in LTX-2.3.
func slicedLTX(frames, h, w int) Latent {
	z := Latent{Channels: 8, Frames: frames, Height: h, Width: w, Data: make([]float32, 8*frames*h*w)}
	for i := range z.Data {
		z.Data[i] = float32(synthetic.Value("latent", uint64(i)))
	}
	return z
}

// The decoder looks ahead in time: a clip in slices is what it is as a whole.
func TestSlicesAhead(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		name   string
		of     synthetic.LTXConfig
		frames int
	}{{"ltx20_small", ltx20Small, 26}, {"ltx23_small", ltx23Small, 19}, {"ltx23_small", ltx23Small, 2}} {
		t.Run(fmt.Sprintf("%s of %d", c.name, c.frames), func(t *testing.T) {
			if c.frames > 20 {
				testenv.Long(t)
			}
			m := open(t, dev, ltxCheckpoint(c.name, c.of)(t), F32)
			z := slicedLTX(c.frames, 1, 2)
			m.decoder.net.Lookahead, m.decoder.First = false, func(int) int { return c.frames }
			want := decodeAll(t, m, z, DecodeOptions{})
			m.decoder.net.Lookahead, m.decoder.First = true, m.family.first
			for _, chunk := range []int{1, 3, 100} {
				o := DecodeOptions{Options: Options{Chunk: chunk}}
				p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, o)
				require.NoError(t, err)
				require.Greater(t, p.Slices, 1)
				closeTo(t, decodeAll(t, m, z, o), want, 1e-11, fmt.Sprintf("chunk %d", chunk))
			}
		})
	}
}

// One tile is taken before tiles that nobody asked for, where it fits without giving up
// time.
func TestUntiledLTX(t *testing.T) {
	m, err := Published("ltx2", gpu.Info{Limits: gpu.DefaultLimits}, Settings{Precision: F16})
	require.NoError(t, err)
	o := Options{Tile: tiling.Choice{Tile: tiling.Square(512)}, Overlap: tiling.Square(64)}
	for _, c := range []struct {
		shrink bool
		budget int64
		whole  bool
	}{{true, 4 << 30, true}, {true, 2 << 30, false}, {false, 4 << 30, false}} {
		o.Shrink, o.Budget = c.shrink, c.budget
		d, err := m.PlanDecode(t.Context(), 16, 22, 40, DecodeOptions{Options: o})
		require.NoError(t, err)
		e, err := m.PlanEncode(t.Context(), 121, 704, 1280, EncodeOptions{Options: o})
		require.NoError(t, err)
		require.Equal(t, []bool{c.whole, c.whole}, []bool{d.Tiles.Whole(), e.Tiles.Whole()}, "%+v", c)
	}
}

// A sliced clip becomes the same in bands of rows, in portions, with memory on the host
// and with less of it.
func TestLTXWithLess(t *testing.T) {
	m := open(t, gputest.Open(t), ltxCheckpoint("ltx20_small", ltx20Small)(t), F32)
	z, clip := slicedLTX(5, 3, 2), noiseClip(17, 96, 64)
	decoded, encoded, p, _ := within(t, m, z, clip, Options{}, 0)
	require.False(t, p.Away)
	for what, c := range map[string]struct {
		o       Options
		binding int64
	}{
		"bands":     {Options{Internals: Internals{Least: true}}, 24 << 10},
		"offloaded": {Options{Offload: OffloadOn, Internals: Internals{Across: 400}}, 0},
		"streamed":  {Options{Offload: OffloadOn, Internals: Internals{Least: true}}, 0},
	} {
		t.Run(what, func(t *testing.T) {
			if what != "bands" {
				testenv.Long(t)
			}
			d, e, p, _ := within(t, m, z, clip, c.o, c.binding)
			assert.Equal(t, c.o.Offload == OffloadOn, p.Away)
			closeTo(t, d, decoded, 1e-11, "decoded")
			closeTo(t, e, encoded, 1e-11, "encoded")
		})
	}
	t.Run("in 8 bits", func(t *testing.T) {
		testenv.Long(t)
		eight, _, _, _ := within(t, m, z, clip, Options{MemoryFormat: MemoryI8}, 0)
		closeTo(t, eight, decoded, 1e-3, "in 8 bits")
		away, _, p, _ := within(t, m, z, clip, Options{MemoryFormat: MemoryI8, Offload: OffloadOn, Internals: Internals{Across: 400}}, 0)
		require.True(t, p.Away)
		require.Equal(t, eight, away)
	})
}

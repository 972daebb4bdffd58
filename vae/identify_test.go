//go:build !js

package vae

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
)

// The statistics in the config.json beside a checkpoint replace the published ones, if it
// is for the checkpoint's class.
func TestStatisticsBeside(t *testing.T) {
	list := func(x float64) string {
		return "[" + strings.Join(slices.Repeat([]string{fmt.Sprint(x)}, 16), ", ") + "]"
	}
	published := fmt.Sprintf(`{"_class_name": "AutoencoderKLWan", "latents_mean": %s, "latents_std": %s}`,
		strings.Join(strings.Fields(fmt.Sprint(wan21Mean)), ", "), strings.Join(strings.Fields(fmt.Sprint(wan21Std)), ", "))
	own := fmt.Sprintf(`{"_class_name": "AutoencoderKLWan", "latents_mean": %s, "latents_std": %s}`, list(0.5), list(4))
	path := filepath.Join(t.TempDir(), "diffusion_pytorch_model.safetensors")
	require.NoError(t, synthetic.CreateWan(path, synthetic.WanConfig{Dim: 4, Latent: 16}))
	name := filepath.Join(filepath.Dir(path), "config.json")
	for _, c := range []struct {
		about       string
		text        string
		mean, scale float64 // 0: the published ones
		error       string
	}{
		{"lists", own, 0.5, 0.25, ""},
		{"with a byte order mark", "\ufeff" + own, 0.5, 0.25, ""},
		{"in UTF-16", "\xff\xfe{\x00\"\x00}\x00", 0, 0, "is UTF-16; save it as UTF-8"},
		{"factors", `{"_class_name": "AutoencoderKLQwenImage", "scaling_factor": 0.5, "shift_factor": 0.25, "latents_mean": null}`, 0.25, 0.5, ""},
		{"lists and a factor", fmt.Sprintf(`{"_class_name": "AutoencoderKLWan", "latents_std": %s, "scaling_factor": 3}`, list(2)), 0, 1.5, ""},
		{"of no class, with its channels", `{"z_dim": 16, "scaling_factor": 0.5}`, 0, 0.5, ""},
		{"of no class", `{"scaling_factor": 0.5}`, 0, 0.5, ""},
		{"lists of no class", fmt.Sprintf(`{"latents_mean": %s, "latents_std": %s}`, list(0.5), list(4)), 0.5, 0.25, ""},
		{"of no class, with other channels", `{"z_dim": 48, "scaling_factor": 0.5}`, 0, 0, ""},
		{"the published ones", published, 0, 0, ""},
		{"none", `{"_class_name": "AutoencoderKLWan", "z_dim": 16}`, 0, 0, ""},
		{"another VAE's", `{"_class_name": "AutoencoderKL", "latent_channels": 16, "scaling_factor": 0.3611, "shift_factor": 0.1159}`, 0, 0, ""},
		{"a transformer's", `{"_class_name": "WanModel", "dim": 5120}`, 0, 0, ""},
		{"no JSON", `scaling_factor: 1`, 0, 0, ""},
		{"a list", `[1]`, 0, 0, ""},
		{"cut", own[:len(own)-1], 0, 0, "unexpected end of JSON input"},
		{"few", `{"_class_name": "AutoencoderKLWan", "latents_mean": [1, 2]}`, 0, 0, "latents_mean has 2 numbers, expected one for each of 16 channels"},
		{"a deviation of 0", fmt.Sprintf(`{"_class_name": "AutoencoderKLWan", "latents_std": %s}`, list(0)), 0, 0, "latents_std has 0, expected positive numbers"},
		{"a factor of 0", `{"_class_name": "AutoencoderKLWan", "scaling_factor": 0}`, 0, 0, "scaling_factor is 0, expected a positive number"},
	} {
		require.NoError(t, os.WriteFile(name, []byte(c.text), 0o666))
		m, err := Inspect(path, gpu.Info{Limits: gpu.DefaultLimits}, Settings{Precision: F32})
		if c.error != "" {
			assert.ErrorIs(t, err, ErrBadModel, c.about)
			assert.ErrorContains(t, err, "vae: "+name+": "+c.error, c.about)
			continue
		}
		require.NoError(t, err, c.about)
		mean, scale := slices.Repeat([]float64{c.mean}, 16), slices.Repeat([]float64{c.scale}, 16)
		is := name
		if c.scale == 0 {
			mean, scale, is = wan21Mean, nil, ""
			for _, std := range wan21Std {
				scale = append(scale, 1/std)
			}
		}
		assert.Equal(t, mean, m.Config.Mean, c.about)
		assert.Equal(t, scale, m.Config.Scale, c.about)
		assert.Equal(t, is, m.Config.Beside, c.about)
		require.NoError(t, m.Close())
	}
}

// This holds for every family's class: Cosmos 1.0 has statistics for each channel and
// latent frame, divided by its scheduler's sigma_data; LTX-2 has only a factor, because
// means and deviations are tensors. A tiny autoencoder's latents are already scaled, so
// another factor is refused.
func TestStatisticsOfClasses(t *testing.T) {
	list := func(n int, first float64) string {
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprint(first + float64(i)/1024)
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	lists := func(n int) string {
		return fmt.Sprintf(`"latents_mean": %s, "latents_std": %s, "scaling_factor": 1.0`, list(n, 0.5), list(n, 4))
	}
	standard := func(factor float64) func(i int) (mean, scale float64) {
		return func(i int) (mean, scale float64) { return 0.5 + float64(i)/1024, factor / (4 + float64(i)/1024) }
	}
	factors := func(shift, factor float64) func(int) (mean, scale float64) {
		return func(int) (mean, scale float64) { return shift, factor }
	}
	small := []int{8, 8, 8, 8}
	create := map[string]func(path string) error{
		"cosmos": func(path string) error { return synthetic.CreateCosmos(path, cosmosSmall) },
		"cosmos16": func(path string) error {
			return synthetic.CreateCosmos(path, synthetic.CosmosConfig{Encoder: small, Decoder: small})
		},
		"ltx":   func(path string) error { return synthetic.CreateLTX(path, ltx20Small) },
		"mochi": func(path string) error { return synthetic.CreateMochi(path, mochiSmall) },
		"qwen2.1": func(path string) error {
			return synthetic.CreateWan(path, synthetic.WanConfig{Still: true, Dim: 4, Decoder: 8, Latent: 6})
		},
		"hunyuanvideo": func(path string) error {
			return synthetic.CreateHunyuan(path, synthetic.HunyuanConfig{Widths: []int{32, 32, 32, 32}, Latent: 4})
		},
		"hunyuanvideo1.5": func(path string) error {
			return synthetic.CreateHunyuan15(path, synthetic.Hunyuan15Config{Widths: []int{8, 8, 16, 16, 16}, Latent: 4})
		},
		"hunyuanimage": func(path string) error {
			return synthetic.CreateHunyuanImage(path, synthetic.HunyuanImageConfig{Widths: []int{32, 32, 32, 32, 32, 32}, Latent: 4})
		},
		"taesd": func(path string) error { return synthetic.CreateTAESD(path, small12) },
	}
	for _, c := range []struct {
		family, class, text string
		statistics          int // number of means, 0: what the file has without config.json
		want                func(i int) (mean, scale float64)
		error               string
	}{
		{"cosmos", "AutoencoderKLCosmos", lists(5 * 3), 15, standard(0.5), ""},
		{"cosmos", "AutoencoderKLCosmos", lists(5), 5, standard(0.5), ""},
		{"cosmos16", "AutoencoderKLCosmos", lists(256), 256, standard(0.5), ""},
		{"cosmos16", "AutoencoderKLCosmos", `"latents_mean": null, "latents_std": null, "scaling_factor": 2.0`, 16, factors(0, 0.5), ""},
		{"cosmos16", "AutoencoderKLWan", lists(16), 0, nil, ""},
		{"cosmos16", "AutoencoderKLCosmos", `"latents_mean": ` + list(250, 0), 0, nil, "latents_mean has 250 numbers, expected 15 for each of 16 channels"},
		{"cosmos16", "AutoencoderKLCosmos", fmt.Sprintf(`"latents_mean": %s, "latents_std": %s`, list(16, 0), list(256, 1)), 0, nil, "latents_mean has 16 numbers, expected 16 for each of 16 channels"},
		{"ltx", "AutoencoderKLLTX2Video", `"scaling_factor": 1.0`, 0, nil, ""},
		{"ltx", "", `"scaling_factor": 1.0`, 0, nil, ""},
		{"ltx", "AutoencoderKLLTX2Video", lists(8), 0, nil, ""},
		{"mochi", "AutoencoderKLMochi", lists(5), 5, standard(1), ""},
		{"qwen2.1", "AutoencoderKLQwenImage21", lists(6), 6, standard(1), ""},
		{"hunyuanvideo", "AutoencoderKLHunyuanVideo", `"scaling_factor": 0.25`, 4, factors(0, 0.25), ""},
		{"hunyuanvideo", "AutoencoderKLCausal3D", `"scaling_factor": 0.25, "shift_factor": 0.5`, 4, factors(0.5, 0.25), ""},
		{"hunyuanvideo1.5", "AutoencoderKLHunyuanVideo15", `"scaling_factor": 0.25`, 4, factors(0, 0.25), ""},
		{"hunyuanvideo1.5", "AutoencoderKLConv3D", `"scaling_factor": 0.25, "shift_factor": null`, 4, factors(0, 0.25), ""},
		{"hunyuanimage", "AutoencoderKLHunyuanImage", `"scaling_factor": 0.25`, 4, factors(0, 0.25), ""},
		{"hunyuanimage", "HunyuanVAE2D", `"scaling_factor": 0.25, "shift_factor": 0.5`, 4, factors(0.5, 0.25), ""},
		{"taesd", "AutoencoderTiny", `"scaling_factor": 1.0, "shift_factor": 0.0`, 0, nil, ""},
		{"taesd", "AutoencoderTiny", `"scaling_factor": 0.5`, 0, nil, "scaling_factor is 0.5, expected 1 for a tiny autoencoder: its latents are scaled already"},
		{"taesd", "AutoencoderTiny", `"shift_factor": 0.5`, 0, nil, "shift_factor is 0.5, expected 0 for a tiny autoencoder: its latents are scaled already"},
		{"taesd", "AutoencoderKL", `"scaling_factor": 0.5`, 0, nil, ""},
	} {
		about := c.class + " of " + c.family + ": " + c.text[:min(60, len(c.text))]
		from := made(t, "class_"+c.family+".safetensors", create[c.family])
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "diffusion_pytorch_model.safetensors")
		require.NoError(t, os.WriteFile(path, data, 0o666))
		config := func() (Config, error) {
			m, err := Inspect(path, gpu.Info{}, Settings{})
			if err != nil {
				return Config{}, err
			}
			return m.Config, m.Close()
		}
		own, err := config()
		require.NoError(t, err, about)
		class := fmt.Sprintf(`"_class_name": %q, `, c.class)
		if c.class == "" {
			class = ""
		}
		require.NoError(t, os.WriteFile(ConfigBeside(path), []byte("{"+class+c.text+"}"), 0o666))
		got, err := config()
		if c.error != "" {
			assert.ErrorIs(t, err, ErrBadModel, about)
			assert.ErrorContains(t, err, c.error, about)
			continue
		}
		require.NoError(t, err, about)
		if c.statistics == 0 {
			assert.Equal(t, own.Mean, got.Mean, about)
			assert.Equal(t, own.Scale, got.Scale, about)
			assert.Equal(t, own.Frames, got.Frames, about)
			assert.Empty(t, got.Beside, about)
			continue
		}
		assert.Equal(t, ConfigBeside(path), got.Beside, about)
		require.Len(t, got.Mean, c.statistics, about)
		for i := range got.Mean {
			mean, scale := c.want(i)
			require.InDelta(t, mean, got.Mean[i], 1e-12, about)
			require.InDelta(t, scale, got.Scale[i], 1e-12, about)
		}
		if c.family == "cosmos" || c.family == "cosmos16" {
			assert.Equal(t, c.statistics/got.Latent, got.Frames, about)
			assert.Equal(t, 0.5, got.Sigma, about)
			last, _ := got.network(got.Latent-1, 99, 0, false)
			assert.InDelta(t, got.Scale[c.statistics-1], last[0], 1e-12, about)
		}
	}
	ltx := filepath.Join(t.TempDir(), "ltx.safetensors")
	require.NoError(t, create["ltx"](ltx))
	own, err := Inspect(ltx, gpu.Info{}, Settings{})
	require.NoError(t, err)
	defer own.Close()
	require.NoError(t, os.WriteFile(ConfigBeside(ltx), []byte(`{"_class_name": "AutoencoderKLLTX2Video", "scaling_factor": 2}`), 0o666))
	twice, err := Inspect(ltx, gpu.Info{}, Settings{})
	require.NoError(t, err)
	defer twice.Close()
	require.NotEmpty(t, own.Config.Mean)
	assert.Equal(t, own.Config.Mean, twice.Config.Mean)
	for i, scale := range own.Config.Scale {
		assert.InDelta(t, 2*scale, twice.Config.Scale[i], 1e-12)
	}
}

// Cosmos 3 has Wan 2.2's VAE with its statistics: testdata/cosmos3.json has those of
// NVIDIA's own code (NVIDIA/cosmos-framework 5eee9ed5,
// model/generator/tokenizers/wan2pt2_vae_4x16x16.py). Beside a checkpoint they change no
// bit; rounded to bfloat16, in which that code computes with them, they replace the
// published ones.
func TestCosmos3(t *testing.T) {
	dev := gputest.Open(t)
	text, err := os.ReadFile("testdata/cosmos3.json")
	require.NoError(t, err)
	var config struct {
		Class string    `json:"_class_name"`
		Z     int       `json:"z_dim"`
		Mean  []float64 `json:"latents_mean"`
		Std   []float64 `json:"latents_std"`
	}
	require.NoError(t, json.Unmarshal(text, &config))
	rounded := config
	rounded.Mean, rounded.Std = bfloats(config.Mean), bfloats(config.Std)
	require.NotEqual(t, config.Mean, rounded.Mean)
	short, err := json.Marshal(rounded)
	require.NoError(t, err)

	path := filepath.Join(t.TempDir(), "diffusion_pytorch_model.safetensors")
	require.NoError(t, synthetic.CreateWan(path, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4, Latent: 48, DType: safetensors.F32}))
	beside := filepath.Join(filepath.Dir(path), "config.json")
	clip := floats{1, 32, 32, noise(3 * 1024)}
	var own, latent, pixels []float32
	for i, c := range []struct {
		text string
		is   string
		by   []float64
		std  []float64
	}{{"", "", config.Mean, config.Std}, {string(text), "", config.Mean, config.Std}, {string(short), beside, rounded.Mean, rounded.Std}} {
		if c.text != "" {
			require.NoError(t, os.WriteFile(beside, []byte(c.text), 0o666))
		}
		m := open(t, dev, path, F32)
		require.Equal(t, "Wan 2.2", m.Config.Model)
		require.Equal(t, c.is, m.Config.Beside)
		scaled := encodeAll(t, m, clip, EncodeOptions{})
		z := Latent{Channels: 48, Frames: 1, Height: 2, Width: 2, Data: scaled}
		if i == 0 {
			own = encodeAll(t, m, clip, EncodeOptions{Options: Options{Unscaled: true}})
			latent, pixels = scaled, decodeAll(t, m, z, DecodeOptions{})
		}
		want := make([]float64, len(own))
		for j, v := range own {
			want[j] = (float64(v) - c.by[j/4]) / c.std[j/4]
		}
		require.InDeltaSlice(t, want, scaled, 1e-6)
		if c.is == "" {
			require.Equal(t, latent, scaled)
			require.Equal(t, pixels, decodeAll(t, m, z, DecodeOptions{}))
			continue
		}
		require.NotEqual(t, latent, scaled)
		closeTo(t, decodeAll(t, m, z, DecodeOptions{}), pixels, 1e-9, "other numbers of the same latent decode otherwise")
	}
}

// bfloats rounds numbers to bfloat16.
func bfloats(list []float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		bits := math.Float32bits(float32(v))
		out[i] = float64(math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff))
	}
	return out
}

// A config.json of AutoencoderKL identifies the model, unless the user names one.
func TestKLBeside(t *testing.T) {
	beside := smallKL(t, "thing.safetensors", synthetic.KLConfig{Quant: true})
	model := func(as string) Config {
		t.Helper()
		m, err := Inspect(beside, gpu.Info{}, Settings{As: as})
		require.NoError(t, err)
		m.Close()
		return m.Config
	}
	text := `{"_class_name": "AutoencoderKL", "latent_channels": 4, "scaling_factor": 0.25, "shift_factor": 0.5}`
	require.NoError(t, os.WriteFile(ConfigBeside(beside), []byte(text), 0o666))
	got := model("")
	assert.Equal(t, []float64{0.25, 0.25, 0.25, 0.25}, got.Scale)
	assert.Equal(t, []float64{0.5, 0.5, 0.5, 0.5}, got.Mean)
	assert.False(t, got.Assumed)
	assert.Equal(t, 0.13025, model("sdxl").Scale[0], "what is asked for is first")
	text = `{"_class_name": "AutoencoderKL", "latent_channels": 4, "scaling_factor": 0.13025}`
	require.NoError(t, os.WriteFile(ConfigBeside(beside), []byte(text), 0o666))
	got = model("")
	assert.Equal(t, "SDXL", got.Model)
	assert.Empty(t, got.Beside, "the published statistics")
	assert.False(t, got.Assumed)
}

// The config.json beside a file identifies one of CogVideoX's models, or sets another
// scale.
func TestCogVideoXBeside(t *testing.T) {
	data, err := os.ReadFile(narrowCogVideoX(t))
	require.NoError(t, err)
	for _, c := range []struct {
		scale string
		model string
		want  float64
	}{{"1.15258426", "CogVideoX-2B", 1.15258426}, {"0.7", "CogVideoX", 0.7}, {"0.5", "CogVideoX", 0.5}} {
		path := filepath.Join(t.TempDir(), "diffusion_pytorch_model.safetensors")
		require.NoError(t, os.WriteFile(path, data, 0o666))
		config := `{"_class_name": "AutoencoderKLCogVideoX", "latent_channels": 4, "scaling_factor": ` + c.scale + `}`
		require.NoError(t, os.WriteFile(ConfigBeside(path), []byte(config), 0o666))
		m, err := Inspect(path, gpu.Info{}, Settings{})
		require.NoError(t, err)
		assert.Equal(t, c.model, m.Config.Model)
		assert.Equal(t, slices.Repeat([]float64{c.want}, 4), m.Config.Scale)
		assert.Empty(t, m.Config.Doubt())
		m.Close()
	}
}

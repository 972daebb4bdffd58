package vae

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/known"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// smallKL returns a checkpoint whose width equals the number of groups, named after a
// test.
func smallKL(t testing.TB, name string, c synthetic.KLConfig) string {
	t.Helper()
	c.Widths, c.DType = []int{32, 32, 32, 32}, safetensors.F32
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, synthetic.CreateKL(path, c))
	return path
}

// The published sizes have the published numbers of tensors and parameters.
func TestPublishedKL(t *testing.T) {
	for _, c := range []struct {
		config              synthetic.KLConfig
		tensors, parameters int
	}{
		{synthetic.KLConfig{Quant: true}, 248, 83_653_863},
		{synthetic.KLConfig{Latent: 16}, 244, 83_819_683},
		{synthetic.KLConfig{Widths: []int{128, 256, 512}, Quant: true}, 204, 55_325_927},
		{synthetic.KLConfig{Flux2: true}, 251, 84_046_115 + 257}, // with statistics and their count
		{synthetic.KLConfig{Flux2: true, Narrow: []int{96, 192, 384, 384}}, 251, 62_373_091 + 257},
	} {
		all := synthetic.KL(c.config)
		assert.Len(t, all, c.tensors)
		assert.Equal(t, c.parameters, parameters(all))
	}
	testPublished(t, "sdxl", synthetic.KL(synthetic.KLConfig{Quant: true}), 248, 83_653_863, ".attn_1.")
	testPublished(t, "flux", synthetic.KL(synthetic.KLConfig{Latent: 16}), 244, 83_819_683, ".attn_1.")
	testPublished(t, "sd3", synthetic.KL(synthetic.KLConfig{Latent: 16}), 244, 83_819_683, ".attn_1.")
}

// Files with ldm's and diffusers' names, current and old, and with matrices of either
// rank, decode and encode to the same bits.
func TestNamesOfKL(t *testing.T) {
	diffusers := func(name string) string { return klDiffusers(name, 4) }
	old := strings.NewReplacer(".to_q.", ".query.", ".to_k.", ".key.", ".to_v.", ".value.", ".to_out.0.", ".proj_attn.")
	of := func(flat bool, name func(string) string) string {
		path := smallKL(t, "sdxl.safetensors", synthetic.KLConfig{Quant: true, Name: name})
		if flat {
			path = flattened(t, path)
		}
		return path
	}
	files := []layout{{of(false, nil), "original", ""}, {of(true, nil), "original", ""}, {of(true, diffusers), "diffusers", ""}}
	if !testenv.Short(t) {
		files = append(files,
			layout{of(false, diffusers), "diffusers", ""},
			layout{of(true, func(name string) string { return old.Replace(diffusers(name)) }), "diffusers", ""},
			layout{of(false, func(name string) string { return "first_stage_model." + name }), "original", ""},
			layout{of(true, func(name string) string { return "vae." + diffusers(name) }), "diffusers", ""})
	}
	c := testNames(t, madeLatent(4, 1, 2, 3), noiseClip(1, 16, 24), files)
	require.Equal(t, []string{kl, "SDXL"}, []string{c.Family, c.Model})
}

// flattened writes a checkpoint whose attention weights are matrices.
func flattened(t *testing.T, path string) string {
	t.Helper()
	n := 0
	path = changed(t, path, func(x *synthetic.Raw) bool {
		if (strings.Contains(x.Name, "attn_1.") || strings.Contains(x.Name, "attentions.")) && len(x.Shape) == 4 {
			x.Shape = x.Shape[:2]
			n++
		}
		return true
	})
	require.Equal(t, 8, n)
	return path
}

// Which of the models of equal shapes a file is: the requested one, the one of
// config.json, of a whole checkpoint's other tensors, of the file's name; else the most
// common, with a doubt.
func TestWhichKL(t *testing.T) {
	model := func(path, as string) Config {
		t.Helper()
		m, err := Inspect(path, gpu.Info{}, Settings{As: as})
		require.NoError(t, err)
		m.Close()
		return m.Config
	}
	for _, c := range []struct {
		file, as, model string
		latent          int
		scale, mean     float64 // for channel 0
		assumed         bool
	}{
		{"thing.safetensors", "", "Stable Diffusion", 4, 0.18215, 0, true},
		{"thing.safetensors", "sdxl", "SDXL", 4, 0.13025, 0, false},
		{"ponyXL_vae.safetensors", "", "SDXL", 4, 0.13025, 0, false},
		{"vae-ft-mse-840000-ema-pruned.safetensors", "", "Stable Diffusion", 4, 0.18215, 0, false},
		{"vae-ft-mse-840000-ema-pruned.safetensors", "playground", "Playground 2.5", 4, 0.5 / 8.4927, -1.6574, false},
		{"ae.safetensors", "", "FLUX.1", 16, 0.3611, 0.1159, false},
		{"vae.safetensors", "", "FLUX.1", 16, 0.3611, 0.1159, true},
		{"sd3_vae.safetensors", "", "Stable Diffusion 3", 16, 1.5305, 0.0609, false},
		{"vae.safetensors", "sd3", "Stable Diffusion 3", 16, 1.5305, 0.0609, false},
	} {
		got := model(smallKL(t, c.file, synthetic.KLConfig{Latent: c.latent, Quant: c.latent == 4}), c.as)
		assert.Equal(t, "kl", got.Family)
		assert.Equal(t, c.model, got.Model, "%+v", c)
		assert.Equal(t, c.assumed, got.Assumed, "%+v", c)
		assert.InDelta(t, c.scale, got.Scale[0], 1e-12, "%+v", c)
		assert.InDelta(t, c.mean, got.Mean[0], 1e-12, "%+v", c)
		assert.Len(t, got.Scale, c.latent)
	}
	thing := smallKL(t, "thing.safetensors", synthetic.KLConfig{Quant: true})
	_, err := Inspect(thing, gpu.Info{}, Settings{As: "flux"})
	require.ErrorIs(t, err, ErrBadModel)
	require.ErrorContains(t, err, `cannot be opened as "flux"`)
}

// A whole checkpoint's other tensors have priority over its name.
func TestKLInWholeCheckpoints(t *testing.T) {
	for other, want := range map[string]string{
		"cond_stage_model.transformer.x.weight":       "Stable Diffusion",
		"conditioner.embedders.0.x.weight":            "SDXL",
		"model.diffusion_model.joint_blocks.0.weight": "Stable Diffusion 3",
		"model.diffusion_model.double_blocks.0.x":     "FLUX.1",
	} {
		latent := 4
		if strings.Contains(other, "blocks") {
			latent = 16
		}
		path := smallKL(t, "sd3_xl.safetensors", synthetic.KLConfig{Latent: latent, Quant: latent == 4, Name: func(name string) string { return "first_stage_model." + name }})
		path = withOthers(t, path, other, "first_stage_model.loss.logvar", "first_stage_model.model_ema.decay")
		m, err := Inspect(path, gpu.Info{}, Settings{})
		require.NoError(t, err)
		assert.Equal(t, want, m.Config.Model, other)
		assert.False(t, m.Config.Assumed)
		m.Close()
	}
}

// Models that are built like it but differ are refused by name.
func TestOtherKL(t *testing.T) {
	for name, want := range map[string]string{
		"decoder.mid.block_1.time_stack.norm1.weight":  "Stable Video Diffusion",
		"decoder.condition_encoder.layers.0.weight":    "AsymmetricAutoencoderKL",
		"quantize.embedding.weight":                    "a VQ model",
		"encoder.down.1.attn.0.norm.weight":            "attention in a stage",
		"decoder.up.2.attn.0.q.weight":                 "attention in a stage",
		"decoder.up_blocks.0.resnets.0.mix_factor":     "Stable Video Diffusion",
		"decoder.time_conv_out.weight":                 "Stable Video Diffusion",
		"vquantizer.embedding.weight":                  "a VQ model",
		"decoder.mid.block_1.mix_factor":               "Stable Video Diffusion",
		"decoder.mid.block_2.time_stack.conv1.weight":  "Stable Video Diffusion",
		"decoder.condition_encoder.layers.1.something": "AsymmetricAutoencoderKL",

		"encoder.down_blocks.3.attentions.0.to_q.weight": "attention in a stage",
		"decoder.mid.block_1.norm1.conv_y.weight":        "a K-VAE of Kandinsky",
	} {
		path := withOthers(t, smallKL(t, "other.safetensors", synthetic.KLConfig{Quant: true}), name)
		_, err := Inspect(path, gpu.Info{}, Settings{})
		require.ErrorIs(t, err, ErrUnknownModel, name)
		require.ErrorContains(t, err, want)
		require.Contains(t, err.Error()+known.Detail(err), name)
	}
}

// The VQ model of Kandinsky 2 has norms with CogVideoX's names.
func TestVQIsNotCogVideoX(t *testing.T) {
	path := smallKL(t, "movq.safetensors", synthetic.KLConfig{Quant: true, Name: func(name string) string {
		return strings.Replace(klDiffusers(name, 4), ".norm1.", ".norm1.norm_layer.", 1)
	}})
	all, meta, err := synthetic.Read(path)
	require.NoError(t, err)
	for i := range all {
		if strings.HasPrefix(all[i].Name, "encoder.") {
			all[i].Name = strings.Replace(all[i].Name, ".norm_layer.", ".", 1)
		}
	}
	all = append(all, synthetic.Raw{Spec: safetensors.Spec{Name: "quantize.embedding.weight", DType: safetensors.F32, Shape: []int{1}}, Data: make([]byte, 4)})
	require.NoError(t, synthetic.Create(path, all, meta))
	_, err = Inspect(path, gpu.Info{}, Settings{})
	require.ErrorIs(t, err, ErrUnknownModel)
	require.ErrorContains(t, err, "is a VQ model")
}

// Sums of residual blocks beyond the range of halves decode in f16: there they are 32
// times smaller, with an equal result. Without the scaling the pictures are NaN.
func TestResidualsBeyondHalves(t *testing.T) {
	dev := gputest.Open(t)
	for name, path := range map[string]string{
		kl: smallKL(t, "xl.safetensors", synthetic.KLConfig{Quant: true}), hunyuan: narrowHunyuan(t), cogVideoX: narrowCogVideoX(t), cosmos: cosmosCheckpoint(t),
	} {
		t.Run(name, func(t *testing.T) {
			if name != kl {
				testenv.Long(t)
			}
			m := open(t, dev, path, F32)
			sums := m.family.residual
			large := changed(t, path, func(x *synthetic.Raw) bool { // the stream becomes large, and norms remove its scale
				if strings.HasPrefix(x.Name, "decoder.conv_in.") && sums.has(x.Name) {
					for at := 0; at < len(x.Data); at += 4 {
						v := math.Float32frombits(binary.LittleEndian.Uint32(x.Data[at:]))
						binary.LittleEndian.PutUint32(x.Data[at:], math.Float32bits(3e5*v))
					}
				}
				return true
			})
			z := madeLatent(m.Config.Latent, 1, 3, 4)
			if !m.Config.Independent {
				z = madeLatent(m.Config.Latent, 2, 3, 4)
			}
			o := DecodeOptions{Options: Options{Unscaled: true, Independent: m.Config.Independent}}
			want := decodeAll(t, open(t, dev, large, F32), z, o)
			closeTo(t, decodeAll(t, open(t, dev, large, F16), z, o), want, 1e-5, "f16")
			m = open(t, dev, large, F16)
			plain := *m.family
			plain.residual = nil
			m.family = &plain
			_, err := gatherAll(m, z, o)
			require.ErrorIs(t, err, ErrOverflow, "without it")
		})
	}
}

// gatherAll decodes all frames and returns their number and the error.
func gatherAll(m *Model, z Latent, o DecodeOptions) (n int, err error) {
	p, err := m.PlanDecode(context.Background(), z.Frames, z.Height, z.Width, o)
	if err != nil {
		return 0, err
	}
	for f, err := range p.Run(context.Background(), z, Watch{}) {
		if err != nil {
			return n, err
		}
		for _, v := range f.Pixels {
			if v != v {
				return n, fmt.Errorf("%w: NaN", ErrOverflow)
			}
		}
		n++
	}
	return n, nil
}

// FLUX.2's file with original and diffusers' names, its halves, and damaged ones.
func TestFlux2Files(t *testing.T) {
	small := synthetic.KLConfig{Flux2: true, Latent: 4}
	diffusers := func(name string) string {
		for _, half := range []string{"encoder.", "decoder."} {
			if rest := strings.TrimPrefix(name, half); strings.Contains(rest, "quant_conv.") {
				return rest
			}
		}
		return klDiffusers(name, 4)
	}
	inspect := func(path string) (Config, error) {
		m, err := Inspect(path, gpu.Info{}, Settings{})
		if err != nil {
			return Config{}, err
		}
		defer m.Close()
		return m.Config, nil
	}
	mixed := small
	mixed.Name = func(name string) string { // original names, and quantisation convolutions beside the networks
		if strings.Contains(name, "quant_conv") {
			return diffusers(name)
		}
		return name
	}
	named := small
	named.Name = diffusers
	var want Config
	for i, c := range []synthetic.KLConfig{small, named, mixed} {
		got, err := inspect(smallKL(t, "sdxl.safetensors", c))
		require.NoError(t, err)
		if got.Layout = ""; i == 0 {
			want = got
		}
		assert.Equal(t, want, got)
	}
	assert.Equal(t, "flux2", want.Family)
	assert.Equal(t, "FLUX.2", want.Model)
	assert.True(t, want.Packed)
	assert.False(t, want.Assumed)
	assert.Empty(t, want.Kinds())
	assert.Len(t, want.Scale, 16)
	mean, variance := synthetic.Weight("bn.running_mean", []int{16}), synthetic.Weight("bn.running_var", []int{16})
	for i := range mean {
		assert.InDelta(t, mean[i], want.Mean[i], 1e-7)
		assert.InDelta(t, 1/math.Sqrt(float64(variance[i])+1e-4), want.Scale[i], 1e-7)
	}
	path := smallKL(t, "flux2.safetensors", small)
	for _, half := range []string{"encoder", "decoder"} {
		got, err := inspect(changed(t, path, func(x *synthetic.Raw) bool { return !strings.HasPrefix(x.Name, half+".") }))
		require.NoError(t, err)
		assert.Equal(t, half, got.Lacks)
	}
	for says, edit := range map[string]func(x *synthetic.Raw){
		"tensor bn.running_mean has 4 numbers, expected 16": func(x *synthetic.Raw) {
			if x.Name == "bn.running_mean" {
				x.Shape, x.Data = []int{4}, x.Data[:16]
			}
		},
		"tensor bn.running_var: element 2 is -1, expected a variance": func(x *synthetic.Raw) {
			if x.Name == "bn.running_var" {
				binary.LittleEndian.PutUint32(x.Data[8:], math.Float32bits(-1))
			}
		},
		"tensor bn.running_mean: element 0 is NaN, expected a finite number": func(x *synthetic.Raw) {
			if x.Name == "bn.running_mean" {
				binary.LittleEndian.PutUint32(x.Data, math.Float32bits(float32(math.NaN())))
			}
		},
		"tensor bn.running_var is missing": func(x *synthetic.Raw) {
			if x.Name == "bn.running_var" {
				x.Name = "bn.weight"
			}
		},
	} {
		_, err := inspect(changed(t, path, func(x *synthetic.Raw) bool {
			edit(x)
			return true
		}))
		require.ErrorIs(t, err, ErrBadModel, says)
		assert.ErrorContains(t, err, says)
	}
}

// The published files are identified by size and hash under any name. The hash is
// computed only if the size is one of theirs and the name says nothing or another model.
func TestKLByHash(t *testing.T) {
	const mse, sdxl, flux, half = 334_641_190, 334_641_164, 335_304_388, 167_666_902
	const other = "0123456789abcdef"
	for _, c := range []struct {
		name   string
		latent int
		size   int64
		sum    string // "": must not be computed
		model  string
		known  bool
	}{
		{"thing.safetensors", 4, sdxl, "63aeecb90ff7bc1c115897dcbde1", "SDXL", true},
		{"thing.safetensors", 4, mse, "735e4c3a447a3255", "Stable Diffusion", true},
		{"thing.safetensors", 4, sdxl, other, "Stable Diffusion", false},
		{"anime.safetensors", 4, sdxl, "63aeecb90ff7bc1c", "SDXL", true},
		{"anime.safetensors", 4, sdxl, other, "Stable Diffusion", true},
		{"sdxl_vae.safetensors", 4, sdxl, "", "SDXL", true},
		{"thing.safetensors", 4, sdxl + 1, "", "Stable Diffusion", false},
		{"thing.safetensors", 16, half, "8f53304a79335b55", "Stable Diffusion 3", true},
		{"thing.safetensors", 16, half, other, "FLUX.1", false},
		{"ae.safetensors", 16, flux, "", "FLUX.1", true},
		{"thing.safetensors", 16, flux, "afc8e28272cd15db", "FLUX.1", true},
		{"thing.safetensors", 16, sdxl, "63aeecb90ff7bc1c", "FLUX.1", false}, // of other shapes
	} {
		m, err := Inspect(smallKL(t, c.name, synthetic.KLConfig{Latent: c.latent, Quant: c.latent == 4}), gpu.Info{}, Settings{})
		require.NoError(t, err)
		m.Close()
		got, asked := m.Config, false
		require.NoError(t, got.published(c.size, func() (string, error) {
			asked = true
			return c.sum, nil
		}))
		assert.Equal(t, c.sum != "", asked, "%+v", c)
		assert.Equal(t, c.model, got.Model, "%+v", c)
		assert.Equal(t, c.known, !got.Assumed, "%+v", c)
	}
	c := Config{Family: kl, Latent: 4, Widths: make([]int, 4), Assumed: true}
	require.ErrorIs(t, c.published(sdxl, func() (string, error) { return "", io.EOF }), io.EOF)
}

// The hash covers the whole file.
func TestKLHashesTheFile(t *testing.T) {
	path := smallKL(t, "thing.safetensors", synthetic.KLConfig{Quant: true})
	m, err := Inspect(path, gpu.Info{}, Settings{})
	require.NoError(t, err)
	defer m.Close()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	known := klFiles
	defer func() { klFiles = known }()
	klFiles = []klFile{{int64(len(file)), fmt.Sprintf("%x", sha256.Sum256(file))[:16], "sdxl"}}
	require.NoError(t, m.Config.identified(path, int64(len(file))))
	assert.Equal(t, "SDXL", m.Config.Model)
	assert.False(t, m.Config.Assumed)
}

// AutoencoderKL has three or four stages, and as many in both halves.
func TestStagesOfKL(t *testing.T) {
	for _, c := range []struct {
		encoder, decoder int
		want             string
	}{
		{2, 2, "found 2 stages, expected 3 or 4"},
		{5, 5, "found 5 stages, expected 3 or 4"},
		{4, 5, "found 5 stages, expected 3 or 4"},
		{4, 3, "found 3 decoder stages, expected 4"},
		{3, 4, "found 3 encoder stages, expected 4"},
		{3, 3, ""},
	} {
		path := filepath.Join(t.TempDir(), "kl.safetensors")
		n := synthetic.KLConfig{Widths: slices.Repeat([]int{32}, c.encoder), Narrow: slices.Repeat([]int{32}, c.decoder), Quant: true}
		require.NoError(t, synthetic.CreateKL(path, n))
		m, err := Inspect(path, gpu.Info{}, Settings{})
		if c.want == "" {
			require.NoError(t, err)
			m.Close()
			continue
		}
		require.ErrorIs(t, err, ErrBadModel)
		require.ErrorContains(t, err, path+": "+c.want)
	}
}

package vae

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image/png"
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
	"tessera/latent"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// tinyTensor is a tensor of a published tiny autoencoder.
type tinyTensor struct{ model, original, diffusers, shape string }

func tinyTensors(t *testing.T) map[string][]tinyTensor {
	text, err := os.ReadFile("testdata/taesd_names.txt")
	require.NoError(t, err)
	all := map[string][]tinyTensor{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		all[f[0]] = append(all[f[0]], tinyTensor{f[0], f[1], f[2], f[3]})
	}
	return all
}

// in adds the tensor to a file under a name, without numbers.
func (x tinyTensor) in(file *shapes, name string) {
	var shape []int
	for _, d := range strings.Split(x.shape, "x") {
		var n int
		fmt.Sscan(d, &n)
		shape = append(shape, n)
	}
	tensor, err := safetensors.NewTensor("shapes", name, safetensors.F16, shape, nothing{}, 0)
	if err != nil {
		panic(err)
	}
	file.names, file.tensors[name] = append(file.names, name), tensor
}

// The published files have these tensors, with original names, diffusers' and ComfyUI's,
// in one file and in halves.
func TestPublishedTiny(t *testing.T) {
	published := map[string]struct {
		tensors, parameters int
		config              tinySizes
	}{
		"TAESD":    {134, 2_445_063, tinySizes{4, 3, 1, 8}},
		"TAEF1":    {134, 2_458_899, tinySizes{16, 3, 1, 8}},
		"TAEF2":    {158, 2_677_027, tinySizes{32, 3, 1, 8}},
		"TAESana":  {174, 9_558_051, tinySizes{32, 3, 1, 32}},
		"TAEQI2.1": {134, 15_288_976, tinySizes{64, 4, 2, 16}},
	}
	all := tinyTensors(t)
	require.Len(t, all, len(published))
	for model, tensors := range all {
		want := published[model]
		assert.Len(t, tensors, want.tensors, model)
		halves := map[string]func(x tinyTensor) string{
			"original":  func(x tinyTensor) string { return x.original },
			"diffusers": func(x tinyTensor) string { return x.diffusers },
			"ComfyUI":   func(x tinyTensor) string { return "taesd_" + x.original },
			"prefixed":  func(x tinyTensor) string { return "vae." + x.original },
			"encoder":   func(x tinyTensor) string { return strings.TrimPrefix(x.original, "encoder.") },
			"decoder":   func(x tinyTensor) string { return strings.TrimPrefix(x.original, "decoder.") },
		}
		for how, name := range halves {
			file := &shapes{tensors: map[string]safetensors.Tensor{}}
			needed, parameters := map[string]string{}, 0
			for _, x := range tensors {
				if (how == "encoder" || how == "decoder") && !strings.HasPrefix(x.original, how) {
					continue
				}
				x.in(file, name(x))
				needed[x.original] = x.shape
				tensor := file.tensors[name(x)]
				parameters += tensor.Elements()
			}
			m, err := InspectFile(file, gpu.Info{}, Settings{})
			require.NoError(t, err, "%s, %s", model, how)
			c := m.Config
			assert.Equal(t, model, c.Model)
			assert.Equal(t, want.config, tinySizes{c.Latent, c.Channels, c.Patch, c.Spatial}, model)
			assert.Equal(t, 3, c.Blocks, model)
			assert.Equal(t, model == "TAEF2", c.Unpacks(), "%s: latents of FLUX.2's pipelines", model)
			assert.Equal(t, model != "TAEF2" && model != "TAESana", len(c.Scale) == c.Latent, "%s: statistics", model)
			assert.Equal(t, map[string]string{"encoder": "decoder", "decoder": "encoder"}[how], c.Lacks, "%s, %s", model, how)
			got := map[string]string{}
			for _, s := range m.specs {
				got[s.name] = strings.Trim(strings.ReplaceAll(fmt.Sprint(s.shape), " ", "x"), "[]")
			}
			assert.Equal(t, needed, got, "%s, %s", model, how)
			if c.Lacks == "" {
				assert.Equal(t, want.parameters, parameters, model)
			}
		}
	}
	var specs []safetensors.Spec
	for _, x := range all["TAESD"] {
		file := &shapes{tensors: map[string]safetensors.Tensor{}}
		x.in(file, x.diffusers)
		specs = append(specs, safetensors.Spec{Name: x.diffusers, DType: safetensors.F32, Shape: file.tensors[x.diffusers].Shape})
	}
	slices.SortFunc(specs, func(a, b safetensors.Spec) int { return strings.Compare(a.Name, b.Name) })
	header, data, err := safetensors.Size(specs, map[string]string{"format": "pt"})
	require.NoError(t, err)
	assert.EqualValues(t, 9_793_292, 8+header+data, "bytes of TAESD's file of diffusers, as published")

	m, err := Published(taesd, gpu.Info{}, Settings{})
	require.NoError(t, err)
	assert.Len(t, m.specs, published["TAESD"].tensors)
	for _, s := range m.specs {
		assert.True(t, slices.ContainsFunc(all["TAESD"], func(x tinyTensor) bool {
			return x.original == s.name && x.shape == strings.Trim(strings.ReplaceAll(fmt.Sprint(s.shape), " ", "x"), "[]")
		}), "%s %v", s.name, s.shape)
	}
}

// All layouts, in one file or two, decode and encode to the same bits.
func TestNamesOfTiny(t *testing.T) {
	dev := gputest.Open(t)
	dir := t.TempDir()
	create := func(name string, rename func(string) string) string {
		c := small12
		c.Name = rename
		path := filepath.Join(dir, name)
		require.NoError(t, synthetic.CreateTAESD(path, c))
		return path
	}
	whole := create("taesd.safetensors", nil)
	diffusers := tinyNaming{"diffusers", "encoder.layers.", "decoder.layers.", 1}
	layouts := [][2]string{ // decoder, encoder
		{whole, whole},
		{half(t, whole, "", "encoder."), half(t, whole, "", "decoder.")},
		{bare(t, whole, "decoder."), bare(t, whole, "encoder.")},
		{create("diffusers.safetensors", diffusers.file), create("diffusers.safetensors", diffusers.file)},
		{create("comfy.safetensors", func(name string) string { return "taesd_" + name }), create("comfy.safetensors", func(name string) string { return "taesd_" + name })},
	}
	z := Latent{Channels: 4, Frames: 1, Height: 2, Width: 3, Data: noise(24)}
	px := floats{1, 16, 24, noise(3 * 16 * 24)}
	o := Options{Independent: true}
	var pixels, latent []float32
	for i, paths := range layouts {
		got := decodeAll(t, open(t, dev, paths[0], F32), z, DecodeOptions{Options: o})
		encoded, err := open(t, dev, paths[1], F32).Encode(context.Background(), px, EncodeOptions{Options: o})
		require.NoError(t, err)
		if i == 0 {
			pixels, latent = got, encoded.Data
			continue
		}
		assert.Equal(t, pixels, got, "%v", paths)
		assert.Equal(t, latent, encoded.Data, "%v", paths)
	}
}

// bare writes the half of a file whose names have a prefix, without the prefix.
func bare(t *testing.T, from, prefix string) string {
	t.Helper()
	return changed(t, from, func(x *synthetic.Raw) (ok bool) {
		x.Name, ok = strings.CutPrefix(x.Name, prefix)
		return ok
	})
}

// --scale none means the numbers of the VAE that a tiny autoencoder approximates: a
// pipeline's, converted with the statistics of the name or the file.
func TestStatisticsOfTiny(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []struct {
		file, model string
		kept        bool // in the file, as ComfyUI stores it
		scale, mean float64
	}{
		{"taesd.safetensors", "TAESD", false, 0.18215, 0},
		{"taesdxl.safetensors", "TAESDXL", false, 0.13025, 0},
		{"taesdxl/diffusion_pytorch_model.safetensors", "TAESDXL", false, 0.13025, 0},
		{"sdxl/taesd.safetensors", "TAESD", true, 0.5, 0.25},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, synthetic.CreateTAESD(path, small12))
		if c.kept {
			require.NoError(t, os.Rename(withScalars(t, path, map[string]float32{"vae_scale": 0.5, "vae_shift": 0.25}), path))
		}
		m := open(t, dev, path, F32)
		assert.Equal(t, c.model, m.Config.Model)
		assert.InDelta(t, c.scale, m.Config.Scale[3], 1e-7)
		assert.InDelta(t, c.mean, m.Config.Mean[3], 1e-7)
		px := floats{1, 16, 24, noise(3 * 16 * 24)}
		var latents [2]Latent
		for i, unscaled := range []bool{false, true} {
			var err error
			latents[i], err = m.Encode(context.Background(), px, EncodeOptions{Options: Options{Independent: true, Unscaled: unscaled}})
			require.NoError(t, err)
		}
		var want []float64
		for _, v := range latents[0].Data {
			want = append(want, float64(v)/c.scale+c.mean)
		}
		closeTo(t, latents[1].Data, want, 1e-12, "encoded")
		var pixels [2][]float32
		for i, unscaled := range []bool{false, true} {
			pixels[i] = decodeAll(t, m, latents[i], DecodeOptions{Options: Options{Independent: true, Unscaled: unscaled}})
			for k, v := range pixels[i] {
				pixels[i][k] = min(max(v, -1), 1)
			}
		}
		closeTo(t, pixels[1], pixels[0], 1e-11, "decoded")
		m.Close()
	}
}

// withScalars writes a checkpoint with additional tensors of one number.
func withScalars(t *testing.T, path string, values map[string]float32) string {
	t.Helper()
	return edited(t, path, func(all []synthetic.Raw) []synthetic.Raw {
		for name, v := range values {
			spec := safetensors.Spec{Name: name, DType: safetensors.F32, Shape: []int{}}
			all = append(all, synthetic.Raw{Spec: spec, Data: binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))})
		}
		return all
	})
}

// A tiny autoencoder and its VAE decode each other's latents, but not those of another
// VAE.
func TestStandIns(t *testing.T) {
	tiny := Config{Family: taesd, Model: "TAESDXL", Latent: 4}
	whole := Config{Family: kl, Model: "SDXL", Latent: 4}
	assert.Equal(t, StandIn, tiny.Origin(latent.Original{Checkpoint: whole.Checkpoint()}).Kin)
	assert.Equal(t, StandIn, whole.Origin(latent.Original{Checkpoint: tiny.Checkpoint()}).Kin)
	whole.Model = "Stable Diffusion"
	assert.Equal(t, OtherFamily, tiny.Origin(latent.Original{Checkpoint: whole.Checkpoint()}).Kin)
	assert.Equal(t, OtherFamily, whole.Origin(latent.Original{Checkpoint: tiny.Checkpoint()}).Kin)
	for model, of := range map[string]Config{"TAEF2": {Family: flux2, Model: "FLUX.2", Latent: 32}, "TAEQI2.1": {Family: qwen21, Model: publishedQwen21.Model, Latent: 64}} {
		assert.Equal(t, StandIn, of.Origin(latent.Original{Checkpoint: latent.Checkpoint{Family: taesd, Model: model}}).Kin, model)
	}
	assert.Equal(t, OtherModel, tiny.Origin(latent.Original{Checkpoint: latent.Checkpoint{Family: taesd, Model: "TAESD"}}).Kin)
}

// An encoder without a distribution has no moments.
func TestTinyHasNoMoments(t *testing.T) {
	m, err := Published(taesd, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
	require.NoError(t, err)
	for _, o := range []EncodeOptions{{Moments: true}, {Sample: true}} {
		_, err := m.PlanEncode(t.Context(), 1, 16, 16, o)
		require.ErrorContains(t, err, "TAESD produces latents, not distributions")
	}
}

// Files that are nearly tiny autoencoders are refused in one sentence.
func TestDamagedTiny(t *testing.T) {
	for _, c := range []struct {
		change func(r *synthetic.Raw) (keep bool)
		want   string
	}{
		{func(r *synthetic.Raw) bool { return r.Name != "encoder.14.weight" }, "the encoder has layers 0 to 13, expected convolutions with a bias first and last"},
		{func(r *synthetic.Raw) bool { return r.Name != "decoder.1.bias" }, "the decoder has layers 1 to 19, expected convolutions with a bias first and last"},
		{func(r *synthetic.Raw) bool { return r.Name != "decoder.7.weight" }, "the decoder has layers 1 to 5, expected convolutions with a bias first and last"},
		{func(r *synthetic.Raw) bool { return r.Name != "decoder.4.conv.2.bias" }, "1 missing: decoder.4.conv.2.bias"},
		{func(r *synthetic.Raw) bool {
			if r.Name == "encoder.0.weight" {
				r.Shape = []int{12, 27, 1, 1}
			}
			return true
		}, "the encoder has 4 latent channels, 3 of pixels and cells of 24x24 pixels, the decoder 4 latent channels, 3 of pixels and cells of 8x8 pixels, expected the same"},
		{func(r *synthetic.Raw) bool {
			if r.Name == "encoder.0.weight" {
				r.Shape = []int{6, 6, 3, 3}
			}
			return true
		}, "the encoder has 6 channels of pixels, expected 3 or 4 in patches"},
		{func(r *synthetic.Raw) bool {
			if r.Name == "decoder.9.conv.4.bias" {
				r.Name = "decoder.8.pool.0.weight"
			}
			return true
		}, "the decoder has pools outside of the latent's size (layer 8), expected them there"},
		{func(r *synthetic.Raw) bool {
			if r.Name == "decoder.3.conv.2.weight" {
				r.Name = "decoder.3.conv.1.weight"
			}
			return true
		}, "1 unknown: decoder.3.conv.1.weight"},
	} {
		_, err := Inspect(changed(t, tinyCheckpoint("taesd_small", small12)(t), c.change), gpu.Info{}, Settings{})
		require.ErrorIs(t, err, ErrBadModel)
		assert.ErrorContains(t, err, c.want)
	}
}

// The published halves of TAEF2, if they are present, preserve a photograph, in f16 too.
func TestTAEF2(t *testing.T) {
	testenv.Long(t)
	folder := filepath.Join("..", "..", "shared", "models")
	picture, err := os.Open(filepath.Join(folder, "demo", "frame_0000.png"))
	if err != nil {
		t.Skipf("no published files: %v", err)
	}
	defer picture.Close()
	img, err := png.Decode(picture)
	require.NoError(t, err)
	h, w := img.Bounds().Dy(), img.Bounds().Dx()
	px := floats{1, h, w, make([]float32, 3*h*w)}
	for i := range h * w {
		r, g, b, _ := img.At(i%w, i/w).RGBA()
		for c, v := range []uint32{r, g, b} {
			px.v[c*h*w+i] = float32(v)/32767.5 - 1
		}
	}
	dev := gputest.Open(t)
	var latents, pixels [2][]float32
	for i, p := range []Precision{F32, F16} {
		encoder, decoder := open(t, dev, filepath.Join(folder, "taef2_encoder.pth"), p), open(t, dev, filepath.Join(folder, "taef2_decoder.pth"), p)
		assert.Equal(t, [2]string{"TAEF2", "TAEF2"}, [2]string{encoder.Config.Model, decoder.Config.Model})
		o := Options{Independent: true}
		z, err := encoder.Encode(context.Background(), px, EncodeOptions{Options: o})
		require.NoError(t, err)
		latents[i], pixels[i] = z.Data, decodeAll(t, decoder, z, DecodeOptions{Options: o})
		squares := 0.0
		for k, v := range pixels[i] {
			squares += math.Pow(float64(v-px.v[k]), 2)
		}
		decibels := 10 * math.Log10(4/(squares/float64(len(px.v))))
		t.Logf("%s: %.2f dB", p, decibels)
		assert.Greater(t, decibels, 33.0, p)
	}
	closeTo(t, latents[1], latents[0], 1e-5, "encoded in f16")
	closeTo(t, pixels[1], pixels[0], 1e-5, "decoded in f16")
}

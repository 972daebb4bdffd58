package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/batch"
	"tessera/app/job"
	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
)

// array writes a .npy file of floats or bytes.
func array(t *testing.T, path string, shape []int, data any) string {
	t.Helper()
	descr := "<f4"
	if _, ok := data.([]byte); ok {
		descr = "|u1"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }", descr, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shape)), ", "), "[]"))
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	b := bytes.NewBufferString("\x93NUMPY\x01\x00" + string([]byte{118, 0}) + header)
	require.NoError(t, binary.Write(b, binary.LittleEndian, data))
	write(t, path, b.Bytes())
	return path
}

// Latents of other programs decode to the bits of the plain [C,L,h,w].
func TestDecodeLayoutsOfOthers(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	made := func(model, latent string, flags ...string) []float32 {
		t.Helper()
		succeed(t, append([]string{"decode", "-m", model, latent, "-o", path("out.npy")}, flags...)...)
		return readNPY(t, path("out.npy"))
	}
	mark := tensor{"latent_format_version_0", []int{0}, nil}
	data := numbers(16 * 2 * 2 * 4)
	plain := writeTensors(t, path("plain.safetensors"), nil, tensor{"latent", []int{16, 2, 2, 4}, data})
	want := made(tiny, plain)
	require.Len(t, want, 3*5*16*32)

	folded := writeTensors(t, path("folded.latent"), nil, tensor{"latent_tensor", []int{1, 32, 2, 4}, data}, mark)
	assert.Equal(t, want, made(tiny, folded), "frames among the channels")
	const perhaps = "shape [1 32 2 4] may be 2 frames of 16 channels, as ComfyUI's samplers leave SeedVR2's latents, or moments of 16 channels: the model decides"
	assert.Contains(t, succeed(t, "info", folded).stdout, "latent of 32 channels, 1 frame, 4x2 cells\n  "+perhaps+"\n")
	assert.Contains(t, succeed(t, "info", "--json", folded).stdout, "\"notes\": [\n    \""+perhaps+"\"\n  ]")
	folded = writeTensors(t, path("folded.safetensors"), nil, tensor{"samples", []int{1, 32, 2, 4}, data})
	assert.Equal(t, want, made(tiny, folded), "not ComfyUI's")
	assert.Contains(t, succeed(t, "decode", "-m", tiny, folded, "-o", path("out.npy")).stderr, "folded.safetensors: shape [1 32 2 4] is read as 2 frames of 16 channels (BCFHW), but could be moments (BMHW): --layout decides")
	assert.Contains(t, succeed(t, "decode", "-m", tiny, folded, "-o", path("out.npy"), "--layout=bmhw").stderr, "holds moments")

	var first []float32
	for f := range 2 {
		for c := range 16 {
			first = append(first, data[(c*2+f)*8:][:8]...)
		}
	}
	frames := array(t, path("frames.npy"), []int{2, 16, 2, 4}, first)
	assert.Equal(t, want, made(tiny, frames, "--layout=FCHW"), "frames first")
	frames = array(t, path("frames.npy"), []int{1, 2, 16, 2, 4}, first)
	assert.Equal(t, want, made(tiny, frames), "frames first, behind a batch")
	pictures := array(t, path("pictures.npy"), []int{2, 16, 2, 4}, first)
	r := succeed(t, "decode", "-m", tiny, pictures, "-o", path("pictures"))
	assert.Contains(t, r.stderr, "pictures.npy: shape [2 16 2 4] is read as BCHW, 2 pictures, but could be FCHW: --layout decides")
	assert.NotContains(t, succeed(t, "decode", "-m", qwen(t), pictures, "-o", path("pictures")).stderr, "--layout", "Qwen-Image's are pictures")

	i2v := writeTensors(t, path("i2v.safetensors"), map[string]string{"architecture": "wan", "format_version": "1.0.1"},
		tensor{"latents_2x2x4_float32", []int{16, 2, 2, 4}, data}, tensor{"latents_image_2x2x4_float32", []int{20, 2, 2, 4}, numbers(320)}, tensor{"latents_end_2x2x4_float32", []int{16, 2, 2, 4}, numbers(256)})
	assert.Equal(t, made(wan21(t), plain), made(wan21(t), i2v), "the plain one of a cache")
	assert.Equal(t, made(wan21(t), plain), made(wan21(t), i2v, "--latent-key=latents_end"))

	packed := array(t, path("packed.npy"), []int{1, 4, 64}, numbers(256))
	var picture []float32 // of 4x4 cells
	for c := range 16 {
		for y := range 4 {
			for x := range 4 {
				picture = append(picture, numbers(256)[(y/2*2+x/2)*64+c*4+y%2*2+x%2])
			}
		}
	}
	one := array(t, path("picture.npy"), []int{16, 1, 4, 4}, picture)
	assert.Equal(t, made(qwen(t), one), made(qwen(t), packed, "--size=32x32"), "packed")

	const c, h, w = 48, 1, 2
	clip, tokens := numbers(c*2*h*w), make([]float32, c*2*h*w)
	for i := range 2 * h * w {
		for channel := range c {
			tokens[i*c+channel] = clip[channel*2*h*w+i]
		}
	}
	raw := new(bytes.Buffer)
	require.NoError(t, binary.Write(raw, binary.LittleEndian, tokens))
	require.NoError(t, pthtest.Create(path("tokens.pth"), []pthtest.Tensor{
		{Name: "latent", DType: safetensors.F32, Shape: []int{2 * h * w, c}, Data: pthtest.Bytes(raw.Bytes())},
		{Name: "text_emb", DType: safetensors.F32, Shape: []int{1}, Data: pthtest.Bytes(make([]byte, 4))},
	}, pthtest.Options{Numbers: map[string]int{"latent_num_frames": 2, "latent_height": h, "latent_width": w}}))
	clipFile := array(t, path("clip.npy"), []int{c, 2, h, w}, clip)
	assert.Equal(t, made(wan22(t), clipFile), made(wan22(t), path("tokens.pth")), "tokens")

	hunyuan := writeTensors(t, path("hunyuan.latent"), nil, tensor{"latent_tensor", []int{1, 32, 2, 2, 4}, numbers(512)}, mark)
	cache := writeTensors(t, path("hunyuan.safetensors"), map[string]string{"architecture": "hunyuan_video", "format_version": "1.0.1"}, tensor{"latents_2x2x4_float32", []int{16, 2, 2, 4}, data})
	bare := array(t, path("moments.npy"), []int{32, 2, 2, 4}, numbers(512))
	decode := func(model, latent, flags string) string {
		return "decode -m " + model + " " + latent + " -o OUT.npy" + flags
	}
	refuse(t, []refusal{
		{name: "32 channels of ComfyUI's", args: decode(wan21(t), hunyuan, ""), code: job.ExitInput, want: "latent has shape [1 32 2 2 4], expected [B,C,L,h,w] or [B,L,h,w,C] of 16 channels"},
		{name: "another architecture", args: decode(wan21(t), cache, ""), code: job.ExitInput, want: `is a cache of musubi-tuner for "hunyuan_video" with latents of HunyuanVideo, expected Wan 2.1`},
		{name: "moments unsaid", args: decode(wan21(t), bare, ""), code: job.ExitInput, want: "expected 16 channels first or last; --layout=MFHW reads 32 of them as means and log-variances"},
		{name: "another layout", args: decode(tiny, plain, " --layout=HWC"), code: job.ExitInput, want: "latent has shape [16 2 2 4], expected 3 dimensions for --layout=HWC"},
		{name: "no layout", args: decode(tiny, plain, " --layout=CFWH"), code: job.ExitUsage, want: `"CFWH", expected BCFHW, BFCHW, BFHWC, CFHW`},
		{name: "no size", args: decode(qwen(t), packed, ""), code: job.ExitInput, want: "packed latents have shape [1 4 64], of 4 squares of 2x2 cells: --size=WIDTHxHEIGHT says how they lie"},
		{name: "another size", args: decode(qwen(t), packed, " --size=64x32"), code: job.ExitInput, want: "of 4 squares of 2x2 cells, but 8x4 cells have 8"},
		{name: "half a square", args: decode(qwen(t), packed, " --size=40x32"), code: job.ExitInput, want: "packed latents of 40x32 pixels, expected multiples of 16"},
		{name: "no such tensor", args: decode(wan21(t), i2v, " --latent-key=latents_start"), code: job.ExitInput, want: "expected one named latents_start, as --latent-key says"},
	})
	succeed(t, "decode", "-m", wan21(t), bare, "-o", path("out.npy"), "--layout=MFHW")
}

// sdScriptsCache writes a cache of sd-scripts as numpy.savez does: the .npy file of
// latents, and sizes. If a file may have several latents, the names end with the latent's
// size.
func sdScriptsCache(t *testing.T, path, latents, suffix string) string {
	t.Helper()
	sizes := strings.Replace(read(t, array(t, path+".npy", []int{2}, make([]float32, 4))), "<f4", "<i8", 1)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for key, file := range map[string]string{"latents": read(t, latents), "original_size": sizes, "crop_ltrb": sizes} {
		f, err := w.Create(key + suffix + ".npy")
		require.NoError(t, err)
		_, err = f.Write([]byte(file))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	write(t, path, b.Bytes())
	return path
}

// decodedTo decodes a latent to a new file, and returns its numbers and the messages.
func decodedTo(t *testing.T, path, model, latent string, flags ...string) ([]float32, string) {
	t.Helper()
	write(t, path, nil)
	o := succeed(t, append([]string{"decode", "-m", model, latent, "-o", path}, flags...)...)
	return readNPY(t, path), o.stderr
}

// Latents in trainers' caches decode to the bits of the plain ones, with the trainer's
// scale; a cache for another model is refused by name.
func TestDecodeCachesOfTrainers(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	made := func(model, latent string, flags ...string) ([]float32, string) {
		t.Helper()
		return decodedTo(t, path("out.npy"), model, latent, flags...)
	}
	data := numbers(16 * 2 * 4)
	plain := array(t, path("plain.npy"), []int{16, 1, 2, 4}, data)
	scaled, _ := made(qwen(t), plain)
	own, _ := made(qwen(t), plain, "--scale=none")
	require.NotEqual(t, scaled, own)

	latents := array(t, path("z.npy"), []int{16, 2, 4}, data)
	npz := func(name string) string { return sdScriptsCache(t, path(name), latents, "_2x4") }
	got, said := made(qwen(t), npz("cat_0032x0016_anima.npz"))
	assert.Equal(t, scaled, got, "sd-scripts")
	assert.NotContains(t, said, "warning")

	ai := func(name, model string) string {
		return writeTensors(t, path(name), map[string]string{"latent_space_version": model, "latent_version": "1"},
			tensor{"latent", []int{16, 2, 4}, data}, tensor{"first_frame_latent", []int{16, 2, 4}, numbers(128)})
	}
	got, said = made(qwen(t), ai("qwen.safetensors", "qwen_image"))
	assert.Equal(t, scaled, got, "ai-toolkit")
	assert.NotContains(t, said, "warning")
	_, said = made(wan21(t), path("qwen.safetensors"))
	assert.Contains(t, said, `qwen.safetensors: a latent of "Qwen-Image", decoding with "Wan 2.1"`)

	raw := new(bytes.Buffer)
	require.NoError(t, binary.Write(raw, binary.LittleEndian, data))
	require.NoError(t, pthtest.Create(path("0.pt"), []pthtest.Tensor{
		{Name: "latent_image", DType: safetensors.F32, Shape: []int{16, 1, 2, 4}, Data: pthtest.Bytes(raw.Bytes())},
		{Name: "latent_mask", DType: safetensors.F32, Shape: []int{1, 2, 4}, Data: pthtest.Bytes(make([]byte, 32))},
	}, pthtest.Options{Tuples: map[string][]int{"crop_offset": {0, 3}}}))
	got, said = made(qwen(t), path("0.pt"))
	assert.Equal(t, own, got, "OneTrainer")
	assert.Contains(t, said, "0.pt: by OneTrainer, so it is unscaled (--scale none)")

	refuse(t, []refusal{
		{name: "sd-scripts", args: "decode -m " + qwen(t) + " " + npz("cat_flux.npz") + " -o OUT.npy", code: job.ExitInput, want: `cat_flux.npz: is a cache of sd-scripts for "flux" with latents of FLUX.1, expected Qwen-Image`},
		{name: "ai-toolkit", args: "decode -m " + wan21(t) + " " + ai("flux.safetensors", "flux1") + " -o OUT.npy", code: job.ExitInput, want: `flux.safetensors: is a cache of ai-toolkit for "flux1" with latents of FLUX.1, expected Wan 2.1`},
	})
}

// Caches of pictures, whose latents have no frames, do so too; one trainer scales only
// some models' latents.
func TestDecodeCachesOfPictures(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	made := func(model, latent string, flags ...string) ([]float32, string) {
		t.Helper()
		return decodedTo(t, path("out.npy"), model, latent, flags...)
	}
	checkpoint := func(name string, c synthetic.KLConfig) string {
		c.Widths, c.DType = []int{32, 32, 32, 32}, safetensors.F32
		require.NoError(t, synthetic.CreateKL(path(name), c))
		return path(name)
	}
	musubi := func(word, key string, shape []int, data []float32) string {
		return writeTensors(t, path(word+".safetensors"), map[string]string{"architecture": word, "format_version": "1.0.1"},
			tensor{"latents_" + key, shape, data}, tensor{"latents_control_" + key, shape, make([]float32, len(data))})
	}
	const own = ", so it is unscaled (--scale none)"

	flux1, data := checkpoint("ae.safetensors", synthetic.KLConfig{Latent: 16}), numbers(16*2*4)
	plain := array(t, path("plain.npy"), []int{16, 1, 2, 4}, data)
	scaled, _ := made(flux1, plain)
	raw, _ := made(flux1, plain, "--scale=none")
	require.NotEqual(t, scaled, raw)
	latents := array(t, path("z.npy"), []int{16, 2, 4}, data)
	zimage := musubi("z_image", "1x2x4_float32", []int{16, 2, 4}, data)
	got, said := made(flux1, zimage)
	assert.Equal(t, raw, got, "musubi-tuner's z_image")
	assert.Contains(t, said, "z_image.safetensors: by musubi-tuner"+own)
	assert.NotContains(t, said, "warning")
	got, said = made(flux1, musubi("flux_kontext", "1x2x4_float32", []int{16, 2, 4}, data))
	assert.Equal(t, scaled, got, "musubi-tuner's flux_kontext")
	assert.NotContains(t, said, own)
	assert.NotContains(t, said, "warning")
	got, _ = made(flux1, sdScriptsCache(t, path("cat_0032x0016_flux.npz"), latents, "_2x4"))
	assert.Equal(t, scaled, got, "sd-scripts' flux")
	got, _ = made(flux1, writeTensors(t, path("ai.safetensors"), map[string]string{"latent_space_version": "zimage", "latent_version": "1"}, tensor{"latent", []int{16, 2, 4}, data}))
	assert.Equal(t, scaled, got, "ai-toolkit's zimage")
	file := new(bytes.Buffer)
	require.NoError(t, binary.Write(file, binary.LittleEndian, data))
	require.NoError(t, pthtest.Create(path("0.pt"), []pthtest.Tensor{{Name: "latent_image", DType: safetensors.F32, Shape: []int{16, 2, 4}, Data: pthtest.Bytes(file.Bytes())}}, pthtest.Options{}))
	got, said = made(flux1, path("0.pt"))
	assert.Equal(t, raw, got, "OneTrainer")
	assert.Contains(t, said, "0.pt: by OneTrainer"+own)

	sdxl := checkpoint("sdxl_vae.safetensors", synthetic.KLConfig{})
	latents = array(t, path("z.npy"), []int{4, 2, 4}, data[:32])
	raw, _ = made(sdxl, array(t, path("plain.npy"), []int{4, 1, 2, 4}, data[:32]), "--scale=none")
	got, said = made(sdxl, sdScriptsCache(t, path("cat_0032x0016_sdxl.npz"), latents, ""))
	assert.Equal(t, raw, got, "sd-scripts' sdxl")
	assert.Contains(t, said, "cat_0032x0016_sdxl.npz: by sd-scripts"+own)
	assert.NotContains(t, said, "warning")
	got, _ = made(sdxl, sdScriptsCache(t, path("cat.npz"), latents, ""))
	assert.Equal(t, raw, got, "under its older name")

	flux2, packed := checkpoint("flux2-vae.safetensors", synthetic.KLConfig{Flux2: true}), numbers(128*2)
	scaled, _ = made(flux2, array(t, path("plain.npy"), []int{128, 1, 1, 2}, packed))
	got, _ = made(flux2, musubi("flux_2_dev", "1x2_float32", []int{128, 1, 2}, packed))
	assert.Equal(t, scaled, got, "musubi-tuner's flux_2_dev")
	spread := make([]float32, len(packed)) // [32,2,4], with channels ordered by rows, columns, then the VAE's channels
	for i, v := range packed {
		place, channel, column := i/64, i/2%32, i%2
		spread[channel*8+place/2*4+column*2+place%2] = v
	}
	raw, _ = made(flux2, array(t, path("plain.npy"), []int{32, 1, 2, 4}, spread), "--scale=none")
	got, said = made(flux2, musubi("ideogram4", "1x1x2_bfloat16", []int{128, 1, 2}, packed))
	assert.Equal(t, raw, got, "musubi-tuner's ideogram4")
	assert.Contains(t, said, "ideogram4.safetensors: by musubi-tuner"+own)

	refuse(t, []refusal{
		{name: "other channels", args: "decode -m " + sdxl + " " + path("flux_2_dev.safetensors") + " -o OUT.npy", code: job.ExitInput, want: `latent has shape [128 1 2], expected 4 channels first or last: it is a cache of musubi-tuner for "flux_2_dev"`},
		{name: "another model", args: "decode -m " + sdxl + " " + zimage + " -o OUT.npy", code: job.ExitInput, want: `z_image.safetensors: is a cache of musubi-tuner for "z_image" with latents of FLUX.1, expected SDXL`},
		{name: "another scale", args: "decode -m " + sdxl + " " + sdScriptsCache(t, path("cat_sd.npz"), latents, "") + " -o OUT.npy", code: job.ExitInput, want: `cat_sd.npz: is a cache of sd-scripts for "sd" with latents of Stable Diffusion, expected SDXL`},
		{name: "another family", args: "decode -m " + wan21(t) + " " + zimage + " -o OUT.npy", code: job.ExitInput, want: `z_image.safetensors: is a cache of musubi-tuner for "z_image" with latents of FLUX.1, expected Wan 2.1`},
		{name: "pixels", args: "decode -m " + flux1 + " " + musubi("hidream_o1_image", "1x2x4_float32", []int{16, 2, 4}, data) + " -o OUT.npy", code: job.ExitInput, want: `is a cache of musubi-tuner for "hidream_o1_image", expected flux_kontext, z_image for FLUX.1`},
	})
}

// Arrays of pixels are floats in [-1,1] or uint8; others are refused.
func TestPixelsInArrays(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	codes := make([]byte, 3*16*16)
	var right, wide, unit, dark []float32
	for i := range codes {
		codes[i] = byte(i * 5 % 256)
		v := float32(codes[i])
		right, wide, unit, dark = append(right, v/127.5-1), append(wide, v), append(unit, v/255), append(dark, v/1000-1)
	}
	shape := []int{3, 1, 16, 16}
	encode := func(name string, data any) (outcome, string) {
		out := path(name + "-latent.npy")
		return tessera(t, "encode", "-m", tiny, array(t, path(name+".npy"), shape, data), "-o", out), out
	}
	o, a := encode("right", right)
	require.Zero(t, o.code, o.stderr)
	o, b := encode("uint8", codes)
	require.Zero(t, o.code, o.stderr)
	same(t, "uint8", a, b)
	o, _ = encode("unit", unit)
	require.Zero(t, o.code, o.stderr)
	assert.Contains(t, o.stderr, "warning: "+path("unit.npy")+": numbers from 0 to 1 look like pixels in [0,1]")
	o, _ = encode("dark", dark)
	require.Zero(t, o.code, o.stderr)
	assert.NotContains(t, o.stderr, "look like")
	wideFile := array(t, path("wide.npy"), shape, wide)
	const want = "wide.npy: numbers from 0 to 255, expected pixels in [-1,1]; those of 0 to 255 are read as uint8"
	refuse(t, []refusal{
		{name: "encode", args: "encode -m " + tiny + " " + wideFile + " -o OUT.npy", code: job.ExitInput, want: want},
		{name: "roundtrip", args: "roundtrip -m " + tiny + " " + wideFile + " -o OUT.npy", code: job.ExitInput, want: want},
	})
}

// A byte order mark, with which Windows programs begin text, is skipped.
func TestByteOrderMarks(t *testing.T) {
	const token = "abcdefghij0123456789"
	path := filepath.Join(t.TempDir(), "tokens.txt")
	write(t, path, []byte("\ufeff"+token+"\r\nname "+token+"x\r\n"))
	tokens, err := (&serveCmd{TokenFile: path}).tokens(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{token: "line 1", token + "x": "name"}, tokens)

	lines := "\ufeff" + `{"input":"a.mp4","output":"a.safetensors"}` + "\r\n\r\n" + `{"input":"b.mp4","output":"b.safetensors"}` + "\r\n"
	cmd := exec.Command(built.program, "batch", "-m", tiny, "--manifest=-", "-q")
	cmd.Stdin = strings.NewReader(lines)
	out, _ := cmd.Output()
	for name, o := range outcomes(t, string(out)) {
		assert.Regexp(t, "^"+name+`\.mp4: (no such file or directory|File not found\.)$`, o.Error, "the second is Windows'")
	}
	assert.Len(t, outcomes(t, string(out)), 2, string(out))
}

// The statistics of a config.json beside the checkpoint scale its latents, with a note.
// Without them a pipeline's numbers are the model's own.
func TestDecodeByStatisticsBeside(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	checkpoint, err := os.ReadFile(wan21(t))
	require.NoError(t, err)
	write(t, path("diffusion_pytorch_model.safetensors"), checkpoint)
	ones := strings.TrimSuffix(strings.Repeat("1.0, ", 16), ", ")
	write(t, path("config.json"), []byte(`{"_class_name": "AutoencoderKLWan", "z_dim": 16, "latents_mean": [`+strings.ReplaceAll(ones, "1", "0")+`], "latents_std": [`+ones+`]}`))
	z := latentFile(t, 16, 2, 2, 3)
	o := succeed(t, "decode", "-m", path("diffusion_pytorch_model.safetensors"), z, "-o", path("own.npy"))
	assert.Contains(t, o.stderr, "latents are scaled by the statistics in "+path("config.json")+", not the published ones")
	succeed(t, "decode", "-m", wan21(t), z, "-o", path("none.npy"), "--scale=none")
	want := readNPY(t, path("none.npy"))
	for i, v := range want {
		want[i] = float32(math.Max(-1, math.Min(1, float64(v))))
	}
	assert.Equal(t, want, readNPY(t, path("own.npy")))
	succeed(t, "encode", "-m", path("diffusion_pytorch_model.safetensors"), demoClip(t, 1, 16, 24), "-o", path("own.safetensors"))
	succeed(t, "decode", "-m", path("diffusion_pytorch_model.safetensors"), path("own.safetensors"), "-o", path("back.npy"))
	refuse(t, []refusal{{name: "lost", args: "decode -m " + wan21(t) + " " + path("own.safetensors") + " -o OUT.npy", code: job.ExitInput, want: "which uses other statistics: the published ones; pass --scale to override"}})

	command := []string{"batch", "-m", path("diffusion_pytorch_model.safetensors"), z, "-o", path("{name}.y4m"), "--resume"}
	for _, c := range []struct{ config, status string }{{"{}", batch.Done}, {"{}", batch.Skipped}, {`{"z_dim": 16, "scaling_factor": 2}`, batch.Done}} {
		write(t, path("config.json"), []byte(c.config))
		assert.Equal(t, map[string]string{"latent": c.status}, statuses(t, succeed(t, command...).stdout), c.config)
	}
	write(t, path("config.json"), []byte(`{"_class_name": "AutoencoderKLWan", "latents_std": [1]}`))
	refuse(t, []refusal{{name: "few", args: "decode -m " + path("diffusion_pytorch_model.safetensors") + " " + z + " -o OUT.npy", code: job.ExitInput, want: "config.json: latents_std has 1 numbers, expected one for each of 16 channels"}})
}

// A checkpoint whose interrupted download left zeros is refused, with the tensor's name.
func TestHalfACheckpoint(t *testing.T) {
	t.Parallel()
	needDevice(t)
	file, err := os.ReadFile(tiny)
	require.NoError(t, err)
	half := filepath.Join(t.TempDir(), "half.safetensors")
	write(t, half, append(slices.Clone(file[:len(file)/2]), make([]byte, len(file)-len(file)/2)...))
	z, clip := latentFile(t, 16, 1, 2, 3), demoClip(t, 1, 16, 24)
	const want = "is all zero, perhaps from an incomplete download: use another copy, or --force to load it"
	refuse(t, []refusal{
		{name: "roundtrip", args: "roundtrip -m " + half + " " + clip + " -o OUT.npy", code: job.ExitInput, want: want},
	})
	var codes []int
	for _, args := range [][]string{{"decode", z}, {"encode", clip}} { // the file begins with one of them
		out := filepath.Join(t.TempDir(), "out.npy")
		o := tessera(t, args[0], "-m", half, args[1], "-o", out)
		codes = append(codes, o.code)
		if o.code != 0 {
			assert.Contains(t, o.stderr, half+": tensor ")
			assert.Contains(t, o.stderr, want)
			isEmpty(t, filepath.Dir(out))
		}
		succeed(t, args[0], "-m", half, args[1], "-o", out, "--force")
	}
	assert.Contains(t, codes, job.ExitInput)
}

//go:build !js

package media

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/latent"
)

// integers returns a .npy of 64-bit integers, as numpy.array makes of a size.
func integers(n int) string {
	text := string(npyPrefix([]int{n}))
	return strings.Replace(text, "<f4", "<i8", 1) + string(make([]byte, 8*n))
}

// npyOf returns a .npy file.
func npyOf(shape []int, data []float32) string {
	return string(npyPrefix(shape)) + string(floatBytes(nil, data))
}

// sdScriptsCache returns a cache of sd-scripts with latents of the given channels in each
// size, [h, w]: the arrays that LatentsCachingStrategy.save_latents_to_disk
// (library/strategy_base.py) passes to numpy.savez.
func sdScriptsCache(t *testing.T, channels int, sizes ...[2]int) []byte {
	t.Helper()
	files := map[string]string{}
	for _, size := range sizes {
		suffix := "_" + strconv.Itoa(size[0]) + "x" + strconv.Itoa(size[1]) + ".npy"
		shape := []int{channels, size[0], size[1]}
		z := testLatent(channels, 1, size[0], size[1]).Data
		files["latents"+suffix] = npyOf(shape, z)
		flipped := append([]float32(nil), z...)
		flipped[0] = 7
		files["latents_flipped"+suffix] = npyOf(shape, flipped)
		files["alpha_mask"+suffix] = npyOf([]int{8 * size[0], 8 * size[1]}, make([]float32, 64*size[0]*size[1]))
		files["original_size"+suffix], files["crop_ltrb"+suffix] = integers(2), integers(4)
	}
	return npzFile(t, files)
}

// sd-scripts' caches are of the model at the end of their name. The plain latent of their
// arrays is read; a cache with several sizes is refused.
func TestCachesOfSDScripts(t *testing.T) {
	read := func(name string, file []byte, key string) (latent.Latent, error) {
		o := LatentOptions{Channels: 16, Key: key}
		l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), name, o)
		short, err2 := InspectLatent(bytes.NewReader(file), int64(len(file)), name, o)
		require.Equal(t, err == nil, err2 == nil)
		require.Equal(t, l.Trainer, short.Trainer)
		return l, err
	}
	file := sdScriptsCache(t, 16, [2]int{3, 16}) // of 16 columns, which could also be channels
	for name, model := range map[string]string{"cat_0128x0024_anima.npz": "anima", "cat_0128x0024_flux.npz": "flux", "cat.npz": "", "cat_mine.npz": ""} {
		l, err := read(name, file, "")
		require.NoError(t, err, name)
		assert.Equal(t, &latent.Trainer{Name: "sd-scripts", Model: model}, l.Trainer, name)
		assert.Equal(t, []int{16, 1, 3, 16}, l.Shape(), name)
		assert.Equal(t, testLatent(16, 1, 3, 16).Data, l.Data, name)
		assert.Equal(t, []string{"the latent is latents_3x16 of 5 arrays: --latent-key names another"}, l.Notes, name)
	}
	l, err := read("cat_anima.npz", file, "latents_flipped")
	require.NoError(t, err)
	assert.Equal(t, float32(7), l.Data[0])
	assert.Empty(t, l.Notes)

	file = sdScriptsCache(t, 16, [2]int{2, 4}, [2]int{3, 4})
	_, err = read("cat_anima.npz", file, "")
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "media: cat_anima.npz: 2 latents (latents_2x4, latents_3x4): --latent-key chooses one")
	l, err = read("cat_anima.npz", file, "latents_3x4")
	require.NoError(t, err)
	assert.Equal(t, []int{16, 1, 3, 4}, l.Shape())

	// The caches of SD and SDXL have one size, without the size in their names.
	z, sdxl := testLatent(4, 1, 3, 5), map[string]string{"original_size.npy": integers(2), "crop_ltrb.npy": integers(4)}
	sdxl["latents.npy"] = npyOf([]int{4, 3, 5}, z.Data)
	file = npzFile(t, sdxl)
	l, err = DecodeLatent(bytes.NewReader(file), int64(len(file)), "cat_0040x0024_sdxl.npz", LatentOptions{Channels: 4, Pictures: true})
	require.NoError(t, err)
	assert.Equal(t, &latent.Trainer{Name: "sd-scripts", Model: "sdxl"}, l.Trainer)
	assert.Equal(t, z.Shape(), l.Shape())
	assert.Equal(t, z.Data, l.Data)
	assert.Empty(t, l.Notes)

	_, err = read("cat_sdxl.npz", sdScriptsCache(t, 4, [2]int{3, 5}), "")
	require.ErrorContains(t, err, `latent has shape [4 3 5], expected 16 channels first or last: it is a cache of sd-scripts for "sdxl"`)

	l, err = read("cat_anima.npz", npzFile(t, map[string]string{"latents.npy": npyOf([]int{16, 1, 2, 3}, testLatent(16, 1, 2, 3).Data)}), "")
	require.NoError(t, err)
	assert.Nil(t, l.Trainer, "no size lies beside it")
}

// ai-toolkit's caches have the clip's latent beside its first frame's and pixels, and the
// model in their metadata.
func TestCachesOfAIToolkit(t *testing.T) {
	clip, first := testLatent(16, 2, 3, 16), testLatent(16, 1, 3, 16)
	first.Data[0] = 7
	file := latentFile(t, map[string]string{"filename": "cat.mp4", "latent_space_version": "wan21_i2v", "latent_version": "1", "format": "pt"},
		latentTensor{"first_frame_latent", safetensors.F32, first.Shape(), first.Data},
		latentTensor{"latent", safetensors.F32, clip.Shape(), clip.Data},
		latentTensor{"num_frames", safetensors.F32, []int{}, []float32{5}},
		latentTensor{"tensor", safetensors.F32, []int{5, 3, 24, 32}, make([]float32, 5*3*24*32)})
	for key, want := range map[string]latent.Latent{"": clip, "first_frame_latent": first} {
		l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", LatentOptions{Channels: 16, Key: key})
		require.NoError(t, err, key)
		assert.Equal(t, want.Shape(), l.Shape(), key)
		assert.Equal(t, want.Data, l.Data, key)
		assert.Equal(t, &latent.Trainer{Name: "ai-toolkit", Model: "wan21_i2v"}, l.Trainer, key)
		assert.Empty(t, l.Notes, key)
	}
	file = latentFile(t, map[string]string{"latent_space_version": "flux2", "latent_version": "1"},
		latentTensor{"latent", safetensors.F32, []int{128, 2, 3}, make([]float32, 768)})
	_, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", LatentOptions{Channels: 16})
	require.ErrorContains(t, err, `expected 16 channels first or last: it is a cache of ai-toolkit for "flux2"`)
	file = latentFile(t, map[string]string{"latent_version": "1"}, latentTensor{"latent", safetensors.F32, clip.Shape(), clip.Data})
	l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", LatentOptions{Channels: 16})
	require.NoError(t, err)
	assert.Nil(t, l.Trainer)
}

// musubi-tuner's caches of pictures have no frames; FLUX.2's have its packed channels.
// Ideogram 4 has the same VAE, but another order: "(pi pj c)" instead of "(c pi pj)".
func TestCachesOfPictures(t *testing.T) {
	read := func(word, key string, shape []int, data []float32, o LatentOptions) latent.Latent {
		t.Helper()
		file := latentFile(t, map[string]string{"architecture": word, "format_version": "1.0.1", "width": "128", "height": "96"},
			latentTensor{"latents_control_0_" + key, safetensors.F32, shape, make([]float32, len(data))},
			latentTensor{"latents_" + key, safetensors.F32, shape, data})
		l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", o)
		require.NoError(t, err, word)
		require.Equal(t, &latent.Trainer{Name: "musubi-tuner", Model: word}, l.Trainer)
		require.Equal(t, []string{"the latent is latents_" + key + " of 2 tensors: --latent-key names another"}, l.Notes)
		o.Key = "latents_control_0"
		other, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", o)
		require.NoError(t, err, word)
		require.Equal(t, make([]float32, len(data)), other.Data)
		require.Equal(t, l.Shape(), other.Shape())
		return l
	}
	z := testLatent(16, 1, 3, 16) // 16 columns, which could also be channels
	l := read("z_image", "1x3x16_float32", []int{16, 3, 16}, z.Data, LatentOptions{Channels: 16, Pictures: true})
	require.Equal(t, z.Shape(), l.Shape())
	require.Equal(t, z.Data, l.Data)

	const c, h, w = 3, 4, 6
	z = testLatent(c, 1, h, w)
	flux2, ideogram := make([]float32, len(z.Data)), make([]float32, len(z.Data))
	for i, v := range z.Data {
		channel, y, x := i/(h*w), i/w%h, i%w
		place, cell := y%2*2+x%2, y/2*(w/2)+x/2
		flux2[(channel*4+place)*(h/2*w/2)+cell] = v
		ideogram[(place*c+channel)*(h/2*w/2)+cell] = v
	}
	require.NotEqual(t, flux2, ideogram)
	for word, data := range map[string][]float32{"flux_2_dev": flux2, "ideogram4": ideogram} {
		for _, layout := range []string{"", "CHW"} {
			l = read(word, "2x3_bfloat16", []int{4 * c, h / 2, w / 2}, data, LatentOptions{Channels: c, Packed: true, Pictures: true, Layout: layout})
			require.Equal(t, z.Shape(), l.Shape(), word)
			require.Equal(t, z.Data, l.Data, word)
			require.True(t, l.Packed)
		}
	}
}

// diffusion-pipe's caches are dicts of torch.save, one after another, each with one clip
// or picture: a batch.
func TestCachesOfDiffusionPipe(t *testing.T) {
	item := func(shape []int, data []float32, mask string) []byte {
		var b bytes.Buffer
		require.NoError(t, pthtest.Write(&b, []pthtest.Tensor{
			{Name: "latents", DType: safetensors.F32, Shape: shape, Data: pthtest.Bytes(floatBytes(nil, data))},
			{Name: mask, DType: safetensors.F32, Shape: []int{2, 3}, Data: pthtest.Bytes(make([]byte, 24))},
		}, pthtest.Options{}))
		return b.Bytes()
	}
	read := func(file []byte) (latent.Latent, error) {
		l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "shard_0.bin", LatentOptions{Channels: 16})
		path := filepath.Join(t.TempDir(), "shard_0.bin")
		require.NoError(t, os.WriteFile(path, file, 0o666))
		again, err2 := ReadLatent(path, 16)
		require.Equal(t, err == nil, err2 == nil)
		require.Equal(t, l, again)
		return l, err
	}
	for _, shape := range [][]int{{16, 2, 2, 3}, {16, 1, 2, 3}, {16, 2, 3}} {
		n := len(testLatent(shape[0], 1, 1, 1).Data)
		for _, d := range shape[1:] {
			n *= d
		}
		data := testLatent(3*n, 1, 1, 1).Data
		var file []byte
		for i := range 3 {
			file = append(file, item(shape, data[i*n:][:n], strings.Repeat("mask", i+1))...)
		}
		l, err := read(file)
		require.NoError(t, err, "%v", shape)
		assert.Equal(t, &latent.Trainer{Name: "diffusion-pipe"}, l.Trainer)
		assert.Empty(t, l.Notes, "%v", shape)
		if len(shape) == 4 && shape[1] > 1 {
			assert.Equal(t, []int{3, 16, 2, 2, 3}, l.Shape())
			assert.Equal(t, data, l.Data)
			continue
		}
		assert.Equal(t, []int{16, 3, 2, 3}, l.Shape(), "%v: pictures", shape)
		assert.True(t, l.Images, "%v", shape)
		assert.Equal(t, channelsFirst(data, 16, 3), l.Data, "%v", shape)
	}
	one, data := []int{16, 1, 2, 3}, testLatent(16, 1, 2, 3).Data
	l, err := read(item(one, data, "mask"))
	require.NoError(t, err)
	assert.Equal(t, data, l.Data)
	_, err = read(slices.Concat(item(one, data, "mask"), item([]int{16, 1, 3, 2}, data, "mask")))
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "item 1 of 2: latent has shape [16 1 3 2], expected [16 1 2 3] as the first")
	_, err = read(slices.Concat(item(one, data, "mask"), item(one, data, "mask")[:200], item(one, data, "mask")))
	require.ErrorIs(t, err, ErrInput)
	_, err = read(slices.Concat(item([]int{4, 1, 2, 12}, data, "mask"), item([]int{4, 1, 2, 12}, data, "mask")))
	require.ErrorContains(t, err, "latent has shape [2 4 1 2 12], expected [B,C,L,h,w] or [B,L,h,w,C] of 16 channels")
}

// OneTrainer's caches hold the VAE's mean of a picture, [C,h,w], or with frames if the
// model is for clips, beside a mask and sizes (torch.save of mgds' DiskCache).
func TestCachesOfOneTrainer(t *testing.T) {
	z := testLatent(16, 1, 3, 16)
	cache := func(shape []int) []byte {
		var b bytes.Buffer
		require.NoError(t, pthtest.Write(&b, []pthtest.Tensor{
			{Name: "latent_image", DType: safetensors.F32, Shape: shape, Data: pthtest.Bytes(floatBytes(nil, z.Data))},
			{Name: "latent_mask", DType: safetensors.F32, Shape: []int{1, 3, 16}, Data: pthtest.Bytes(make([]byte, 192))},
		}, pthtest.Options{Tuples: map[string][]int{"original_resolution": {480, 640}, "crop_offset": {0, 3}}}))
		return b.Bytes()
	}
	file := cache(z.Shape())
	l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "0.pt", LatentOptions{Channels: 16})
	require.NoError(t, err)
	assert.Equal(t, z.Data, l.Data)
	assert.Equal(t, &latent.Trainer{Name: "OneTrainer", Unscaled: true}, l.Trainer)
	assert.Empty(t, l.Notes)
	file = cache([]int{16, 3, 16})
	_, err = DecodeLatent(bytes.NewReader(file), int64(len(file)), "0.pt", LatentOptions{Channels: 16})
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "media: 0.pt: latent has shape [16 3 16], expected [C,L,h,w]: OneTrainer stores latents of video models so, [C,h,w] is for picture models")
	l, err = DecodeLatent(bytes.NewReader(file), int64(len(file)), "0.pt", LatentOptions{Channels: 16, Pictures: true})
	require.NoError(t, err)
	assert.Equal(t, z.Shape(), l.Shape())
	assert.Equal(t, z.Data, l.Data)
	_, err = InspectLatent(bytes.NewReader(file), int64(len(file)), "0.pt", LatentOptions{})
	require.NoError(t, err, "no model that it could be another's of")
	clip := cache(z.Shape())
	_, err = DecodeLatent(bytes.NewReader(clip), int64(len(clip)), "0.pt", LatentOptions{Channels: 16, Pictures: true})
	require.ErrorContains(t, err, "media: 0.pt: latent has shape [16 1 3 16], expected [C,h,w]: OneTrainer stores latents of picture models so, [C,L,h,w] is for video models")
	l, err = DecodeLatent(bytes.NewReader(file), int64(len(file)), "0.pt", LatentOptions{Channels: 16, Layout: "CHW"})
	require.NoError(t, err)
	assert.Equal(t, z.Data, l.Data)

	list := pthtest.Zipped(pthtest.Entry{Name: "aggregate/data.pkl", Data: pthtest.Bytes(pthtest.NewPickle().Raw("].").Bytes())})
	path := filepath.Join(t.TempDir(), "aggregate.pt")
	require.NoError(t, os.WriteFile(path, list, 0o666))
	_, err = ReadLatent(path, 16)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "it holds a list, expected a dict of tensors")
	require.ErrorContains(t, err, "; the latents of OneTrainer's cache are in 0.pt, 1.pt and so on beside it")
}

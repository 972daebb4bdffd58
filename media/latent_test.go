//go:build !js

package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/latent"
)

// An index that lacks a shard's file says which one, and names the index.
func TestLatentOfABrokenIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "z.safetensors")
	require.NoError(t, os.WriteFile(path, []byte(`{"weight_map": {"latent": "gone.safetensors"}}`), 0o666))
	_, err := ReadLatent(path, 16)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, path+`: shard "gone.safetensors": `)
	require.ErrorContains(t, err, "no such file")
}

// A checkpoint in place of a latent is identified, by its model if that is known.
func TestModelAsLatent(t *testing.T) {
	for want, names := range map[string][]string{
		"is a checkpoint of 4 tensors, expected a latent or video\ngive the checkpoint with -m, and the latent or video as the input": {"decoder.a.weight", "decoder.b.weight", "decoder.c.weight", "decoder.d.weight"},
		"is the diffusion model of Wan 2.1 or Wan 2.2 A14B, expected a latent or video\ngive the latent or video as the input":        {"blocks.0.self_attn.q.weight", "blocks.0.self_attn.k.weight"},
		"is a LoRA for FLUX.1 or HunyuanVideo, expected a latent or video\ngive the latent or video as the input":                     {"lora_unet_double_blocks_0_img_attn_qkv.lora_down.weight", "x"},
		"2 tensors (a, b), expected one named latent, samples, latent_tensor, latents, latent_image, or only one":                     {"a", "b"},
	} {
		var specs []safetensors.Spec
		for _, name := range names {
			specs = append(specs, safetensors.Spec{Name: name, DType: safetensors.F32, Shape: []int{1}})
		}
		path := filepath.Join(t.TempDir(), "z.safetensors")
		f, err := os.Create(path)
		require.NoError(t, err)
		w, err := safetensors.NewWriter(f, specs, nil)
		require.NoError(t, err)
		for _, s := range specs {
			require.NoError(t, w.Begin(s.Name))
			require.NoError(t, w.WriteF32([]float32{0}))
		}
		require.NoError(t, w.Close())
		require.NoError(t, f.Close())
		_, err = ReadLatent(path, 16)
		require.ErrorIs(t, err, ErrInput)
		require.EqualError(t, err, "media: "+path+": "+want)
	}
}

// testLatent counts in [C,L,h,w], so that any swap of dimensions shows.
func testLatent(c, l, h, w int) latent.Latent {
	data := make([]float32, c*l*h*w)
	for i := range data {
		data[i] = float32(i) - 100.5
	}
	return latent.Latent{Channels: c, Frames: l, Height: h, Width: w, Data: data}
}

// latentTensor is a tensor of a file to write.
type latentTensor struct {
	name   string
	dtype  safetensors.DType
	shape  []int
	values []float32
}

// latentFile returns a safetensors file of the tensors.
func latentFile(t testing.TB, meta map[string]string, tensors ...latentTensor) []byte {
	t.Helper()
	var specs []safetensors.Spec
	for _, x := range tensors {
		specs = append(specs, safetensors.Spec{Name: x.name, DType: x.dtype, Shape: x.shape})
	}
	var out bytes.Buffer
	w, err := safetensors.NewWriter(&out, specs, meta)
	for i := 0; i < len(tensors) && err == nil; i++ {
		if err = w.Begin(tensors[i].name); err == nil && len(tensors[i].values) > 0 {
			err = w.WriteF32(tensors[i].values)
		}
	}
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestLatentRoundTrip(t *testing.T) {
	meta := map[string]string{latent.MetaFrames: "7", latent.MetaScale: latent.ScalePipeline, latent.MetaKind: latent.KindLatent, "note": "ünïcode"}
	for _, name := range []string{"z.safetensors", "z.latent", "z.npy"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		want := testLatent(16, 3, 5, 4)
		want.Meta = meta
		require.NoError(t, CheckLatentOutput(path))
		only(t, dir)
		require.NoError(t, WriteLatent(path, want))
		only(t, dir, name)
		got, err := ReadLatent(path, 16)
		require.NoError(t, err)
		assert.Equal(t, want.Shape(), got.Shape(), name)
		assert.Equal(t, want.Data, got.Data, name)
		if name != "z.npy" {
			assert.Equal(t, meta, got.Meta, name)
		}
		got, err = ReadLatent(path, 0)
		require.NoError(t, err, "%s with any channels", name)
		assert.Equal(t, 16, got.Channels, name)
	}
}

// TestComfyLatent: written files have what ComfyUI's LoadLatent looks for.
func TestComfyLatent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "z.latent")
	require.NoError(t, WriteLatent(path, testLatent(16, 2, 3, 4)))
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	data, ok1 := f.Tensor("latent_tensor")
	version, ok2 := f.Tensor("latent_format_version_0")
	require.True(t, ok1 && ok2, "tensors %v", f.Names())
	require.Equal(t, []int{1, 16, 2, 3, 4}, data.Shape)
	require.Zero(t, version.Elements())
}

// TestComfyOrigin distinguishes ComfyUI's files, which have its mark and no scale, from
// this package's and from those without the mark.
func TestComfyOrigin(t *testing.T) {
	z := testLatent(16, 1, 2, 2)
	tensor := latentTensor{comfyKey, safetensors.F32, []int{1, 16, 1, 2, 2}, z.Data}
	mark := latentTensor{comfyVersion, safetensors.F32, []int{0}, nil}
	z.Meta = latent.Original{Frames: 1, Scale: latent.ScaleNone}.Meta(latent.KindLatent)
	var ours bytes.Buffer
	require.NoError(t, EncodeLatent(&ours, "z.latent", z))
	for _, c := range []struct {
		name string
		file []byte
		want bool
	}{
		{"theirs", latentFile(t, map[string]string{"prompt": "{}"}, tensor, mark), true},
		{"theirs without metadata", latentFile(t, nil, tensor, mark), true},
		{"ours", ours.Bytes(), false},
		{"without the mark", latentFile(t, nil, tensor), false},
	} {
		size := int64(len(c.file))
		l, err1 := DecodeLatent(bytes.NewReader(c.file), size, "z.latent", LatentOptions{Channels: 16})
		short, err2 := InspectLatent(bytes.NewReader(c.file), size, "z.latent", LatentOptions{Channels: 16})
		require.NoError(t, err1, c.name)
		require.NoError(t, err2, c.name)
		for _, l := range []latent.Latent{l, short} {
			o, _, err := Original("z.latent", l, 8, 8, 4, 0, 0)
			require.NoError(t, err, c.name)
			assert.Equal(t, c.want, o.ComfyUI, c.name)
		}
	}
}

// TestImagesMetadata: frames that were encoded one by one come back as such, and each
// latent frame stands for one.
func TestImagesMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "z.safetensors")
	z := testLatent(16, 3, 2, 2)
	z.Meta = latent.Original{Frames: 3, Height: 16, Width: 11, Images: true, Scale: latent.ScaleNone}.Meta(latent.KindLatent)
	require.NoError(t, WriteLatent(path, z))
	got, err := ReadLatent(path, 16)
	require.NoError(t, err)
	o, warnings, err := Original(path, got, 8, 8, 4, 0, 0)
	require.NoError(t, err)
	require.Equal(t, latent.Original{Frames: 3, Height: 16, Width: 11, Images: true, Scale: latent.ScaleNone}, o)
	require.Empty(t, warnings)
	got.Meta[latent.MetaFrames] = "9" // right for a clip of 3 latent frames
	o, warnings, err = Original(path, got, 8, 8, 4, 0, 0)
	require.NoError(t, err)
	require.Zero(t, o.Frames)
	require.Len(t, warnings, 1)
	got.Meta[latent.MetaImages] = "maybe"
	_, _, err = Original(path, got, 8, 8, 4, 0, 0)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, `tessera.images is "maybe", expected true`)
}

func TestLatentLayouts(t *testing.T) {
	want := testLatent(16, 3, 5, 4)
	single := testLatent(16, 1, 5, 4)
	last := func(l latent.Latent) []float32 { // [L,h,w,C]
		var out []float32
		n := len(l.Data) / l.Channels
		for i := range n {
			for c := range l.Channels {
				out = append(out, l.Data[c*n+i])
			}
		}
		return out
	}
	cases := []struct {
		shape []int
		data  []float32
		want  latent.Latent
	}{
		{[]int{16, 3, 5, 4}, want.Data, want},
		{[]int{1, 16, 3, 5, 4}, want.Data, want},
		{[]int{3, 5, 4, 16}, last(want), want},
		{[]int{1, 3, 5, 4, 16}, last(want), want},
		{[]int{16, 5, 4}, single.Data, single},
		{[]int{1, 16, 5, 4}, single.Data, single},
		{[]int{5, 4, 16}, last(single), single},
		{[]int{1, 5, 4, 16}, last(single), single},
	}
	for _, c := range cases {
		for _, key := range []string{"latent", "samples", "whatever"} {
			t.Run(fmt.Sprint(c.shape, key), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "z.safetensors")
				file := latentFile(t, nil, latentTensor{key, safetensors.F32, c.shape, c.data})
				require.NoError(t, os.WriteFile(path, file, 0o666))
				got, err := ReadLatent(path, 16)
				require.NoError(t, err)
				require.Equal(t, c.want.Shape(), got.Shape())
				require.Equal(t, c.want.Data, got.Data)
			})
		}
	}
	// If both ends fit, channels come first.
	for _, shape := range [][]int{{16, 3, 2, 16}, {1, 16, 2, 16}} {
		l, err := (&array{shape: shape}).layout(LatentOptions{Channels: 16})
		require.NoError(t, err, "%v", shape)
		assert.Equal(t, []int{1, 16, 16}, []int{l.outer, l.channels, l.width}, "%v: values before the channels, channels and width", shape)
	}
}

// TestLatentBatches: images of a batch are frames, and marked as images.
func TestLatentBatches(t *testing.T) {
	want := testLatent(16, 3, 5, 4)
	var batch []float32 // [B,C,h,w]
	for b := range 3 {
		for c := range 16 {
			batch = append(batch, want.Data[(c*3+b)*20:][:20]...)
		}
	}
	for _, shape := range [][]int{{3, 16, 5, 4}, {3, 16, 1, 5, 4}} {
		path := filepath.Join(t.TempDir(), "z.safetensors")
		file := latentFile(t, nil, latentTensor{"samples", safetensors.F32, shape, batch})
		require.NoError(t, os.WriteFile(path, file, 0o666))
		got, err := ReadLatent(path, 16)
		require.NoError(t, err, "%v", shape)
		assert.Equal(t, want.Shape(), got.Shape(), "%v", shape)
		assert.Equal(t, want.Data, got.Data, "%v", shape)
		o, _, err := Original(path, got, 8, 8, 4, 0, 0)
		require.NoError(t, err, "%v", shape)
		assert.True(t, o.Images, "%v: expected images", shape)
	}
	for _, c := range []struct {
		shape    []int
		channels int
		comfy    bool
		want     []int
		images   bool
	}{
		{[]int{2, 16, 1, 5, 4}, 0, false, []int{16, 2, 5, 4}, true},   // rank 5 is a batch whatever the channels
		{[]int{16, 16, 5, 4}, 16, false, []int{16, 16, 5, 4}, false},  // a clip of 16 latent frames
		{[]int{3, 16, 4, 16}, 16, false, []int{16, 3, 16, 4}, false},  // channels last
		{[]int{1, 16, 5, 4}, 16, false, []int{16, 1, 5, 4}, false},    // an image is a clip of one
		{[]int{1, 16, 1, 5, 4}, 16, false, []int{16, 1, 5, 4}, false}, // also
		{[]int{3, 16, 2, 5, 4}, 16, false, []int{3, 16, 2, 5, 4}, false},
		{[]int{3, 2, 5, 4, 16}, 16, false, []int{3, 16, 2, 5, 4}, false},
		{[]int{3, 1, 5, 4, 16}, 16, false, []int{16, 3, 5, 4}, true},
		{[]int{16, 16, 8, 8}, 16, true, []int{16, 16, 8, 8}, true}, // ComfyUI: 16 images
		{[]int{16, 16, 8, 8}, 0, true, []int{16, 16, 8, 8}, true},
		{[]int{3, 16, 4, 16}, 16, true, []int{16, 3, 4, 16}, true},
		{[]int{1, 16, 5, 4}, 16, true, []int{16, 1, 5, 4}, false},
		{[]int{2, 16, 3, 5, 4}, 16, true, []int{2, 16, 3, 5, 4}, false},
	} {
		a := &array{shape: c.shape, batch: c.comfy}
		y, err := a.layout(LatentOptions{Channels: c.channels})
		require.NoError(t, err, "%v of %d channels", c.shape, c.channels)
		l := a.latent(y)
		assert.Equal(t, c.want, l.Shape(), "%v of %d channels", c.shape, c.channels)
		assert.Equal(t, c.images, l.Images, "%v of %d channels", c.shape, c.channels)
	}
}

// TestComfyBatch: in ComfyUI's files the batch comes first, whatever else fits.
func TestComfyBatch(t *testing.T) {
	want := testLatent(16, 16, 8, 8)
	var batch []float32 // [B,C,h,w]
	for b := range 16 {
		for c := range 16 {
			batch = append(batch, want.Data[(c*16+b)*64:][:64]...)
		}
	}
	tensor := latentTensor{comfyKey, safetensors.F32, []int{16, 16, 8, 8}, batch}
	mark := latentTensor{comfyVersion, safetensors.F32, []int{0}, nil}
	for name, file := range map[string][]byte{
		"marked": latentFile(t, nil, tensor, mark), "of before the mark": latentFile(t, nil, tensor),
	} {
		for _, channels := range []int{0, 16} {
			l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.latent", LatentOptions{Channels: channels})
			require.NoError(t, err, name)
			assert.True(t, l.Images, name)
			assert.Equal(t, want.Data, l.Data, name)
		}
		_, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.latent", LatentOptions{Channels: 8})
		require.ErrorContains(t, err, "expected 8 channels behind the batch", "ComfyUI saves no moments")
	}
	file := latentFile(t, nil, latentTensor{comfyKey, safetensors.F32, []int{16, 2, 8, 8}, batch[:16*2*64]})
	_, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.latent", LatentOptions{Channels: 16})
	require.ErrorContains(t, err, "latent of ComfyUI has shape [16 2 8 8], expected 16 channels behind the batch")
}

// TestBatchOfClips: clips are stored one after another, channels first.
func TestBatchOfClips(t *testing.T) {
	want := testLatent(3*16, 2, 5, 4)
	var last []float32 // [B,L,h,w,C]
	for b := range 3 {
		for i := range 2 * 5 * 4 {
			for c := range 16 {
				last = append(last, want.Data[(b*16+c)*40+i])
			}
		}
	}
	for _, c := range []struct {
		shape []int
		data  []float32
	}{{[]int{3, 16, 2, 5, 4}, want.Data}, {[]int{3, 2, 5, 4, 16}, last}} {
		file := latentFile(t, nil, latentTensor{"samples", safetensors.F32, c.shape, c.data})
		l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", LatentOptions{Channels: 16})
		require.NoError(t, err, "%v", c.shape)
		require.Equal(t, 3, l.Clips(), "%v", c.shape)
		require.Equal(t, []int{3, 16, 2, 5, 4}, l.Shape(), "%v", c.shape)
		require.False(t, l.Images, "%v", c.shape)
		for i := range 3 {
			one := l.Clip(i)
			require.Equal(t, []int{16, 2, 5, 4}, one.Shape(), "%v", c.shape)
			require.Equal(t, want.Data[i*16*40:][:16*40], one.Data, "%v: clip %d", c.shape, i)
		}
	}
}

// TestMoments: twice the channels are moments if the metadata, the tensor's name or the
// layout says so.
func TestMoments(t *testing.T) {
	z := testLatent(32, 2, 5, 4)
	meta := latent.Original{Scale: latent.ScaleNone}.Meta(latent.KindMoments)
	for _, c := range []struct {
		name     string
		shape    []int
		meta     map[string]string
		channels int
		moments  bool
		error    string
	}{
		{"told", []int{32, 2, 5, 4}, meta, 16, true, ""},
		{"told, of any model", []int{32, 2, 5, 4}, meta, 0, true, ""},
		{"told, also of the latent's channels", []int{32, 16, 5, 2}, meta, 16, true, ""},
		{"a batch", []int{2, 32, 1, 5, 4}, meta, 16, true, ""},
		{"not told", []int{1, 32, 2, 5, 4}, nil, 16, false, "expected [B,C,L,h,w] or [B,L,h,w,C] of 16 channels; --layout=BMFHW reads 32 of them as means and log-variances"},
		{"channels last, not told", []int{2, 5, 4, 32}, nil, 16, false, "expected 16 channels first or last; --layout=FHWM reads 32"},
		{"32 images", []int{32, 16, 5, 2}, nil, 16, false, ""},
		{"told to be a latent", []int{32, 2, 5, 4}, latent.Original{}.Meta(latent.KindLatent), 16, false, "expected 16 channels first or last"},
		{"of another model", []int{32, 2, 5, 4}, meta, 48, false, "expected 96 channels first or last"},
		{"an odd number", []int{5, 2, 5, 4}, meta, 0, false, "shape [5 2 5 4] of moments, expected means and as many log-variances"},
	} {
		n := 1
		for _, d := range c.shape {
			n *= d
		}
		file := latentFile(t, c.meta, latentTensor{"latent", safetensors.F32, c.shape, testLatent(n, 1, 1, 1).Data})
		l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", LatentOptions{Channels: c.channels})
		if c.error != "" {
			assert.ErrorContains(t, err, c.error, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		assert.Equal(t, c.moments, l.Moments, c.name)
		if c.moments {
			assert.Equal(t, 16, l.Mean().Channels, c.name)
			_, _, err := Original("z", l, 8, 8, 4, 0, 0)
			assert.NoError(t, err, c.name)
		}
	}
	for key, moments := range map[string]bool{"parameters": true, "moments": true, "latent": false} {
		file := latentFile(t, nil, latentTensor{key, safetensors.F32, []int{1, 32, 2, 5, 4}, z.Data})
		l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", LatentOptions{Channels: 16})
		require.Equal(t, moments, err == nil, key)
		require.Equal(t, moments, l.Moments, key)
		l, err = DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", LatentOptions{Channels: 16, Layout: "BMFHW"})
		require.NoError(t, err, key)
		require.True(t, l.Moments, key)
		require.Equal(t, z.Data, l.Data, key)
	}
	z.Batch, z.Channels = 2, 16 // two clips of moments of 8 channels
	mean := z.Mean()
	require.Equal(t, []int{2, 8, 2, 5, 4}, mean.Shape())
	require.Equal(t, z.Data[:320], mean.Clip(0).Data)
	require.Equal(t, z.Data[640:960], mean.Clip(1).Data)
}

// TestLatentKeys: the named tensor is read, beside others and in any float type.
func TestLatentKeys(t *testing.T) {
	z := testLatent(4, 1, 2, 2)
	for i := range z.Data {
		z.Data[i] = float32(i) / 4
	}
	other := latentTensor{"a", safetensors.F32, []int{3}, []float32{1, 2, 3}}
	for _, dtype := range []safetensors.DType{safetensors.F16, safetensors.BF16, safetensors.F32, safetensors.F64} {
		path := filepath.Join(t.TempDir(), "z.safetensors")
		file := latentFile(t, nil, other, latentTensor{"samples", dtype, z.Shape(), z.Data})
		require.NoError(t, os.WriteFile(path, file, 0o666))
		got, err := ReadLatent(path, 4)
		require.NoError(t, err, dtype)
		assert.Equal(t, z.Data, got.Data, dtype)
	}
}

func TestLatentErrors(t *testing.T) {
	f32 := func(name string, shape ...int) latentTensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return latentTensor{name, safetensors.F32, shape, make([]float32, n)}
	}
	nan := f32("latent", 16, 1, 2, 2)
	nan.values[5] = float32(math.NaN())
	inf := f32("latent", 16, 1, 2, 2)
	inf.values[63] = float32(math.Inf(1))
	file := func(tensors ...latentTensor) string { return string(latentFile(t, nil, tensors...)) }
	good := file(f32("latent", 16, 1, 2, 2))
	cases := []struct{ name, content, want string }{
		{"z.zip", good, `extension ".zip", expected a latent in .safetensors, .latent, .npy, .npz, .pt, .pth or .bin`},
		{"z", good, `extension ""`},
		{"z.safetensors", file(f32("latent", 4, 1, 2, 2)), "shape [4 1 2 2], expected 16 channels first or last"},
		{"z.safetensors", file(f32("latent", 4, 2, 2)), "shape [4 2 2], expected 16 channels"},
		{"z.safetensors", file(f32("latent", 2, 4, 1, 2, 2)), "shape [2 4 1 2 2], expected [B,C,L,h,w] or [B,L,h,w,C] of 16 channels"},
		{"z.safetensors", file(f32("latent", 16, 4)), "of rank 2"},
		{"z.safetensors", file(f32("latent", 1, 1, 16, 1, 2, 2)), "of rank 6"},
		{"z.safetensors", file(f32("latent")), "of rank 0"},
		{"z.safetensors", file(f32("latent", 16, 1, 0, 2)), "latent is empty: shape [16 1 0 2]"},
		{"z.safetensors", file(f32("a", 2), f32("b", 2)), "2 tensors (a, b), expected one named latent, samples, latent_tensor, latents, latent_image, or only one"},
		{"z.safetensors", file(), "0 tensors, expected one named"},
		{"z.safetensors", file(latentTensor{"latent", safetensors.I32, []int{0}, nil}), "I32, expected F16"},
		{"z.safetensors", file(nan), "value 5 of shape [16 1 2 2] is NaN"},
		{"z.latent", file(inf), "value 63 of shape [16 1 2 2] is +Inf"},
		{"z.safetensors", good[:len(good)-1], "is cut short: it has 335 bytes, expected 336 by its own header"},
		{"z.safetensors", good + "x", "1 more bytes follow"},
		{"z.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{}", "header length"},
		{"z.safetensors", "", "0 bytes"},
		{"z.latent", "short", "5 bytes"},
		{"z.npy", string(npyPrefix([]int{16, 1, 2, 2})), "truncated: shape [16 1 2 2] needs 256 bytes"},
		{"z.npy", good, "not a .npy file"},
	}
	for _, c := range cases {
		path := filepath.Join(t.TempDir(), c.name)
		require.NoError(t, os.WriteFile(path, []byte(c.content), 0o666))
		_, err := ReadLatent(path, 16)
		assert.ErrorContains(t, err, c.want)
		assert.ErrorIs(t, err, ErrInput)
		if err != nil {
			assert.True(t, strings.HasPrefix(err.Error(), "media: "+path+": "), "%v", err)
		}
	}
	_, err := ReadLatent(filepath.Join(t.TempDir(), "gone.npy"), 16)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorIs(t, err, ErrInput)
}

func TestWriteLatentErrors(t *testing.T) {
	dir := t.TempDir()
	good := testLatent(2, 1, 2, 2)
	wrong, nan := good, testLatent(2, 1, 2, 2)
	wrong.Width = 3
	nan.Data[1] = float32(math.NaN())
	badMeta := good
	badMeta.Meta = map[string]string{"x": "\xff"}
	for _, c := range []struct {
		name   string
		latent latent.Latent
		want   string
	}{
		{"z.pt", good, `extension ".pt", expected .safetensors, .latent or .npy`},
		{"none/z.npy", good, "doesn't exist"},
		{"z.npy", wrong, "latent of 8 values, shape [2 1 2 3] needs 12"},
		{"z.npy", latent.Latent{}, "latent of 0 values"},
		{"z.npy", nan, "latent value 1 of shape [2 1 2 2] is NaN"},
		{"z.safetensors", badMeta, "not UTF-8"},
	} {
		err := WriteLatent(filepath.Join(dir, c.name), c.latent)
		assert.ErrorContains(t, err, c.want, c.name)
	}
	for name, want := range map[string]string{"z.pt": "extension", "none/z.npy": "doesn't exist"} {
		assert.ErrorContains(t, CheckLatentOutput(filepath.Join(dir, name)), want, name)
	}
	only(t, dir)
}

// FuzzLatent reads arbitrary bytes: no panic, no memory beyond the file's size, and an
// accepted latent is complete and finite.
func FuzzLatent(f *testing.F) {
	z := testLatent(16, 1, 2, 2)
	f.Add(latentFile(f, map[string]string{latent.MetaFrames: "1"}, latentTensor{"latent", safetensors.F16, z.Shape(), z.Data}))
	f.Add(latentFile(f, nil, latentTensor{comfyVersion, safetensors.F32, []int{0}, nil},
		latentTensor{comfyKey, safetensors.F32, []int{1, 1, 2, 2, 16}, z.Data}))
	f.Add(latentFile(f, nil, latentTensor{latentKey, safetensors.F32, []int{2, 16, 1, 1, 2}, z.Data}))
	f.Add(latentFile(f, nil, latentTensor{latentKey, safetensors.F32, []int{2, 16, 2, 1}, z.Data}))
	f.Add(append(npyPrefix(z.Shape()), floatBytes(nil, z.Data)...))
	f.Add(npyPrefix([]int{16, 0, 1 << 62, 4}))
	f.Add([]byte("\x93NUMPY\x03\x00\x20\x00\x00\x00{'descr': '<f8'"))
	huge := fmt.Sprintf(`{"latent":{"dtype":"F32","shape":[16,%d,4],"data_offsets":[0,0]}}`, 1<<60)
	f.Add(append(binary.LittleEndian.AppendUint64(nil, uint64(len(huge))), huge...))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, open := range []func() (*array, error){
			func() (*array, error) {
				npy, err := openNPY(bytes.NewReader(file), int64(len(file)))
				if err != nil {
					return nil, err
				}
				return &array{shape: npy.shape, readF32: npy.ReadF32}, nil
			},
			func() (*array, error) {
				st, err := safetensors.Read(bytes.NewReader(file), int64(len(file)), "fuzz")
				if err != nil {
					return nil, err
				}
				return tensorArray(st, latentPicker(""))
			},
		} {
			a, err := open()
			if err != nil {
				continue
			}
			for _, channels := range []int{0, 1, 16} {
				l, err := readLatent(a, LatentOptions{Channels: channels}, math.MaxInt64)
				if err != nil {
					continue
				}
				assert.NoError(t, checkLatent(l), "accepted")
				assert.LessOrEqual(t, len(l.Data), len(file), "values of shape %v, and bytes of the file", l.Shape())
				if channels > 0 && l.Moments {
					assert.Equal(t, channels, l.Mean().Channels, "channels of shape %v", l.Shape())
				} else if channels > 0 {
					assert.Equal(t, channels, l.Channels, "channels of shape %v", l.Shape())
				}
			}
		}
	})
}

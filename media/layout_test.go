//go:build !js

package media

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/latent"
)

// decoded returns the latent in a file of one tensor, .npy or safetensors by its name.
func decoded(t *testing.T, name, key string, shape []int, data []float32, o LatentOptions) (latent.Latent, error) {
	t.Helper()
	file := append(npyPrefix(shape), floatBytes(nil, data)...)
	if extension(name) != ".npy" {
		tensors := []latentTensor{{key, safetensors.F32, shape, data}}
		if key == comfyKey {
			tensors = append(tensors, latentTensor{comfyVersion, safetensors.F32, []int{0}, nil})
		}
		file = latentFile(t, nil, tensors...)
	}
	l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), name, o)
	short, err2 := InspectLatent(bytes.NewReader(file), int64(len(file)), name, o)
	require.Equal(t, err == nil, err2 == nil, "decoded: %v, inspected: %v", err, err2)
	require.Equal(t, l.Shape(), short.Shape())
	require.Equal(t, l.Notes, short.Notes)
	return l, err
}

// at returns the value of clip b, channel c, frame f and cell i of a latent.
func at(l latent.Latent, b, c, f, i int) float32 {
	return l.Data[((b*l.Channels+c)*l.Frames+f)*l.Height*l.Width+i]
}

// Frames among the channels, as ComfyUI's samplers leave SeedVR2's latents, equal those
// in five dimensions; a file of ComfyUI's gets a note.
func TestFoldedFrames(t *testing.T) {
	seedvr2 := LatentOptions{Channels: 16, Folded: true}
	for _, clips := range []int{1, 2, 3, 16} {
		for _, frames := range []int{2, 3, 5} {
			z := testLatent(clips*16, frames, 3, 2)
			shape, five := []int{clips, 16 * frames, 3, 2}, []int{clips, 16, frames, 3, 2}
			want, err := decoded(t, "z.latent", comfyKey, five, z.Data, seedvr2)
			require.NoError(t, err)
			got, err := decoded(t, "z.latent", comfyKey, shape, z.Data, seedvr2)
			require.NoError(t, err, "%v", shape)
			assert.Equal(t, want, got, "%v", shape)
			assert.Empty(t, got.Notes, "%v", shape)
			named := seedvr2
			named.Layout = "BCFHW"
			for _, name := range []string{"z.npy", "z.safetensors"} {
				got, err := decoded(t, name, "samples", shape, z.Data, named)
				require.NoError(t, err, "%v", shape)
				assert.Equal(t, want.Shape(), got.Shape(), "%v", shape)
				assert.Equal(t, want.Data, got.Data, "%v", shape)
				if clips == 16 {
					continue // a clip with as many channels has this shape too
				}
				got, err = decoded(t, name, "samples", shape, z.Data, seedvr2)
				require.NoError(t, err, "%v", shape)
				assert.Equal(t, want.Data, got.Data, "%v", shape)
				assert.Equal(t, frames == 2, got.Notes != nil, "%v: %v", shape, got.Notes)
			}
			_, err = decoded(t, "z.latent", comfyKey, shape, z.Data, LatentOptions{Channels: 16})
			assert.ErrorContains(t, err, fmt.Sprintf("latent of ComfyUI has shape %v, expected 16 channels behind the batch", shape))
		}
	}
	z := testLatent(32, 1, 3, 2)
	l, err := decoded(t, "z.npy", "", []int{1, 32, 3, 2}, z.Data, seedvr2)
	require.NoError(t, err)
	require.Equal(t, []string{"shape [1 32 3 2] is read as 2 frames of 16 channels (BCFHW), but could be moments (BMHW): --layout decides"}, l.Notes)
	seedvr2.Layout = "BMHW"
	l, err = decoded(t, "z.npy", "", []int{1, 32, 3, 2}, z.Data, seedvr2)
	require.NoError(t, err)
	require.True(t, l.Moments)
	seedvr2.Layout = ""
	l, err = decoded(t, "z.safetensors", "parameters", []int{1, 32, 3, 2}, z.Data, seedvr2)
	require.NoError(t, err)
	require.True(t, l.Moments, "diffusers' name for them")
}

// If no model gives the channels, a note says that frames may be among them.
func TestPerhapsFolded(t *testing.T) {
	const as = " of 16 channels, as ComfyUI's samplers leave SeedVR2's latents"
	for _, c := range []struct {
		shape      []int
		comfy, npy string
	}{
		{[]int{1, 32, 3, 2}, "shape [1 32 3 2] may be 2 frames" + as + ", or moments of 16 channels: the model decides", "the same"},
		{[]int{1, 48, 3, 2}, "shape [1 48 3 2] may be 3 frames" + as + ", or one frame of 48, of Wan 2.2: the model decides", "the same"},
		{[]int{2, 80, 3, 2}, "shape [2 80 3 2] may be 5 frames" + as + ": the model decides", "the same"},
		{[]int{16, 32, 3, 2}, "shape [16 32 3 2] may be 2 frames" + as + ", or moments of 16 channels: the model decides", ""}, // 32 frames
		{[]int{48, 16, 3, 2}, "", ""},
		{[]int{1, 16, 3, 2}, "", ""},
		{[]int{1, 40, 3, 2}, "", ""},
		{[]int{32, 3, 2}, "", ""},
		{[]int{1, 16, 2, 3, 2}, "", ""},
	} {
		n := 1
		for _, d := range c.shape {
			n *= d
		}
		if c.npy == "the same" {
			c.npy = c.comfy
		}
		for name, want := range map[string]string{"z.latent": c.comfy, "z.npy": c.npy} {
			l, err := decoded(t, name, comfyKey, c.shape, make([]float32, n), LatentOptions{})
			require.NoError(t, err, "%v in %s", c.shape, name)
			if want == "" {
				assert.Empty(t, l.Notes, "%v in %s", c.shape, name)
				continue
			}
			assert.Equal(t, []string{want}, l.Notes, "%v in %s", c.shape, name)
		}
	}
	ours := latentFile(t, latent.Original{}.Meta(latent.KindLatent), latentTensor{"latent", safetensors.F32, []int{1, 32, 3, 2}, make([]float32, 192)})
	l, err := DecodeLatent(bytes.NewReader(ours), int64(len(ours)), "z.safetensors", LatentOptions{})
	require.NoError(t, err)
	assert.Empty(t, l.Notes, "ours have no frames there")
}

// Every layout puts each number in its place.
func TestLayouts(t *testing.T) {
	size := map[rune]int{'B': 2, 'C': 4, 'F': 3, 'H': 5, 'W': 7}
	for _, order := range layouts {
		var shape []int
		n := 1
		for _, letter := range order {
			shape = append(shape, size[letter])
			n *= size[letter]
		}
		data := testLatent(n, 1, 1, 1).Data
		l, err := decoded(t, "z.npy", "", shape, data, LatentOptions{Channels: 4, Layout: order})
		require.NoError(t, err, order)
		for i, v := range data { // its position in the file is its value
			place, rest := map[rune]int{}, i
			for j := len(order) - 1; j >= 0; j-- {
				place[rune(order[j])] = rest % shape[j]
				rest /= shape[j]
			}
			clip, frame := place['B'], place['F']
			if l.Images {
				clip, frame = 0, place['B']
			}
			require.Equal(t, v, at(l, clip, place['C'], frame, place['H']*7+place['W']), "%s: value %d", order, i)
		}
		assert.Equal(t, order == "BCHW" || order == "BHWC", l.Images, order)
	}
	for text, want := range map[string]string{"cfhw": "CFHW", "BCTHW": "BCFHW", "lhwc": "FHWC", "BMFHW": "BMFHW"} {
		got, err := ParseLayout(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "CFWH", "BCFHWW", "HW", "MCFHW", "bogus"} {
		_, err := ParseLayout(text)
		require.ErrorContains(t, err, fmt.Sprintf("%q, expected BCFHW, BFCHW, ", text))
	}
	data := testLatent(96, 1, 1, 1).Data
	for order, want := range map[string]string{
		"BCFHW": "latent has shape [3 4 4 2], expected 5 channels at the place of --layout=BCFHW",
		"CFHW":  "latent has shape [3 4 4 2], expected 5 channels at the place of --layout=CFHW",
		"BMHW":  "latent has shape [3 4 4 2], expected 10 channels at the place of --layout=BMHW",
		"CHW":   "latent has shape [3 4 4 2], expected 3 dimensions for --layout=CHW",
		"BFCHW": "latent has shape [3 4 4 2], expected 5 dimensions for --layout=BFCHW",
	} {
		_, err := decoded(t, "z.npy", "", []int{3, 4, 4, 2}, data, LatentOptions{Channels: 5, Layout: order})
		assert.ErrorContains(t, err, want)
	}
}

// An ambiguous shape gets a note, unless the program that wrote it has only one layout.
func TestAmbiguousLayouts(t *testing.T) {
	for _, c := range []struct {
		shape []int
		note  string
	}{
		{[]int{3, 16, 6, 8}, "shape [3 16 6 8] is read as BCHW, 3 pictures, but could be FCHW: --layout decides"},
		{[]int{16, 16, 6, 8}, "shape [16 16 6 8] is read as CFHW, but could be BCHW or FCHW: --layout decides"},
		{[]int{16, 3, 6, 16}, "shape [16 3 6 16] is read as CFHW, but could be FHWC: --layout decides"},
		{[]int{16, 6, 16}, "shape [16 6 16] is read as CHW, but could be HWC: --layout decides"},
		{[]int{1, 16, 16, 6, 8}, "shape [1 16 16 6 8] is read as BCFHW, but could be BFCHW: --layout decides"},
		{[]int{1, 16, 6, 8}, ""},
		{[]int{16, 3, 6, 8}, ""},
		{[]int{1, 3, 16, 6, 8}, ""}, // frames first: nothing else fits
		{[]int{1, 3, 6, 8, 16}, ""},
	} {
		n := 1
		for _, d := range c.shape {
			n *= d
		}
		l, err := decoded(t, "z.npy", "", c.shape, testLatent(n, 1, 1, 1).Data, LatentOptions{Channels: 16})
		require.NoError(t, err, "%v", c.shape)
		var want []string
		if c.note != "" {
			want = []string{c.note}
		}
		assert.Equal(t, want, l.Notes, "%v", c.shape)
		meta := latent.Original{Scale: latent.ScaleNone}.Meta(latent.KindLatent)
		for name, file := range map[string][]byte{
			"ours":     latentFile(t, meta, latentTensor{"latent", safetensors.F32, c.shape, testLatent(n, 1, 1, 1).Data}),
			"musubi's": latentFile(t, nil, latentTensor{"latents_3x6x8_bfloat16", safetensors.F32, c.shape, testLatent(n, 1, 1, 1).Data}),
		} {
			l, err = DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", LatentOptions{Channels: 16})
			require.NoError(t, err, "%s %v", name, c.shape)
			assert.Empty(t, l.Notes, "%s %v", name, c.shape)
		}
	}
	z := testLatent(16, 3, 6, 8)
	var first []float32 // [F,C,h,w]
	for f := range 3 {
		for c := range 16 {
			first = append(first, z.Data[(c*3+f)*48:][:48]...)
		}
	}
	for _, shape := range [][]int{{3, 16, 6, 8}, {1, 3, 16, 6, 8}} {
		layout := "FCHW"
		if len(shape) == 5 {
			layout = ""
		}
		l, err := decoded(t, "z.npy", "", shape, first, LatentOptions{Channels: 16, Layout: layout})
		require.NoError(t, err, "%v", shape)
		require.Equal(t, z.Data, l.Data, "%v", shape)
		require.False(t, l.Images, "%v", shape)
	}
}

// Packed latents need a size, and are ordered as diffusers' pipelines pack them: view(B,
// h/2, 2, w/2, 2, C) with its axes in the order B, h/2, w/2, C, 2, 2.
func TestPackedLatents(t *testing.T) {
	const h, w = 6, 8
	for _, batch := range []int{1, 2} {
		data := testLatent(batch*h*w*16, 1, 1, 1).Data
		shape := []int{batch, h * w / 4, 64}
		l, err := decoded(t, "z.npy", "", shape, data, LatentOptions{Channels: 16, Height: h, Width: w})
		require.NoError(t, err)
		require.Equal(t, []int{16, batch, h, w}, l.Shape())
		require.Equal(t, batch > 1, l.Images)
		for b := range batch {
			for c := range 16 {
				for y := range h {
					for x := range w {
						token := (b*h/2+y/2)*w/2 + x/2
						require.Equal(t, data[token*64+c*4+y%2*2+x%2], at(l, 0, c, b, y*w+x))
					}
				}
			}
		}
		_, err = decoded(t, "z.npy", "", shape, data, LatentOptions{Channels: 16})
		require.ErrorIs(t, err, ErrPacked)
		require.ErrorContains(t, err, fmt.Sprintf("packed latents have shape %v, of 12 squares of 2x2 cells: --size=WIDTHxHEIGHT says how they lie", shape))
		_, err = decoded(t, "z.npy", "", shape, data, LatentOptions{Channels: 16, Height: h, Width: 6})
		require.ErrorIs(t, err, ErrPacked)
		require.ErrorContains(t, err, "of 12 squares of 2x2 cells, but 6x6 cells have 9")
		if batch > 1 {
			continue
		}
		for _, name := range []string{"z.npy", "z.safetensors"} { // without a batch
			alone, err := decoded(t, name, "F32", shape[1:], data, LatentOptions{Channels: 16, Height: h, Width: w})
			require.NoError(t, err, name)
			require.Equal(t, l.Shape(), alone.Shape(), name)
			require.Equal(t, l.Data, alone.Data, name)
			_, err = decoded(t, name, "F32", shape[1:], data, LatentOptions{Channels: 16})
			require.ErrorContains(t, err, "packed latents have shape [12 64], of 12 squares of 2x2 cells: --size=WIDTHxHEIGHT says how they lie")
		}
	}
	_, err := decoded(t, "z.npy", "", []int{16, 1, h, w}, testLatent(16, 1, h, w).Data, LatentOptions{Channels: 16, Height: h, Width: w})
	require.ErrorIs(t, err, ErrPacked)
	require.ErrorContains(t, err, "latent has shape [16 1 6 8], expected packed ones [B,N,64] or [N,64] for a size")
}

// LingBot's tokens [L*h*w,C] are stored beside their sizes.
func TestTokens(t *testing.T) {
	const c, f, h, w = 48, 3, 4, 6
	want := testLatent(c, f, h, w)
	var tokens []float32
	for i := range f * h * w {
		for channel := range c {
			tokens = append(tokens, want.Data[channel*f*h*w+i])
		}
	}
	sizes := map[string]int{"latent_num_frames": f, "latent_height": h, "latent_width": w, "fps": 10}
	tensors := []pthtest.Tensor{
		{Name: "latent", DType: safetensors.F32, Shape: []int{f * h * w, c}, Data: pthtest.Bytes(floatBytes(nil, tokens))},
		{Name: "text_emb", DType: safetensors.F32, Shape: []int{1}, Data: pthtest.Bytes(make([]byte, 4))},
	}
	write := func() []byte {
		var b bytes.Buffer
		require.NoError(t, pthtest.Write(&b, tensors, pthtest.Options{Numbers: sizes}))
		return b.Bytes()
	}
	for _, channels := range []int{0, c} {
		file := write()
		l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.pth", LatentOptions{Channels: channels})
		require.NoError(t, err)
		require.Equal(t, []int{c, f, h, w}, l.Shape())
		require.Equal(t, want.Data, l.Data)
		require.Empty(t, l.Notes)
	}
	sizes["latent_width"] = 7
	file := write()
	_, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.pth", LatentOptions{Channels: c})
	require.ErrorContains(t, err, "latent has shape [72 48] of rank 2")
}

// Of musubi-tuner's caches the plain latent is read, with a note; --latent-key names
// another, with or without its size.
func TestLatentsOfCaches(t *testing.T) {
	plain, image := testLatent(16, 3, 6, 8), testLatent(20, 3, 6, 8)
	image.Data[0] = 7
	file := latentFile(t, map[string]string{"architecture": "wan", "format_version": "1.0.1"},
		latentTensor{"latents_3x6x8_bfloat16", safetensors.F32, plain.Shape(), plain.Data},
		latentTensor{"latents_image_3x6x8_bfloat16", safetensors.F32, image.Shape(), image.Data},
		latentTensor{"clip_bfloat16", safetensors.F32, []int{4, 16}, make([]float32, 64)})
	read := func(key string, channels int) (latent.Latent, error) {
		return DecodeLatent(bytes.NewReader(file), int64(len(file)), "z.safetensors", LatentOptions{Channels: channels, Key: key})
	}
	l, err := read("", 16)
	require.NoError(t, err)
	require.Equal(t, plain.Data, l.Data)
	require.Equal(t, []string{"the latent is latents_3x6x8_bfloat16 of 3 tensors: --latent-key names another"}, l.Notes)
	for _, key := range []string{"latents_image_3x6x8_bfloat16", "latents_image"} {
		l, err = read(key, 20)
		require.NoError(t, err, key)
		require.Equal(t, image.Data, l.Data, key)
		require.Empty(t, l.Notes, key)
	}
	older := latentFile(t, map[string]string{"architecture": "z_image"}, latentTensor{"latents_1x6x8_bfloat16", safetensors.F32, []int{16, 1, 1, 1}, make([]float32, 16)})
	l, err = DecodeLatent(bytes.NewReader(older), int64(len(older)), "z.safetensors", LatentOptions{Channels: 16})
	require.NoError(t, err)
	require.Equal(t, &latent.Trainer{Name: "musubi-tuner", Model: "z_image"}, l.Trainer, "without a version")
	_, err = read("latents_other", 16)
	require.ErrorContains(t, err, "3 tensors (latents_3x6x8_bfloat16, latents_image_3x6x8_bfloat16, clip_bfloat16), expected one named latents_other, as --latent-key says")
	_, err = read("latents_image", 16)
	require.ErrorContains(t, err, "shape [20 3 6 8], expected 16 channels")
	file = latentFile(t, nil,
		latentTensor{"latents_1x6x8_bfloat16", safetensors.F32, []int{16, 1, 1, 1}, make([]float32, 16)},
		latentTensor{"latents_2x6x8_bfloat16", safetensors.F32, []int{16, 1, 1, 1}, make([]float32, 16)})
	_, err = read("", 16)
	require.ErrorContains(t, err, "2 latents (latents_1x6x8_bfloat16, latents_2x6x8_bfloat16): --latent-key chooses one", "two plain ones are neither's")
}

// An array of 8-bit pixels is not a latent.
func TestLatentsAreFloats(t *testing.T) {
	npy := bytes.Replace(npyPrefix([]int{16, 1, 2, 2}), []byte("<f4"), []byte("|u1"), 1)
	path := filepath.Join(t.TempDir(), "z.npy")
	require.NoError(t, os.WriteFile(path, slices.Concat(npy, make([]byte, 64)), 0o666))
	_, err := ReadLatent(path, 16)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "dtype uint8, expected floats: float16, bfloat16, float32 or float64")
}

// FLUX.2's latents have squares of 2x2 cells among the channels, in every order of
// dimensions and beside unpacked latents.
func TestPackedChannels(t *testing.T) {
	const c, h, w = 2, 6, 10
	o := LatentOptions{Channels: c, Packed: true}
	whole := testLatent(c, 1, h, w)
	packed := whole.Pack()
	require.Equal(t, []int{4 * c, 1, h / 2, w / 2}, packed.Shape())
	require.Equal(t, whole.Data[1*h*w+3*w+4], packed.Data[(4*1+2*1+0)*h/2*w/2+1*w/2+2], "channel 1, row 3, column 4")
	last := make([]float32, len(packed.Data)) // [h/2,w/2,4C]
	for i, v := range packed.Data {
		last[i%(h/2*w/2)*4*c+i/(h/2*w/2)] = v
	}
	for name, file := range map[string]struct {
		name, key string
		shape     []int
		data      []float32
		packed    bool
	}{
		"CHW":               {"z.npy", "", []int{4 * c, h / 2, w / 2}, packed.Data, true},
		"BCHW":              {"z.npy", "", []int{1, 4 * c, h / 2, w / 2}, packed.Data, true},
		"CFHW":              {"z.npy", "", []int{4 * c, 1, h / 2, w / 2}, packed.Data, true},
		"BCFHW":             {"z.safetensors", "latent", []int{1, 4 * c, 1, h / 2, w / 2}, packed.Data, true},
		"FHWC":              {"z.npy", "", []int{1, h / 2, w / 2, 4 * c}, last, true},
		"ComfyUI":           {"z.latent", comfyKey, []int{1, 4 * c, h / 2, w / 2}, packed.Data, true},
		"unpacked":          {"z.npy", "", []int{c, h, w}, whole.Data, false},
		"unpacked, a batch": {"z.npy", "", []int{1, c, h, w}, whole.Data, false},
	} {
		got, err := decoded(t, file.name, file.key, file.shape, file.data, o)
		require.NoError(t, err, name)
		assert.Equal(t, whole.Shape(), got.Shape(), name)
		assert.Equal(t, whole.Data, got.Data, name)
		assert.Equal(t, file.packed, got.Packed, name)
	}
	// Two pictures, and a clip in a batch.
	both := append(slices.Clone(packed.Data), packed.Data...)
	got, err := decoded(t, "z.npy", "", []int{2, 4 * c, h / 2, w / 2}, both, o)
	require.NoError(t, err)
	assert.Equal(t, []int{c, 2, h, w}, got.Shape())
	assert.Equal(t, whole.Data[:h*w], got.Data[h*w:2*h*w])
	o.Layout = "BCHW"
	named, err := decoded(t, "z.npy", "", []int{2, 4 * c, h / 2, w / 2}, both, o)
	require.NoError(t, err)
	assert.Equal(t, got, named)
	// Channels first are preferred to squares that would be last, and tokens need a size.
	o.Layout = ""
	wide := testLatent(c, 1, 3, 4*c)
	got, err = decoded(t, "z.npy", "", []int{c, 3, 4 * c}, wide.Data, o)
	require.NoError(t, err)
	assert.False(t, got.Packed)
	assert.Equal(t, []int{c, 1, 3, 4 * c}, got.Shape())
	tokens := []int{1, h / 2 * w / 2, 4 * c}
	_, err = decoded(t, "z.npy", "", tokens, last, o)
	require.ErrorContains(t, err, "--size=WIDTHxHEIGHT says how they lie")
	o.Height, o.Width = h, w
	got, err = decoded(t, "z.npy", "", tokens, last, o)
	require.NoError(t, err)
	assert.True(t, got.Packed)
	assert.Equal(t, whole.Data, got.Data)
}

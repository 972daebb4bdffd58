package session

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// wan returns a small checkpoint of Wan in memory.
func wan(t *testing.T, c synthetic.WanConfig) []byte {
	t.Helper()
	c.Dim = 4
	var b bytes.Buffer
	require.NoError(t, synthetic.WriteWan(&b, c))
	return b.Bytes()
}

// asPTH returns a checkpoint as torch saves it.
func asPTH(t *testing.T, checkpoint []byte) []byte {
	t.Helper()
	f, err := safetensors.Read(bytes.NewReader(checkpoint), int64(len(checkpoint)), "wan.safetensors")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "wan.pth")
	require.NoError(t, pthtest.Convert(path, f, pthtest.Options{}))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// flat sets the quantisation convolutions of a checkpoint to zero.
func flat(t *testing.T, checkpoint []byte) []byte {
	t.Helper()
	f, err := safetensors.Read(bytes.NewReader(checkpoint), int64(len(checkpoint)), "wan.safetensors")
	require.NoError(t, err)
	for _, name := range []string{"conv1.weight", "conv2.weight"} {
		x, _ := f.Tensor(name)
		old := make([]byte, x.Bytes())
		require.NoError(t, x.ReadRaw(old, 0))
		i := bytes.Index(checkpoint, old)
		clear(checkpoint[i : i+len(old)])
	}
	return checkpoint
}

// run sends a request and returns its end and all messages before it.
func (p *page) run(id int, header map[string]any) (message, []message) {
	p.t.Helper()
	header["id"] = id
	p.receive(header, nil)
	return p.end(id)
}

// use opens a file as the checkpoint.
func (p *page) use(id, file int, name string) model {
	p.t.Helper()
	end, _ := p.run(id, map[string]any{"type": "open", "source": p.source(file, name), "precision": "f32"})
	var m model
	require.NoError(p.t, json.Unmarshal(end.Value, &m), "open %s: %s", name, end.Message)
	return m
}

// decode returns the frames of a latent and fails the test without them.
func (p *page) decode(id, file int, name string, o map[string]any) [][]byte {
	p.t.Helper()
	end, all := p.run(id, map[string]any{"type": "decode", "source": p.source(file, name), "options": o})
	require.Equal(p.t, "result", end.Type, "decode %s: %s", name, end.Message)
	var frames [][]byte
	for _, m := range all {
		if m.Type == "frame" {
			frames = append(frames, m.payload)
		}
	}
	return frames
}

// The page receives the description of a checkpoint, in every layout.
func TestOpenWan(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{Latent: 4})
	p.files[11] = asPTH(t, p.files[10])
	p.files[12] = wan(t, synthetic.WanConfig{Latent: 4, Channels: 4})
	p.files[13] = wan(t, synthetic.WanConfig{Nested: true, Decoder: 4, Latent: 4})
	p.files[14] = wan(t, synthetic.WanConfig{Still: true, Decoder: 4, Latent: 4})
	every := []vae.Tiling{vae.Exact, vae.Feather, vae.Diffusers}
	for i, c := range []struct {
		file int
		name string
		want model
	}{
		{10, "wan.safetensors", model{Family: "wan2.1", Model: "Wan 2.1", Channels: 3, Spatial: 8, Tilings: every}},
		{11, "wan.pth", model{Family: "wan2.1", Model: "Wan 2.1", Channels: 3, Spatial: 8, Tilings: every}},
		{10, "qwen_image_vae.safetensors", model{Family: "wan2.1", Model: "Qwen-Image", Channels: 3, Independent: true, Spatial: 8, Tilings: every}},
		{12, "layered.safetensors", model{Family: "wan2.1", Model: "Qwen-Image-Layered", Channels: 4, Independent: true, Spatial: 8, Tilings: every}},
		{13, "wan2.2_vae.safetensors", model{Family: "wan2.2", Model: "Wan 2.2", Channels: 3, Spatial: 16, Tilings: every}},
		{14, "qwen_image_2.1_vae_bf16.safetensors", model{Family: "qwen2.1", Model: "Qwen-Image 2.1", Channels: 4, Independent: true, Spatial: 16, Tilings: every}},
		{1, "small.safetensors", model{Family: "seedvr2", Model: "SeedVR2", Channels: 3, Spatial: 8, Tilings: every[1:2]}},
	} {
		m := p.use(20+i, c.file, c.name)
		assert.Equal(t, c.want.Family, m.Family, c.name)
		assert.Equal(t, c.want.Model, m.Model, c.name)
		assert.Equal(t, "original", m.Layout, c.name)
		assert.Equal(t, c.want.Channels, m.Channels, c.name)
		assert.Equal(t, c.want.Independent, m.Independent, c.name)
		assert.Equal(t, c.want.Spatial, m.Spatial, c.name)
		assert.Equal(t, c.want.Tilings, m.Tilings, c.name)
		assert.Equal(t, 4, m.LatentChannels, c.name)
	}
}

// A decoder that enlarges makes frames of that size, and refuses round trips.
func TestUpscale(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{Latent: 4, Outputs: 12})
	var z bytes.Buffer
	require.NoError(t, media.EncodeLatent(&z, "z.npy", latent.Latent{Channels: 4, Frames: 1, Height: 2, Width: 3, Data: make([]float32, 24)}))
	p.files[3] = z.Bytes()
	p.use(5, 10, "upscale2x.safetensors")
	frames := p.decode(6, 3, "z.npy", nil)
	require.Len(t, frames, 1)
	require.Len(t, frames[0], 4*32*48)
	end, _ := p.run(7, map[string]any{"type": "roundtrip", "clip": map[string]any{"frames": 1, "height": 16, "width": 24}})
	require.Equal(t, "bad_input", end.Code)
	require.Contains(t, end.Message, "decodes frames to 2 times the encoded height and width")
}

// A file whose pictures would all be flat is refused as such, and accepted by force.
func TestFlat(t *testing.T) {
	p, _ := start(t)
	p.files[10] = flat(t, wan(t, synthetic.WanConfig{Latent: 4}))
	open := map[string]any{"type": "open", "source": p.source(10, "brown.safetensors")}
	end, _ := p.run(5, open)
	require.Equal(t, "flat", end.Code)
	require.Contains(t, end.Message, "brown.safetensors")
	open["force"] = true
	end, _ = p.run(6, open)
	require.Equal(t, "result", end.Type, end.Message)
	assert.Len(t, p.decode(7, 2, "z.safetensors", nil), 9)
}

// Plans say how tiles are combined, and what one tile would need.
func TestPlanTilings(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{Latent: 4})
	p.use(5, 10, "wan.safetensors")
	id := 5
	plan := func(o map[string]any) (v plan, end message) {
		t.Helper()
		id++
		for key, value := range map[string]any{"direction": "decode", "frames": 2, "height": 40, "width": 40} {
			if o[key] == nil {
				o[key] = value
			}
		}
		end, _ = p.run(id, map[string]any{"type": "plan", "options": o})
		if end.Type == "result" {
			require.NoError(t, json.Unmarshal(end.Value, &v))
		}
		return v, end
	}
	one, _ := plan(map[string]any{"tile": "off"})
	assert.Empty(t, one.Tiling)
	assert.Empty(t, one.Halo)
	assert.Zero(t, one.Untiled)
	require.Len(t, one.Tiles, 1)
	assert.Equal(t, 5, one.Frames)
	assert.False(t, one.Independent)
	for how, want := range map[string]struct {
		tiling vae.Tiling
		tiles  int
	}{"": {vae.Exact, 9}, "exact": {vae.Exact, 9}, "feather": {vae.Feather, 9}, "diffusers": {vae.Diffusers, 16}} {
		l, end := plan(map[string]any{"tiling": how, "tile": "128", "overlap": "32"})
		assert.Equal(t, want.tiling, l.Tiling, "%q: %s", how, end.Message)
		assert.Len(t, l.Tiles, want.tiles, how)
		untiled := int64(0)
		if want.tiling == vae.Exact {
			untiled = one.Bytes
		}
		assert.Equal(t, untiled, l.Untiled, how)
		assert.Equal(t, want.tiling != vae.Exact, l.Halo == "0x0", "%q: halo %s", how, l.Halo)
	}
	l, _ := plan(map[string]any{"tiling": "diffusers"})
	assert.Equal(t, "256x256", l.Tile)
	assert.Equal(t, "64x64", l.Overlap)
	l, _ = plan(map[string]any{"direction": "encode", "frames": 3, "height": 40, "width": 40, "independent": true})
	assert.Equal(t, 3, l.Frames)
	assert.True(t, l.Independent)
	_, end := plan(map[string]any{"tiling": "mosaic"})
	assert.Equal(t, "bad_input", end.Code)
	assert.Contains(t, end.Message, `tiling "mosaic"`)
	p.use(100, 1, "small.safetensors")
	_, end = plan(map[string]any{"tiling": "exact", "height": 4, "width": 4})
	assert.Equal(t, "bad_option", end.Code)
	assert.Contains(t, end.Message, "SeedVR2")
}

// Exact tiles give one tile's frames, within one code.
func TestExactTiles(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{Latent: 4})
	p.use(5, 10, "wan.safetensors")
	one := p.decode(6, 2, "z.safetensors", map[string]any{"tile": "off"})
	tiled := p.decode(7, 2, "z.safetensors", map[string]any{"tile": "16", "tiling": "exact"})
	require.Len(t, one, 9)
	require.Len(t, tiled, 9)
	for i := range one {
		for k := range one[i] {
			d := int(one[i][k]) - int(tiled[i][k])
			require.True(t, d >= -1 && d <= 1, "frame %d, value %d: %d, in one tile %d", i, k, tiled[i][k], one[i][k])
		}
	}
}

// A latent of another family is refused if its statistics scaled it, on inspection and
// decoding; if the user sets the scale, there is a warning instead.
func TestLatentOfAnotherModel(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{Latent: 4})
	p.use(5, 10, "wan.safetensors")
	end, all := p.run(6, map[string]any{"type": "encode", "clip": map[string]any{"frames": 1, "height": 16, "width": 24}})
	require.Equal(t, "result", end.Type, end.Message)
	for _, m := range all {
		if m.Type == "latent" {
			p.files[3] = m.payload
		}
	}
	l, err := media.DecodeLatent(bytes.NewReader(p.files[3]), int64(len(p.files[3])), "z.safetensors", media.LatentOptions{Channels: 4})
	require.NoError(t, err)
	var c vae.Config
	require.NoError(t, c.Identify("", bytes.NewReader(p.files[10]), int64(len(p.files[10]))))
	for key, want := range map[string]string{
		latent.MetaFamily: "wan2.1", latent.MetaModel: "Wan 2.1", latent.MetaFile: "wan.safetensors", latent.MetaPrint: c.Print,
	} {
		assert.Equal(t, want, l.Meta[key], key)
	}
	_, all = p.run(7, map[string]any{"type": "decode", "source": p.source(3, "z.safetensors")})
	assert.Zero(t, count(all, "warning"))

	p.use(8, 1, "small.safetensors")
	const words = `z.safetensors: a latent of "Wan 2.1" ("wan.safetensors"), decoding with "SeedVR2" ("small.safetensors")`
	for id, kind := range []string{"inspect", "decode"} {
		end, _ = p.run(20+id, map[string]any{"type": kind, "source": p.source(3, "z.safetensors")})
		assert.Equal(t, "wrong_model", end.Code, kind)
		assert.Contains(t, end.Message, words, kind)
	}
	end, _ = p.run(29, map[string]any{"type": "inspect", "source": p.source(3, "z.safetensors"), "options": map[string]any{"scale": "pipeline"}})
	assert.Equal(t, "result", end.Type, end.Message)
	end, all = p.run(30, map[string]any{"type": "decode", "source": p.source(3, "z.safetensors"), "options": map[string]any{"scale": "pipeline"}})
	assert.Equal(t, "result", end.Type, end.Message)
	i := slices.IndexFunc(all, func(m message) bool { return m.Type == "warning" })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, all[i].Message, words)
}

// A batch of clips is for the program only; the page decodes the mean of moments.
func TestBatchAndMoments(t *testing.T) {
	p, _ := start(t)
	p.open()
	encode := func(name string, z latent.Latent) []byte {
		z.Data = slices.Repeat([]float32{1, -1}, z.Clips()*z.Channels*z.Frames*z.Height*z.Width/2)
		var b bytes.Buffer
		require.NoError(t, media.EncodeLatent(&b, name, z))
		return b.Bytes()
	}
	p.files[3] = encode("z.npy", latent.Latent{Batch: 3, Channels: 4, Frames: 2, Height: 2, Width: 2})
	p.files[4] = encode("z.safetensors", latent.Latent{Channels: 8, Frames: 2, Height: 2, Width: 2, Meta: latent.Original{}.Meta(latent.KindMoments)})
	p.files[5] = encode("z.npy", latent.Latent{Channels: 8, Frames: 2, Height: 2, Width: 2})
	for id, kind := range []string{"inspect", "decode"} {
		end, _ := p.run(20+id, map[string]any{"type": kind, "source": p.source(3, "z.npy")})
		assert.Equal(t, "program_only", end.Code, kind)
		assert.Contains(t, end.Message, "z.npy: a batch of 3 clips, expected one: `tessera decode` decodes them all", kind)
	}
	end, all := p.run(30, map[string]any{"type": "decode", "source": p.source(4, "z.safetensors"), "options": map[string]any{"sample": true}})
	require.Equal(t, "result", end.Type, end.Message)
	assert.Equal(t, 5, count(all, "frame"))
	end, _ = p.run(31, map[string]any{"type": "decode", "source": p.source(5, "z.npy")})
	assert.Equal(t, "wrong_model", end.Code)
	assert.Contains(t, end.Message, "z.npy: latent has shape [8 2 2 2], expected 4 channels first or last")
}

// Frames among the channels, as ComfyUI's samplers leave SeedVR2's latents, are the
// frames of a clip; the page gets a note if the file is not ComfyUI's.
func TestFoldedFrames(t *testing.T) {
	p, _ := start(t)
	p.open()
	values := make([]float32, 4*2*2*3)
	for i := range values {
		values[i] = float32(i%7)/3 - 1
	}
	file := func(key string, shape ...int) []byte {
		specs := []safetensors.Spec{{Name: key, DType: safetensors.F32, Shape: shape}}
		if key == "latent_tensor" {
			specs = append(specs, safetensors.Spec{Name: "latent_format_version_0", DType: safetensors.F32, Shape: []int{0}})
		}
		var b bytes.Buffer
		w, err := safetensors.NewWriter(&b, specs, nil)
		require.NoError(t, err)
		for i, s := range specs {
			require.NoError(t, w.Begin(s.Name))
			if i == 0 {
				require.NoError(t, w.WriteF32(values))
			}
		}
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	p.files[3] = file("latent_tensor", 1, 4, 2, 2, 3)
	p.files[4] = file("latent_tensor", 1, 8, 2, 3)
	p.files[5] = file("samples", 1, 8, 2, 3)
	var want [][]byte
	for id, name := range []string{3: "five.latent", 4: "four.latent", 5: "four.safetensors"} {
		if name == "" {
			continue
		}
		end, all := p.run(20+id, map[string]any{"type": "decode", "source": p.source(id, name)})
		require.Equal(t, "result", end.Type, end.Message)
		var frames [][]byte
		said := 0
		for _, m := range all {
			if m.Type == "frame" {
				frames = append(frames, m.payload)
			}
			if m.Type == "warning" && strings.Contains(m.Message, "shape [1 8 2 3] is read as 2 frames of 4 channels (BCFHW), but could be moments (BMHW)") {
				said++
			}
		}
		require.Len(t, frames, 5, name)
		if want == nil {
			want = frames
		}
		assert.Equal(t, want, frames, name)
		assert.Equal(t, map[bool]int{true: 1}[id == 5], said, name)
	}
}

// The page also learns what a .npy does not store.
func TestForgotten(t *testing.T) {
	p, _ := start(t)
	p.open()
	end, all := p.run(5, map[string]any{
		"type": "encode", "clip": map[string]any{"frames": 2, "height": 16, "width": 24}, "options": map[string]any{"format": ".npy"},
	})
	require.Equal(t, "result", end.Type, end.Message)
	i := slices.IndexFunc(all, func(m message) bool { return m.Type == "warning" })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, "latent.npy: .npy keeps no metadata: it will decode to the padded 5 frames of 24x16, not 2 of 24x16", all[i].Message)
}

// A latent without metadata whose numbers are not the model's causes a warning.
func TestOddNumbers(t *testing.T) {
	p, _ := start(t)
	p.open()
	z := latent.Latent{Channels: 4, Frames: 1, Height: 2, Width: 2, Data: slices.Repeat([]float32{40, -40}, 8)}
	var b bytes.Buffer
	require.NoError(t, media.EncodeLatent(&b, "z.npy", z))
	p.files[3] = b.Bytes()
	end, all := p.run(5, map[string]any{"type": "decode", "source": p.source(3, "z.npy")})
	require.Equal(t, "result", end.Type, end.Message)
	i := slices.IndexFunc(all, func(m message) bool { return m.Type == "warning" })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, "z.npy: its values are 40 times as large as usual for SeedVR2: is it a latent of this model?", all[i].Message)
}

// Whether frames are separate pictures is decided by the request, else by the latent's
// program, else by the model.
func TestIndependent(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{Latent: 4})
	p.files[3] = latentFile(t, map[string]string{latent.MetaScale: latent.ScalePipeline})
	p.files[4] = latentFile(t, map[string]string{latent.MetaScale: latent.ScalePipeline, latent.MetaImages: "true"})
	id := 10
	frames := func(file int, o map[string]any) int {
		t.Helper()
		id += 2
		end, _ := p.run(id, map[string]any{"type": "inspect", "source": p.source(file, "z.safetensors"), "options": o})
		var info latentInfo
		require.NoError(t, json.Unmarshal(end.Value, &info))
		n := len(p.decode(id+1, file, "z.safetensors", o))
		assert.Equal(t, n, info.Clip.Frames)
		assert.Equal(t, n == 3, info.Independent)
		return n
	}
	p.use(5, 10, "wan.safetensors")
	yes, no := map[string]any{"independent": true}, map[string]any{"independent": false}
	assert.Equal(t, []int{9, 3, 3}, []int{frames(2, nil), frames(2, yes), frames(4, nil)}, "a clip's model: a latent, as pictures, of pictures")
	p.use(6, 10, "qwen_image_vae.safetensors")
	assert.Equal(t, []int{3, 9, 9}, []int{frames(2, nil), frames(2, no), frames(3, nil)}, "a model of pictures: a latent, as a clip, of a clip")
	encode := map[string]any{"type": "encode", "clip": map[string]any{"frames": 3, "height": 16, "width": 24}}
	end, all := p.run(100, encode)
	i := slices.IndexFunc(all, func(m message) bool { return m.Type == "latent" })
	require.NotEqual(t, -1, i, end.Message)
	l, err := media.DecodeLatent(bytes.NewReader(all[i].payload), int64(len(all[i].payload)), "z.safetensors", media.LatentOptions{Channels: 4})
	require.NoError(t, err)
	assert.Equal(t, 3, l.Frames)
	assert.Equal(t, "true", l.Meta[latent.MetaImages])
}

// In ComfyUI's files Wan's latents have the model's own numbers, in others the
// pipeline's; both decode alike.
func TestLatentScale(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{}) // 16 channels, whose statistics are known
	p.use(5, 10, "wan.safetensors")
	latents := map[string]latent.Latent{}
	for i, format := range []string{".safetensors", ".latent"} {
		_, all := p.run(6+i, map[string]any{
			"type": "encode", "clip": map[string]any{"frames": 1, "height": 16, "width": 24}, "options": map[string]any{"format": format},
		})
		k := slices.IndexFunc(all, func(m message) bool { return m.Type == "latent" })
		data := all[k].payload
		l, err := media.DecodeLatent(bytes.NewReader(data), int64(len(data)), "z"+format, media.LatentOptions{Channels: 16})
		require.NoError(t, err)
		latents[format], p.files[20+i] = l, data
	}
	scaled, own := latents[".safetensors"], latents[".latent"]
	assert.Equal(t, latent.ScalePipeline, scaled.Meta[latent.MetaScale])
	assert.Equal(t, latent.ScaleNone, own.Meta[latent.MetaScale])
	// Channel 0 of Wan 2.1: mean -0.7571, deviation 2.8184.
	assert.InDelta(t, (own.Data[0]+0.7571)/2.8184, scaled.Data[0], 1e-5)
	want := p.decode(30, 20, "z.safetensors", nil)
	same := func(what string, got [][]byte) bool {
		n := 0
		for i := range want[0] {
			if d := int(want[0][i]) - int(got[0][i]); d < -1 || d > 1 {
				n++
			}
		}
		t.Logf("%s: %d values differ", what, n)
		return n == 0
	}
	assert.True(t, same("own numbers", p.decode(31, 21, "z.latent", nil)), ".latent decodes to something else")
	// As ComfyUI writes it: without a scale.
	own.Meta = nil
	var b bytes.Buffer
	require.NoError(t, media.EncodeLatent(&b, "z.latent", own))
	p.files[22] = b.Bytes()
	assert.True(t, same("ComfyUI", p.decode(32, 22, "z.latent", nil)), "ComfyUI's .latent decodes to something else")
	assert.False(t, same("ComfyUI's taken for a pipeline's", p.decode(33, 22, "z.latent", map[string]any{"scale": "pipeline"})), "the scale makes no difference")
}

// A model of 4 channels reads the page's alpha and gives frames with alpha.
func TestAlpha(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{Latent: 4, Channels: 4})
	p.use(5, 10, "layered.safetensors")
	latent := func(id int, alpha byte) ([]float32, [][]byte) {
		p.clip = func(int) []byte { return bytes.Repeat([]byte{40, 80, 120, alpha}, 16*24) }
		end, all := p.run(id, map[string]any{"type": "roundtrip", "clip": map[string]any{"frames": 1, "height": 16, "width": 24}})
		var frames [][]byte
		var data []byte
		for _, m := range all {
			switch m.Type {
			case "frame":
				frames = append(frames, m.payload)
			case "latent":
				data = m.payload
			}
		}
		l, err := media.DecodeLatent(bytes.NewReader(data), int64(len(data)), "z.safetensors", media.LatentOptions{Channels: 4})
		require.NoError(t, err, end.Message)
		require.Len(t, frames, 1, end.Message)
		return l.Data, frames
	}
	opaque, frames := latent(6, 255)
	clear, _ := latent(7, 0)
	assert.NotEqual(t, clear, opaque, "alpha makes no difference to the latent")
	values := map[byte]bool{}
	for i := 3; i < len(frames[0]); i += 4 {
		values[frames[0][i]] = true
	}
	assert.GreaterOrEqual(t, len(values), 3, "values of alpha")
}

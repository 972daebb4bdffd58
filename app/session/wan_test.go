package session

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// wan is a small checkpoint of Wan in memory.
func wan(t *testing.T, c synthetic.WanConfig) []byte {
	t.Helper()
	c.Dim = 4
	var b bytes.Buffer
	if err := synthetic.WriteWan(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// asPTH is a checkpoint as torch saves it.
func asPTH(t *testing.T, checkpoint []byte) []byte {
	t.Helper()
	f, err := safetensors.Read(bytes.NewReader(checkpoint), int64(len(checkpoint)), "wan.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "wan.pth")
	if err := pthtest.Convert(path, f, pthtest.Options{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// flat sets the quantisation convolutions of a checkpoint to zero.
func flat(t *testing.T, checkpoint []byte) []byte {
	t.Helper()
	f, err := safetensors.Read(bytes.NewReader(checkpoint), int64(len(checkpoint)), "wan.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"conv1.weight", "conv2.weight"} {
		x, _ := f.Tensor(name)
		old := make([]byte, x.Bytes())
		if err := x.ReadRaw(old, 0); err != nil {
			t.Fatal(err)
		}
		i := bytes.Index(checkpoint, old)
		clear(checkpoint[i : i+len(old)])
	}
	return checkpoint
}

// run does a request and returns its end and all that came before it.
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
	if err := json.Unmarshal(end.Value, &m); err != nil {
		p.t.Fatalf("open %s: %s, %v", name, end.Message, err)
	}
	return m
}

// decode is the frames of a latent; they must come.
func (p *page) decode(id, file int, name string, o map[string]any) [][]byte {
	p.t.Helper()
	end, all := p.run(id, map[string]any{"type": "decode", "source": p.source(file, name), "options": o})
	if end.Type != "result" {
		p.t.Fatalf("decode %s: %s", name, end.Message)
	}
	var frames [][]byte
	for _, m := range all {
		if m.Type == "frame" {
			frames = append(frames, m.payload)
		}
	}
	return frames
}

// The page is told what a checkpoint is, from every layout.
func TestOpenWan(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{Latent: 4})
	p.files[11] = asPTH(t, p.files[10])
	p.files[12] = wan(t, synthetic.WanConfig{Latent: 4, Channels: 4})
	p.files[13] = wan(t, synthetic.WanConfig{Nested: true, Decoder: 4, Latent: 4})
	every := []vae.Tiling{vae.Feather, vae.Exact, vae.Diffusers}
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
		{1, "small.safetensors", model{Family: "seedvr2", Model: "SeedVR2", Channels: 3, Spatial: 8, Tilings: every[:1]}},
	} {
		m := p.use(20+i, c.file, c.name)
		if m.Family != c.want.Family || m.Model != c.want.Model || m.Layout != "original" || m.Channels != c.want.Channels ||
			m.Independent != c.want.Independent || m.Spatial != c.want.Spatial || !slices.Equal(m.Tilings, c.want.Tilings) || m.LatentChannels != 4 {
			t.Errorf("%s: %+v", c.name, m)
		}
	}
}

// A file whose every picture would be flat is refused as such, and taken by force.
func TestFlat(t *testing.T) {
	p, _ := start(t)
	p.files[10] = flat(t, wan(t, synthetic.WanConfig{Latent: 4}))
	open := map[string]any{"type": "open", "source": p.source(10, "brown.safetensors")}
	if end, _ := p.run(5, open); end.Code != "flat" || !strings.Contains(end.Message, "brown.safetensors") {
		t.Fatalf("%s: %s", end.Code, end.Message)
	}
	open["force"] = true
	if end, _ := p.run(6, open); end.Type != "result" {
		t.Fatal(end.Message)
	}
	if frames := p.decode(7, 2, "z.safetensors", nil); len(frames) != 9 {
		t.Errorf("%d frames", len(frames))
	}
}

// Plans tell how tiles become one frame, and what one tile would need.
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
			if err := json.Unmarshal(end.Value, &v); err != nil {
				t.Fatal(err)
			}
		}
		return v, end
	}
	one, _ := plan(map[string]any{"tile": "off"})
	if one.Tiling != "" || one.Halo != "" || one.Untiled != 0 || len(one.Tiles) != 1 || one.Frames != 5 || one.Independent {
		t.Errorf("one tile: %+v", one)
	}
	for how, want := range map[string]struct {
		tiling vae.Tiling
		tiles  int
	}{"": {vae.Exact, 9}, "exact": {vae.Exact, 9}, "feather": {vae.Feather, 9}, "diffusers": {vae.Diffusers, 16}} {
		l, end := plan(map[string]any{"tiling": how, "tile": "128", "overlap": "32"})
		if l.Tiling != want.tiling || len(l.Tiles) != want.tiles {
			t.Errorf("%q: %s tiles, %d of them: %s", how, l.Tiling, len(l.Tiles), end.Message)
		}
		if exact := want.tiling == vae.Exact; exact && (l.Untiled != one.Bytes || l.Halo == "0x0") || !exact && (l.Untiled != 0 || l.Halo != "0x0") {
			t.Errorf("%q: %d bytes in one tile, halo %s", how, l.Untiled, l.Halo)
		}
	}
	if l, _ := plan(map[string]any{"tiling": "diffusers"}); l.Tile != "256x256" || l.Overlap != "64x64" {
		t.Errorf("diffusers' own: tile %s, overlap %s", l.Tile, l.Overlap)
	}
	if l, _ := plan(map[string]any{"direction": "encode", "frames": 3, "height": 40, "width": 40, "independent": true}); l.Frames != 3 || !l.Independent {
		t.Errorf("three pictures: %+v", l)
	}
	if _, end := plan(map[string]any{"tiling": "mosaic"}); end.Code != "bad_input" || !strings.Contains(end.Message, `tiling "mosaic"`) {
		t.Errorf("%s: %s", end.Code, end.Message)
	}
	p.use(100, 1, "small.safetensors")
	if _, end := plan(map[string]any{"tiling": "exact", "height": 4, "width": 4}); end.Code != "bad_input" || !strings.Contains(end.Message, "SeedVR2") {
		t.Errorf("%s: %s", end.Code, end.Message)
	}
}

// Exact tiles give the frames of one tile, to a code.
func TestExactTiles(t *testing.T) {
	p, _ := start(t)
	p.files[10] = wan(t, synthetic.WanConfig{Latent: 4})
	p.use(5, 10, "wan.safetensors")
	one := p.decode(6, 2, "z.safetensors", map[string]any{"tile": "off"})
	tiled := p.decode(7, 2, "z.safetensors", map[string]any{"tile": "16", "tiling": "exact"})
	if len(one) != 9 || len(tiled) != 9 {
		t.Fatalf("%d and %d frames", len(one), len(tiled))
	}
	for i := range one {
		for k := range one[i] {
			if d := int(one[i][k]) - int(tiled[i][k]); d < -1 || d > 1 {
				t.Fatalf("frame %d, value %d: %d, in one tile %d", i, k, tiled[i][k], one[i][k])
			}
		}
	}
}

// Whether frames are pictures by themselves is told by the request, else by
// who wrote the latent, else by the model.
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
		if err := json.Unmarshal(end.Value, &info); err != nil {
			t.Fatal(err)
		}
		n := len(p.decode(id+1, file, "z.safetensors", o))
		if info.Clip.Frames != n || info.Independent != (n == 3) {
			t.Errorf("inspected as %+v, decoded to %d frames", info, n)
		}
		return n
	}
	p.use(5, 10, "wan.safetensors")
	yes, no := map[string]any{"independent": true}, map[string]any{"independent": false}
	if n, m, k := frames(2, nil), frames(2, yes), frames(4, nil); n != 9 || m != 3 || k != 3 {
		t.Errorf("a clip's model: %d frames, as pictures %d, of pictures %d", n, m, k)
	}
	p.use(6, 10, "qwen_image_vae.safetensors")
	if n, m, k := frames(2, nil), frames(2, no), frames(3, nil); n != 3 || m != 9 || k != 9 {
		t.Errorf("a model of pictures: %d frames, as a clip %d, of an encoded clip %d", n, m, k)
	}
	encode := map[string]any{"type": "encode", "clip": map[string]any{"frames": 3, "height": 16, "width": 24}}
	end, all := p.run(100, encode)
	i := slices.IndexFunc(all, func(m message) bool { return m.Type == "latent" })
	if i < 0 {
		t.Fatal(end.Message)
	}
	l, err := media.DecodeLatent(bytes.NewReader(all[i].payload), int64(len(all[i].payload)), "z.safetensors", 4)
	if err != nil || l.Frames != 3 || l.Meta[latent.MetaImages] != "true" {
		t.Errorf("three pictures: %v, %v, %v", l.Shape(), l.Meta, err)
	}
}

// In ComfyUI's files Wan's latents are the model's own numbers, elsewhere the
// pipeline's; both decode to the same.
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
		l, err := media.DecodeLatent(bytes.NewReader(data), int64(len(data)), "z"+format, 16)
		if err != nil {
			t.Fatal(err)
		}
		latents[format], p.files[20+i] = l, data
	}
	scaled, own := latents[".safetensors"], latents[".latent"]
	if scaled.Meta[latent.MetaScale] != latent.ScalePipeline || own.Meta[latent.MetaScale] != latent.ScaleNone {
		t.Errorf("metadata %v and %v", scaled.Meta, own.Meta)
	}
	// Channel 0 of Wan 2.1: mean -0.7571, deviation 2.8184.
	if d := (own.Data[0]+0.7571)/2.8184 - scaled.Data[0]; d > 1e-5 || d < -1e-5 {
		t.Errorf("%v scaled is %v", own.Data[0], scaled.Data[0])
	}
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
	if !same("own numbers", p.decode(31, 21, "z.latent", nil)) {
		t.Error(".latent decodes to something else")
	}
	// As ComfyUI writes it: no word on its scale.
	own.Meta = nil
	var b bytes.Buffer
	if err := media.EncodeLatent(&b, "z.latent", own); err != nil {
		t.Fatal(err)
	}
	p.files[22] = b.Bytes()
	if !same("ComfyUI", p.decode(32, 22, "z.latent", nil)) {
		t.Error("ComfyUI's .latent decodes to something else")
	}
	if same("ComfyUI's taken for a pipeline's", p.decode(33, 22, "z.latent", map[string]any{"scale": "pipeline"})) {
		t.Error("the scale makes no difference")
	}
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
		l, err := media.DecodeLatent(bytes.NewReader(data), int64(len(data)), "z.safetensors", 4)
		if err != nil || len(frames) != 1 {
			t.Fatalf("%d frames, %v: %s", len(frames), err, end.Message)
		}
		return l.Data, frames
	}
	opaque, frames := latent(6, 255)
	clear, _ := latent(7, 0)
	if slices.Equal(opaque, clear) {
		t.Error("alpha makes no difference to the latent")
	}
	values := map[byte]bool{}
	for i := 3; i < len(frames[0]); i += 4 {
		values[frames[0][i]] = true
	}
	if len(values) < 3 {
		t.Errorf("alpha has the values %v only", values)
	}
}

package vae

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
)

// wanTensor is a line of testdata/wan_names.txt, which was written from the
// published classes: family, original name, diffusers' name, shape.
type wanTensor struct{ family, original, diffusers, shape string }

func wanTensors(t *testing.T) []wanTensor {
	text, err := os.ReadFile("testdata/wan_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []wanTensor
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		all = append(all, wanTensor{f[0], f[1], f[2], f[3]})
	}
	return all
}

// Both Wans of the published size have these tensors, under these names.
func TestWanNames(t *testing.T) {
	for _, family := range []string{wan21, wan22} {
		n := &wanNames{nested: family == wan22, blocks: 2}
		published := map[string]string{}
		for _, w := range wanTensors(t) {
			if w.family != family {
				continue
			}
			published[w.original] = w.shape
			if got := n.diffusers(w.original); got != w.diffusers {
				t.Errorf("%s: %s is %s, diffusers has %s", family, w.original, got, w.diffusers)
			}
		}
		c := Config{Family: family, Latent: 16, Blocks: 2, Channels: 3, Patch: 1, Widths: []int{96, 192, 384, 384}, Decoder: []int{384, 384, 192, 96},
			TimeDown: []bool{false, true, true}, TimeUp: []bool{true, true, false}}
		if family == wan22 {
			c.Latent, c.Patch, c.Widths, c.Decoder = 48, 2, []int{160, 320, 640, 640}, []int{1024, 1024, 512, 256}
		}
		m, err := newModel(c.family(), c, 0, 0, gpu.Info{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.specs) != len(published) {
			t.Errorf("%s: the layers need %d tensors, the file has %d", family, len(m.specs), len(published))
		}
		for _, s := range m.specs {
			shape := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.shape), " ", "x"), "[]")
			if published[s.name] != shape {
				t.Errorf("%s: %s is %s, published is %q", family, s.name, shape, published[s.name])
			}
		}
	}
}

// The sizes of published files follow from names, shapes and types alone.
func TestPublishedWanFiles(t *testing.T) {
	count := func(family string, dtype safetensors.DType, diffusers bool, metadata map[string]string) int64 {
		var specs []safetensors.Spec
		for _, w := range wanTensors(t) {
			if w.family != family {
				continue
			}
			s := safetensors.Spec{Name: w.original, DType: dtype}
			if diffusers {
				s.Name = (&wanNames{nested: family == wan22, blocks: 2}).diffusers(w.original)
			}
			for _, d := range strings.Split(w.shape, "x") {
				var n int
				fmt.Sscan(d, &n)
				s.Shape = append(s.Shape, n)
			}
			specs = append(specs, s)
		}
		slices.SortFunc(specs, func(a, b safetensors.Spec) int { return strings.Compare(a.Name, b.Name) })
		header, data, err := safetensors.Size(specs, metadata)
		if err != nil {
			t.Fatal(err)
		}
		return 8 + header + data
	}
	pt := map[string]string{"format": "pt"}
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"wan2.2_vae.safetensors", count(wan22, safetensors.F16, false, nil), 1_409_400_960},
		{"Wan 2.1 of diffusers", count(wan21, safetensors.F32, true, pt), 507_591_892},
		{"Wan 2.2 of diffusers", count(wan22, safetensors.F32, true, pt), 2_818_777_808},
	} {
		if c.got != c.want {
			t.Errorf("%s would have %d bytes, published %d", c.name, c.got, c.want)
		}
	}
}

// inLayouts writes the same weights under the original names, diffusers' names
// and as a torch zip.
func inLayouts(t *testing.T, c synthetic.WanConfig) map[string]string {
	c.Latent, c.DType = 4, safetensors.F32
	dir := t.TempDir()
	paths := map[string]string{}
	for layout, name := range map[string]func(string) string{"original": nil, "diffusers": (&wanNames{nested: c.Nested, blocks: 2}).diffusers} {
		c.Name = name
		paths[layout] = filepath.Join(dir, layout+".safetensors")
		if err := synthetic.CreateWan(paths[layout], c); err != nil {
			t.Fatal(err)
		}
	}
	for _, layout := range []string{"original", "diffusers"} {
		f, err := safetensors.Open(paths[layout])
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		paths[layout+" pth"] = filepath.Join(dir, layout+".pth")
		if err := pthtest.Convert(paths[layout+" pth"], f, pthtest.Options{Ordered: layout == "original"}); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// The layouts of a checkpoint are one model: the same bits come out.
func TestLayoutsAreOneModel(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []synthetic.WanConfig{{Dim: 4}, {Nested: true, Dim: 4, Decoder: 8}} {
		var video, latent []float32
		for layout, path := range inLayouts(t, c) {
			m := open(t, dev, path, F32)
			if want, _, _ := strings.Cut(layout, " "); m.Config.Layout != want {
				t.Errorf("%s is taken for %s", layout, m.Config.Layout)
			}
			s := m.Config.Spatial
			z := Latent{Channels: 4, Frames: 2, Height: 2, Width: 2, Data: noise(4 * 2 * 4)}
			clip := floats{5, 2 * s, s, noise(3 * 5 * 2 * s * s)}
			v, l := decodeAll(t, m, z, DecodeOptions{}), encodeAll(t, m, clip, EncodeOptions{})
			if video == nil {
				video, latent = v, l
			}
			if !slices.Equal(v, video) || !slices.Equal(l, latent) {
				t.Errorf("nested %v, %s: another result", c.Nested, layout)
			}
		}
	}
}

// What names and shapes tell, for widths of no published model.
func TestWanConfigs(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits}
	dir := t.TempDir()
	for _, c := range []struct {
		file   string
		config synthetic.WanConfig
		beside string // config.json
		want   Config
	}{
		{"a.safetensors", synthetic.WanConfig{Dim: 12, Decoder: 20, Latent: 16}, "", Config{
			Family: wan21, Model: "Wan 2.1", Widths: []int{12, 24, 48, 48}, Decoder: []int{80, 80, 40, 20}, Latent: 16, Spatial: 8, Channels: 3, Patch: 1}},
		{"b.safetensors", synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 12, Latent: 48}, "", Config{
			Family: wan22, Model: "Wan 2.2", Widths: []int{4, 8, 16, 16}, Decoder: []int{48, 48, 24, 12}, Latent: 48, Spatial: 16, Channels: 3, Patch: 2}},
		{"qwen_image_vae.safetensors", synthetic.WanConfig{Dim: 4, Latent: 16}, "", Config{
			Family: wan21, Model: "Qwen-Image", Widths: []int{4, 8, 16, 16}, Decoder: []int{16, 16, 8, 4}, Latent: 16, Spatial: 8, Channels: 3, Patch: 1, Independent: true}},
		{"layered.safetensors", synthetic.WanConfig{Dim: 4, Latent: 16, Channels: 4}, "", Config{
			Family: wan21, Model: "Qwen-Image-Layered", Widths: []int{4, 8, 16, 16}, Decoder: []int{16, 16, 8, 4}, Latent: 16, Spatial: 8, Channels: 4, Patch: 1, Independent: true}},
		{"vae/diffusion_pytorch_model.safetensors", synthetic.WanConfig{Dim: 4, Latent: 16}, `{"_class_name": "AutoencoderKLQwenImage"}`, Config{
			Family: wan21, Model: "Qwen-Image", Widths: []int{4, 8, 16, 16}, Decoder: []int{16, 16, 8, 4}, Latent: 16, Spatial: 8, Channels: 3, Patch: 1, Independent: true}},
	} {
		path := filepath.Join(dir, c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if c.beside != "" {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), "config.json"), []byte(c.beside), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := synthetic.CreateWan(path, c.config); err != nil {
			t.Fatal(err)
		}
		m, err := Inspect(path, a, Settings{Precision: F32})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		got := m.Config
		if len(got.Mean) != got.Latent || len(got.Scale) != got.Latent {
			t.Errorf("%s: statistics of %d channels, expected %d", c.file, len(got.Mean), got.Latent)
		}
		got.Mean, got.Scale = nil, nil
		c.want.Layout, c.want.Blocks, c.want.Temporal = "original", 2, 4
		c.want.Tilings, c.want.ComfyUIUnscaled = []Tiling{Exact, Feather, Diffusers}, true
		c.want.TimeDown, c.want.TimeUp = []bool{false, true, true}, []bool{true, true, false}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.file, got, c.want)
		}
	}
}

// A few of the published statistics, by channel.
func TestWanStatistics(t *testing.T) {
	for _, s := range []struct {
		family    string
		latent    int
		channel   int
		mean, std float64
	}{
		{wan21, 16, 0, -0.7571, 2.8184}, {wan21, 16, 7, 1.5508, 2.0743}, {wan21, 16, 15, -0.2921, 1.9160},
		{wan22, 48, 0, -0.2289, 0.4765}, {wan22, 48, 21, -0.2108, 1.4146}, {wan22, 48, 47, -0.0667, 0.7744},
	} {
		c := Config{Family: s.family, Latent: s.latent}
		c.statistics()
		scale, mean := c.scale(s.channel)
		if mean != s.mean || math.Abs(scale*s.std-1) > 1e-12 {
			t.Errorf("%s channel %d: mean %v, scale %v", s.family, s.channel, mean, scale)
		}
	}
	sums := [4]float64{}
	for i, list := range [][]float64{wan21Mean, wan21Std, wan22Mean, wan22Std} {
		for _, v := range list {
			sums[i] += v
		}
	}
	// Added up from the published tables.
	for i, want := range []float64{-0.7332, 34.2747, -0.5589, 32.536} {
		if math.Abs(sums[i]-want) > 1e-9 {
			t.Errorf("table %d adds up to %.4f, want %.4f", i, sums[i], want)
		}
	}
}

// A pipeline's latent is the model's own, less the mean, over the deviation.
func TestWanScaling(t *testing.T) {
	dev := gputest.Open(t)
	path := wan(t, "scaled", synthetic.WanConfig{Dim: 4, DType: safetensors.F32})
	m := open(t, dev, path, F32)
	clip := floats{1, 16, 16, noise(3 * 256)}
	own := encodeAll(t, m, clip, EncodeOptions{Options: Options{Unscaled: true}})
	scaled := encodeAll(t, m, clip, EncodeOptions{})
	for i, v := range own {
		c := i / 4
		if want := (float64(v) - wan21Mean[c]) / wan21Std[c]; math.Abs(float64(scaled[i])-want) > 1e-6 {
			t.Fatalf("element %d is %v, want %v", i, scaled[i], want)
		}
	}
	a := decodeAll(t, m, Latent{Channels: 16, Frames: 1, Height: 2, Width: 2, Data: own}, DecodeOptions{Options: Options{Unscaled: true}})
	b := decodeAll(t, m, Latent{Channels: 16, Frames: 1, Height: 2, Width: 2, Data: scaled}, DecodeOptions{})
	if e := nmse(b, a); !(e < 1e-9) {
		t.Errorf("scaled: NMSE %.3g from the model's own", e)
	}
}

// Pixels are clamped, but for the model's own.
func TestWanClamps(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, wan22Checkpoint(t), F32) // four channels have no statistics
	z := Latent{Channels: 4, Frames: 1, Height: 2, Width: 3, Data: noise(24)}
	own := decodeAll(t, m, z, DecodeOptions{Options: Options{Unscaled: true}})
	clamped := decodeAll(t, m, z, DecodeOptions{})
	outside := 0
	for i, v := range own {
		if v < -1 || v > 1 {
			outside++
		}
		if clamped[i] != min(max(v, -1), 1) {
			t.Fatalf("element %d is %v, the model's own %v", i, clamped[i], v)
		}
	}
	if outside == 0 {
		t.Error("nothing to clamp")
	}
}

// Sizes that no latent has are padded and trimmed, in both directions.
func TestWanPadding(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []synthetic.WanConfig{{Dim: 4}, {Nested: true, Dim: 4, Decoder: 4}} {
		m := open(t, dev, tiny(t, c), F32)
		s := m.Config.Spatial
		z, err := m.Encode(context.Background(), floats{7, s + 5, 2*s - 3, noise(3 * 7 * (s + 5) * (2*s - 3))}, EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if z.Frames != 3 || z.Height != 2 || z.Width != 2 {
			t.Fatalf("%s: latent of %d frames of %dx%d", m.Config.Model, z.Frames, z.Height, z.Width)
		}
		if v := decodeAll(t, m, z, DecodeOptions{Frames: 7, Height: s + 5, Width: 2*s - 3}); len(v) != 3*7*(s+5)*(2*s-3) {
			t.Errorf("%s: %d numbers", m.Config.Model, len(v))
		}
	}
}

// One latent frame at a time, as the reference, or more: one function.
func TestWanChunks(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range []synthetic.WanConfig{{Dim: 4}, {Nested: true, Dim: 4, Decoder: 4}} {
		m := open(t, dev, tiny(t, c), F32)
		s := m.Config.Spatial
		z, clip := Latent{Channels: 4, Frames: 6, Height: 2, Width: 1, Data: noise(4 * 6 * 2)}, floats{21, s, 2 * s, noise(3 * 21 * 2 * s * s)}
		var video, latent []float32
		for _, chunk := range []int{1, 2, 3, 5, 9} {
			o := Options{Chunk: chunk}
			l, err := m.PlanDecode(6, 2, 1, DecodeOptions{Options: o})
			if err != nil || l.Slices != 1+(5+chunk-1)/chunk {
				t.Errorf("%s in chunks of %d: %d slices, %v", m.Config.Model, chunk, l.Slices, err)
			}
			v, e := decodeAll(t, m, z, DecodeOptions{Options: o}), encodeAll(t, m, clip, EncodeOptions{Options: o})
			if video == nil {
				video, latent = v, e
			}
			if a, b := nmse(v, video), nmse(e, latent); !(a <= 1e-11 && b <= 1e-11) {
				t.Errorf("%s in chunks of %d: NMSE %.3g and %.3g from chunks of one", m.Config.Model, chunk, a, b)
			}
		}
	}
}

// Independent frames are pictures by themselves, however many there are.
func TestIndependentFrames(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, tiny(t, synthetic.WanConfig{Dim: 4, Channels: 4}), F32)
	clip := floats{3, 16, 16, noise(4 * 3 * 256)}
	z, err := m.Encode(context.Background(), clip, EncodeOptions{Options: Options{Independent: true}})
	if err != nil || z.Frames != 3 {
		t.Fatalf("%d latent frames of 3 pictures: %v", z.Frames, err)
	}
	video := decodeAll(t, m, z, DecodeOptions{Options: Options{Independent: true}})
	for f := range 3 {
		one := floats{1, 16, 16, nil}
		for c := range 4 {
			one.v = append(one.v, clip.v[(c*3+f)*256:][:256]...)
		}
		a := encodeAll(t, m, one, EncodeOptions{})
		b := make([]float32, 0, len(a))
		for c := range 4 {
			b = append(b, z.Data[(c*3+f)*4:][:4]...)
		}
		if !slices.Equal(a, b) {
			t.Errorf("picture %d has another latent in a row of three", f)
		}
		a = decodeAll(t, m, Latent{Channels: 4, Frames: 1, Height: 2, Width: 2, Data: b}, DecodeOptions{})
		b = b[:0]
		for c := range 4 {
			b = append(b, video[(c*3+f)*256:][:256]...)
		}
		if !slices.Equal(a, b) {
			t.Errorf("latent %d is another picture in a row of three", f)
		}
	}
	n := 0
	for f, err := range m.Decode(context.Background(), z, DecodeOptions{RGBA8: true, Options: Options{Independent: true}}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range f.RGBA {
			at := video[(i%4*3+n)*256+i/4]
			if want := math.Floor((float64(min(max(at, -1), 1))+1)*127.5 + 0.5); math.Abs(float64(b)-want) > 0 {
				t.Fatalf("picture %d byte %d is %d, want %v of %v", n, i, b, want, at)
			}
		}
		n++
	}
	if _, err := m.Encode(context.Background(), floats{1, 16, 16, noise(3 * 256)}, EncodeOptions{}); err == nil || !strings.Contains(err.Error(), "clip has 3 channels") {
		t.Errorf("a clip without alpha: %v", err)
	}
}

// For one picture only the last temporal tap is computed: a third of the work.
func TestOneFrameComputesOneTap(t *testing.T) {
	m, err := Inspect(wan21Checkpoint(t), gpu.Info{Limits: gpu.DefaultLimits, Memory: 8 << 30}, Settings{Precision: F32})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	one, err := m.PlanDecode(1, 8, 8, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Steady frames: the difference of two lengths, four pixel frames a latent frame.
	long, _ := m.PlanDecode(9, 8, 8, DecodeOptions{})
	longer, _ := m.PlanDecode(10, 8, 8, DecodeOptions{})
	steady := float64(longer.Cost.FLOPs-long.Cost.FLOPs) / 4
	t.Logf("one frame %d FLOPs, a steady one %.0f", one.Cost.FLOPs, steady)
	// The middle runs at a quarter of the frame rate, so one picture has more of it.
	if ratio := float64(one.Cost.FLOPs) / steady; ratio > 0.62 {
		t.Errorf("one frame takes %.2f of a steady one", ratio)
	}
}

func TestFlatFileIsRefused(t *testing.T) {
	path := tiny(t, synthetic.WanConfig{Dim: 4})
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flat := filepath.Join(t.TempDir(), "flat.safetensors")
	out, err := os.Create(flat)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var specs []safetensors.Spec
	for _, name := range f.Names() {
		x, _ := f.Tensor(name)
		specs = append(specs, safetensors.Spec{Name: name, DType: x.DType, Shape: x.Shape})
	}
	w, err := safetensors.NewWriter(out, specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		x, _ := f.Tensor(s.Name)
		v := make([]float32, x.Elements())
		if s.Name != "conv1.weight" && s.Name != "conv2.weight" {
			if err := x.ReadF32(v, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Begin(s.Name), w.WriteF32(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a := gpu.Info{Limits: gpu.DefaultLimits}
	if _, err := Inspect(flat, a, Settings{}); !errors.Is(err, ErrFlat) || !errors.Is(err, ErrBadModel) || !strings.Contains(err.Error(), "conv2.weight") {
		t.Errorf("a flat file: %v", err)
	}
	m, err := Inspect(flat, a, Settings{Force: true})
	if err != nil {
		t.Fatalf("forced: %v", err)
	}
	m.Close()
}

// What is wrong with a file is told under the file's own names.
func TestUnfitWan(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	n := &wanNames{blocks: 2}
	err := synthetic.CreateWan(path, synthetic.WanConfig{Dim: 4, Latent: 4, Name: func(name string) string {
		if name == "decoder.head.0.gamma" {
			return "decoder.norm.gamma"
		}
		return n.diffusers(name)
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Inspect(path, a, Settings{})
	for _, want := range []string{"1 missing: decoder.norm_out.gamma", "1 unknown: decoder.norm.gamma"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("message lacks %q: %v", want, err)
		}
	}
}

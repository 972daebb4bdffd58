package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tessera/app/job"
	"tessera/tests/synthetic"
)

// The demo prints the quality that the model's README promises, and leaves all
// that it lists.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo takes half a minute on a processor")
	}
	needDevice(t)
	dir := filepath.Join(t.TempDir(), "a", "demo")
	r := succeedJSON(t, "demo", "-o", dir)
	if math.Abs(float64(r.Quality.PSNR)-30.23) > 0.01 || math.Abs(r.Quality.SSIM-0.832) > 0.0005 {
		t.Errorf("PSNR %.3f dB and SSIM %.4f, the model's README says 30.23 and 0.832", float64(r.Quality.PSNR), r.Quality.SSIM)
	}
	if first := float64(r.Quality.Frames[0].PSNR); math.Abs(first-32.3) > 0.05 {
		t.Errorf("first frame %.2f dB, README 32.3", first)
	}
	if len(r.Quality.Frames) != 17 || r.Frames != 17 || r.Height != 256 || r.Width != 256 {
		t.Errorf("%d frames of %dx%d", r.Frames, r.Height, r.Width)
	}
	want := []string{"decoded", "latent.safetensors", "sheet.png"}
	if haveFFmpeg() {
		want = append(want, "decoded.mp4")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != len(want) || len(r.Outputs) != len(want) {
		t.Errorf("there are %v, listed %v", files, r.Outputs)
	}
	if frames, _ := filepath.Glob(filepath.Join(dir, "decoded", "frame_*.png")); len(frames) != 17 {
		t.Errorf("%d decoded frames", len(frames))
	}
	if img := readPNG(t, filepath.Join(dir, "sheet.png")); img.Bounds().Dx() < 3*256 || img.Bounds().Dy() < 4*256 {
		t.Errorf("the sheet is %v", img.Bounds())
	}
	z, _ := readTensor(t, filepath.Join(dir, "latent.safetensors"))
	if len(z.data) != 16*5*32*32 {
		t.Errorf("latent %v", z.shape)
	}
}

// The demo runs its clip through any checkpoint. That of pictures with alpha
// has no mp4.
func TestDemoModel(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo takes seconds on a processor")
	}
	needDevice(t)
	dir := t.TempDir()
	model := wan(t, "narrow_layered.safetensors", synthetic.WanConfig{Dim: 4, Latent: 4, Channels: 4})
	o := succeed(t, "demo", "-m", model, "-o", dir)
	for _, word := range []string{"encoded  17 frames of 256x256", "decoded  17", "one tile", "sheet.png"} {
		if !strings.Contains(o.stdout, word) {
			t.Errorf("no %q in\n%s", word, o.stdout)
		}
	}
	if !strings.Contains(o.stderr, "with Qwen-Image-Layered, narrow_layered.safetensors") {
		t.Errorf("it says\n%s", o.stderr)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 3 {
		t.Errorf("there are %v", files)
	}
	decodePNG(t, filepath.Join(dir, "decoded", "frame_0016.png"))
	z, meta := readTensor(t, filepath.Join(dir, "latent.safetensors"))
	if !slices.Equal(z.shape, []int{4, 17, 32, 32}) || meta["tessera.images"] != "true" {
		t.Errorf("latent %v, metadata %v", z.shape, meta)
	}
}

func TestInfoWan(t *testing.T) {
	for _, c := range []struct {
		model, name, family string
		words               []string
	}{
		{wan21(t), "Wan 2.1", "wan2.1", []string{"4, 8, 16, 16, 2 blocks", "16, 16, 8, 4, 3 blocks", "mean -0.9497 to 1.5508, deviation 1.1253 to 3.2687", "1 frame for 4", "Decoding clips"}},
		{wan22(t), "Wan 2.2", "wan2.2", []string{"patches of 2x2", "48 channels", "16x16 pixels", "mean -0.2944 to 0.5109, deviation 0.3523 to 1.6887"}},
		{qwen(t), "Qwen-Image", "wan2.1", []string{"1 frame for a picture", "--no-independent-frames", "Decoding pictures"}},
		{layered(t), "Qwen-Image-Layered", "wan2.1", []string{"RGB and alpha", "none known for 4 channels"}},
	} {
		o := succeed(t, "info", c.model)
		for _, word := range append(c.words, c.name+" VAE ("+c.family+")", "safetensors, original names", "RMS norm", "in one tile", "exact tiles of 512") {
			if !strings.Contains(o.stdout, word) {
				t.Errorf("%s: no %q in\n%s", c.name, word, o.stdout)
			}
		}
		var m modelInfo
		if err := json.Unmarshal([]byte(succeed(t, "info", c.model, "--json").stdout), &m); err != nil {
			t.Fatal(err)
		}
		if m.Model != c.name || m.Family != c.family || len(m.Needs) != 3 || m.Needs[0].Exact != m.Needs[0].Whole || m.Needs[2].Exact <= 0 || m.Needs[2].GFLOPs <= 0 {
			t.Errorf("%+v", m)
		}
	}
	// A .pth that is none is told as such, not as a video.
	bad := filepath.Join(t.TempDir(), "bad.pth")
	write(t, bad, []byte("PK\x03\x04 and nothing of a zip"))
	if o := tessera(t, "info", bad); o.code != job.ExitInput || !strings.Contains(o.stderr, "bad.pth") || strings.Contains(o.stderr, "ffmpeg") {
		t.Errorf("of a broken .pth: %+v", o)
	}
}

func TestInfo(t *testing.T) {
	var m modelInfo
	if err := json.Unmarshal([]byte(succeed(t, "info", tiny, "--json").stdout), &m); err != nil {
		t.Fatal(err)
	}
	if m.Kind != "model" || m.Family != "seedvr2" || m.Tensors != 250 || m.Parameters != 2_550_187 || m.DTypes["F16"] != 250 ||
		m.Config.Latent != 16 || m.Config.Groups != 8 || m.Bytes != 5_127_934 {
		t.Errorf("%+v", m)
	}
	if len(m.Needs) != 3 || m.Needs[0].Tiled <= 0 || m.Needs[1].Tiled < m.Needs[0].Tiled {
		t.Errorf("needs %+v", m.Needs)
	}
	o := succeed(t, "info", tiny)
	for _, word := range []string{"SeedVR2 VAE (seedvr2)", "scaling 0.9152, shift 0", "in tiles of 512", "24, 32, 48, 48", "2,550,187 in 250 tensors", "250 F16", "16 channels", "512x512", "720x1280", "1080x1920", "GiB"} {
		if !strings.Contains(o.stdout, word) {
			t.Errorf("no %q in\n%s", word, o.stdout)
		}
	}
	// Without a device it still tells.
	o = tesseraEnv(t, []string{"TESSERA_DAWN=/nonexistent"}, "info", tiny)
	if o.code != 0 || !strings.Contains(o.stderr, "default limits") || !strings.Contains(o.stdout, "2,550,187") {
		t.Errorf("without Dawn: %+v", o)
	}
	if o := succeed(t, "info", latentFile(t, 16, 2, 3, 4)); !strings.Contains(o.stdout, "latent of 16 channels, 2 frames, 3x4 cells") {
		t.Errorf("of a latent it says %s", o.stdout)
	}
	if o := succeed(t, "info", demoClip(t, 2, 10, 12)); !strings.Contains(o.stdout, "video of 2 frames of 10x12") {
		t.Errorf("of a video it says %s", o.stdout)
	}
	layers := filepath.Join(t.TempDir(), "layers.npy")
	write(t, layers, npy([]int{4, 3, 2, 5}, make([]float32, 120)))
	if o := succeed(t, "info", layers); !strings.Contains(o.stdout, "video of 3 frames of 2x5") {
		t.Errorf("of layers it says %s", o.stdout)
	}
}

func TestDevices(t *testing.T) {
	needDevice(t)
	o := succeed(t, "devices")
	for _, word := range []string{"* ", "f16", "subgroups", "binding", "workgroups", "Dawn: "} {
		if !strings.Contains(o.stdout, word) {
			t.Errorf("no %q in\n%s", word, o.stdout)
		}
	}
	var list struct {
		Library string
		Devices []device
	}
	if err := json.Unmarshal([]byte(succeed(t, "devices", "--json").stdout), &list); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for i, d := range list.Devices {
		if d.Index != i || d.Name == "" || d.Limits.MaxBuffer == 0 || d.Budget == 0 {
			t.Errorf("device %d: %+v", i, d)
		}
		if d.Taken {
			taken++
		}
	}
	if taken != 1 || list.Library == "" {
		t.Errorf("%d are taken, library %q", taken, list.Library)
	}
}

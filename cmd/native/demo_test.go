package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"
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
	for _, word := range []string{"seedvr2", "24, 32, 48, 48", "2,550,187 in 250 tensors", "250 F16", "16 channels", "512x512", "720x1280", "1080x1920", "GiB"} {
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

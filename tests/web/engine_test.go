package web

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
	"tessera/tiling"
	"tessera/vae"
)

const model = root + "/assets/tiny-seedvr2.safetensors"

// swiftShader is the driver that Chromium brings, so that both sides run the
// same.
const swiftShader = "/usr/lib/chromium/vk_swiftshader_icd.json"

// gathered is what engine_test.js collects of a job.
type gathered struct {
	Frames  []picture `json:"frames"`
	Tiles   []picture `json:"tiles"`
	Quality []struct {
		Index *int     `json:"index"`
		PSNR  *float64 `json:"psnr"`
		SSIM  float64  `json:"ssim"`
	} `json:"quality"`
	Progress []struct {
		Done float64 `json:"done"`
	} `json:"progress"`
	Layouts []map[string]any `json:"layouts"`
	Loaded  int64            `json:"loaded"`
	Latent  []byte           `json:"latent"`
	Done    struct {
		Seconds    float64 `json:"seconds"`
		PeakBytes  int64   `json:"peakBytes"`
		HostBytes  int64   `json:"hostBytes"`
		Operations []struct {
			Name    string  `json:"name"`
			Seconds float64 `json:"seconds"`
		} `json:"operations"`
	} `json:"done"`
	Order []string `json:"order"`
}

type picture struct {
	Index  int    `json:"index"`
	Tile   int    `json:"tile"`
	Frame  int    `json:"frame"`
	Y      int    `json:"y"`
	X      int    `json:"x"`
	Height int    `json:"height"`
	Width  int    `json:"width"`
	RGBA   []byte `json:"rgba"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// native is the same engine through Dawn, on SwiftShader.
func native(t *testing.T) *vae.Model {
	t.Helper()
	if _, err := os.Stat(swiftShader); err == nil && os.Getenv("VK_DRIVER_FILES") == "" {
		t.Setenv("VK_DRIVER_FILES", swiftShader)
		t.Setenv("VK_ICD_FILENAMES", swiftShader)
	}
	dev := gputest.Open(t)
	if !strings.Contains(dev.Info().Name, "SwiftShader") {
		t.Skipf("the adapter is %s, expected SwiftShader, which Chromium runs on: VK_DRIVER_FILES=%s", dev.Info().Name, swiftShader)
	}
	m, err := vae.Open(dev, model, vae.Settings{Precision: vae.F32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// clip is a moving gradient, RGBA.
func clip(frames, h, w int) []byte {
	var b []byte
	for t := range frames {
		for y := range h {
			for x := range w {
				b = append(b, byte(5*x+9*t), byte(6*y+3*t), byte(4*(x+y)), 255)
			}
		}
	}
	return b
}

// rgbaClip is a clip in memory.
type rgbaClip struct {
	frames, h, w int
	rgba         []byte
}

func (c rgbaClip) Frames() int      { return c.frames }
func (c rgbaClip) Size() (int, int) { return c.h, c.w }
func (c rgbaClip) Channels() int    { return 3 }
func (c rgbaClip) ReadFrame(t int, dst []float32) error {
	media.FromRGBA(dst, c.rgba[4*t*c.h*c.w:], 3)
	return nil
}

// nmse is the squared error in units of the reference's power.
func nmse[E byte | float32](got, want []E) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var e, p float64
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		e += d * d
		p += float64(want[i]) * float64(want[i])
	}
	return e / p
}

// TestEngineInChromium uses the engine as the page does, and compares with the
// native engine on the same driver.
func TestEngineInChromium(t *testing.T) {
	chromium(t)
	m := native(t)
	s := serve(t, map[string]string{"tessera.wasm": buildWASM(t), "model.safetensors": model}, "testdata", root+"/web")
	page := tab(t, s.URL+"/engine.html")

	opened := eval[struct {
		Device struct {
			Name    string `json:"name"`
			Backend string `json:"backend"`
		} `json:"device"`
		Model struct {
			Family     string `json:"family"`
			Parameters int64  `json:"parameters"`
			Precision  string `json:"precision"`
		} `json:"model"`
	}](t, page, `test.open('model.safetensors')`)
	t.Logf("%+v", opened)
	if sum := m.Summary(); opened.Model.Family != "seedvr2" || opened.Model.Parameters != sum.Parameters || opened.Model.Precision != "f32" {
		t.Errorf("opened %+v, expected %+v", opened.Model, sum)
	}

	const frames, h, w = 5, 40, 48
	pixels := clip(frames, h, w)
	tiles := map[string]any{"tile": "32", "overlap": "16"}
	o := vae.Options{Tile: tiling.Choice{Tile: tiling.Square(32)}, Overlap: tiling.Square(16)}

	z, err := m.Encode(context.Background(), rgbaClip{frames, h, w, pixels}, vae.EncodeOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	trip := eval[gathered](t, page, `test.clip('roundtrip', $, $, $)`, map[string]int{"frames": frames, "height": h, "width": w}, pixels, tiles)
	l, err := media.DecodeLatent(bytes.NewReader(trip.Latent), int64(len(trip.Latent)), "z.safetensors", z.Channels)
	if err != nil {
		t.Fatal(err)
	}
	got := nmse(l.Data, z.Data)
	t.Logf("encode: NMSE %.3g from native; %d bytes on the device, %d in wasm", got, trip.Done.PeakBytes, trip.Done.HostBytes)
	if !(got <= 1e-12) {
		t.Errorf("encode: NMSE %.3g from native", got)
	}
	if l.Meta[latent.MetaFrames] != "5" || l.Meta[latent.MetaHeight] != "40" || l.Meta[latent.MetaFPS] != "12" {
		t.Errorf("latent's metadata %v", l.Meta)
	}
	q := media.NewQuality(h, w, 3)
	want := make([]float32, 3*h*w)
	for f, err := range m.Decode(context.Background(), z, vae.DecodeOptions{Options: o, Frames: frames, Height: h, Width: w}) {
		if err != nil {
			t.Fatal(err)
		}
		media.FromRGBA(want, pixels[4*f.Index*h*w:], 3)
		was, now := q.Add(want, f.Pixels), trip.Quality[f.Index]
		if math.Abs(was.PSNR-*now.PSNR) > 1e-6 || math.Abs(was.SSIM-now.SSIM) > 1e-9 {
			t.Errorf("frame %d: quality %+v, expected %+v", f.Index, now, was)
		}
	}
	if all := trip.Quality[len(trip.Quality)-1]; all.Index != nil || math.Abs(*all.PSNR-q.Overall().PSNR) > 1e-6 {
		t.Errorf("overall quality %+v, expected %+v", all, q.Overall())
	}
	checkDecode(t, page, m, trip.Latent, z, tiles, o)
	checkFailures(t, page, trip.Latent, tiles)
	checkPlan(t, page, m, o)
}

// checkDecode compares frames, and that tiles came before them.
func checkDecode(t *testing.T, page context.Context, m *vae.Model, file []byte, z latent.Latent, tiles map[string]any, o vae.Options) {
	t.Helper()
	var previews []vae.Preview
	o.Preview = func(p vae.Preview) error {
		p.RGBA = slices.Clone(p.RGBA)
		previews = append(previews, p)
		return nil
	}
	all := eval[gathered](t, page, `test.decode($, $)`, file, tiles)
	n := 0
	for f, err := range m.Decode(context.Background(), z, vae.DecodeOptions{Options: o, RGBA8: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if n == len(all.Frames) {
			t.Fatalf("%d frames, expected more", n)
		}
		now := all.Frames[n]
		if got := nmse(now.RGBA, f.RGBA); now.Index != f.Index || now.Height != f.Height || now.Width != f.Width || !(got <= 1e-12) {
			t.Errorf("frame %d of %dx%d: NMSE %.3g from native's %d of %dx%d", now.Index, now.Height, now.Width, got, f.Index, f.Height, f.Width)
		}
		n++
	}
	if n != len(all.Frames) || len(previews) != len(all.Tiles) || len(previews) == 0 {
		t.Fatalf("%d frames and %d tiles, expected %d and %d", len(all.Frames), len(all.Tiles), n, len(previews))
	}
	for i, p := range previews {
		now := all.Tiles[i]
		if now.Tile != p.Tile || now.Frame != p.Frame || now.Y != p.Y || now.X != p.X || now.Height != p.Height || !bytes.Equal(now.RGBA, p.RGBA) {
			t.Errorf("tile picture %d is of tile %d, frame %d at %d,%d, expected %d, %d at %d,%d, or differs", i, now.Tile, now.Frame, now.Y, now.X, p.Tile, p.Frame, p.Y, p.X)
		}
	}
	if all.Order[0] != "layout" || all.Order[len(all.Order)-1] != "done" || all.Progress[len(all.Progress)-1].Done != 1 {
		t.Errorf("events %v", all.Order)
	}
	if len(all.Done.Operations) < 4 || all.Done.Operations[0].Name != "conv3d" || all.Done.PeakBytes == 0 {
		t.Errorf("done %+v", all.Done)
	}
}

// checkFailures cancels, breaks, and sees that the engine goes on.
func checkFailures(t *testing.T, page context.Context, file []byte, tiles map[string]any) {
	t.Helper()
	for _, when := range []string{"layout", "tile", "progress"} {
		if f := eval[failure](t, page, `test.cancel($, $, $)`, file, when, tiles); f.Code != "cancelled" {
			t.Errorf("cancelled at the first %s: %+v", when, f)
		}
	}
	for _, c := range []struct {
		name, data, want string
	}{
		{"a.safetensors", "PK\x03\x04 a zip file that is no model", "not a safetensors file"},
		{"b.safetensors", "", "0 bytes"},
		{"c.safetensors", "\x02\x00\x00\x00\x00\x00\x00\x00{}", "not a video VAE"},
	} {
		f := eval[failure](t, page, `test.openBroken($, $)`, c.name, []byte(c.data))
		if f.Code != "bad_input" || !strings.Contains(f.Message, c.name) || !strings.Contains(f.Message, c.want) {
			t.Errorf("%s: %+v, expected %q", c.name, f, c.want)
		}
	}
	if all := eval[gathered](t, page, `test.decode($, {...$, preview: false})`, file, tiles); len(all.Frames) != 5 || len(all.Tiles) != 0 {
		t.Errorf("after failures: %d frames, %d tiles", len(all.Frames), len(all.Tiles))
	}
}

// checkPlan compares a plan, and one that doesn't fit.
func checkPlan(t *testing.T, page context.Context, m *vae.Model, o vae.Options) {
	t.Helper()
	type layout struct {
		Tiles []struct {
			Y int `json:"y"`
			X int `json:"x"`
		} `json:"tiles"`
		Weights    int64  `json:"weights"`
		Arena      int64  `json:"arena"`
		Memory     int64  `json:"memory"`
		Canvas     int64  `json:"canvas"`
		FLOPs      int64  `json:"flops"`
		Fits       bool   `json:"fits"`
		Code       string `json:"code"`
		Problem    string `json:"problem"`
		Suggestion string `json:"suggestion"`
	}
	want, err := m.PlanDecode(3, 30, 40, o)
	if err != nil {
		t.Fatal(err)
	}
	ask := map[string]any{"direction": "decode", "frames": 3, "height": 30, "width": 40, "tile": "32", "overlap": "16"}
	got := eval[layout](t, page, `test.plan($)`, ask)
	if len(got.Tiles) != len(want.Tiles.Tiles) || got.Weights != want.Weights || got.Arena != want.Arena || got.Memory != want.Memory ||
		got.Canvas != want.Canvas || got.FLOPs != want.Cost.FLOPs || !got.Fits {
		t.Errorf("plan %+v, expected %d tiles, %+v", got, len(want.Tiles.Tiles), want.Cost)
	}
	ask["tile"], ask["memory"] = "off", int64(200<<20) // of 309 MiB
	if got = eval[layout](t, page, `test.plan($)`, ask); got.Fits || got.Code != "out_of_memory" || got.Suggestion == "" || got.Problem == "" {
		t.Errorf("plan beyond the budget: %+v", got)
	}
}

// TestLargeCheckpoint runs a model of the published size, read by range. Of its
// 501 MB little may ever be in wasm's memory, which never shrinks.
func TestLargeCheckpoint(t *testing.T) {
	chromium(t)
	if testing.Short() {
		t.Skip("half a gigabyte to the GPU and back takes minutes on a processor")
	}
	path := filepath.Join(t.TempDir(), "full.safetensors")
	if err := synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{}); err != nil {
		t.Fatal(err)
	}
	s := serve(t, map[string]string{"tessera.wasm": buildWASM(t), "full.safetensors": path}, "testdata", root+"/web")
	page := tab(t, s.URL+"/engine.html")
	began := time.Now()
	eval[map[string]any](t, page, `test.open('full.safetensors')`)
	const frames, h, w = 1, 16, 16
	all := eval[gathered](t, page, `test.clip('roundtrip', $, $, {})`, map[string]int{"frames": frames, "height": h, "width": w}, clip(frames, h, w))
	t.Logf("%.0f s; %d MB in wasm, %d MB on the device", time.Since(began).Seconds(), all.Done.HostBytes>>20, all.Done.PeakBytes>>20)
	if all.Done.PeakBytes < 500_000_000 || len(all.Frames) != 1 {
		t.Errorf("%d bytes on the device, %d frames: expected all weights, and one", all.Done.PeakBytes, len(all.Frames))
	}
	if all.Done.HostBytes > 200_000_000 {
		t.Errorf("%d bytes in wasm, expected less than 200 MB", all.Done.HostBytes)
	}
}

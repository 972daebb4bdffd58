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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
	"tessera/vae"
)

const model = root + "/assets/tiny-seedvr2.safetensors"

// swiftShader is Chromium's driver, which native tests also use, so that both sides run
// the same one.
const swiftShader = "/usr/lib/chromium/vk_swiftshader_icd.json"

// gathered is what engine_test.js collects about a job.
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
	Plans  []map[string]any `json:"plans"`
	Loaded int64            `json:"loaded"`
	Latent []byte           `json:"latent"`
	Done   struct {
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

// native opens the same engine through Dawn, on SwiftShader.
func native(t *testing.T) *vae.Model {
	t.Helper()
	if _, err := os.Stat(swiftShader); err == nil && os.Getenv("ADAPTER") != "any" {
		t.Setenv("VK_DRIVER_FILES", swiftShader)
		t.Setenv("VK_ICD_FILENAMES", swiftShader)
	}
	dev := gputest.Open(t)
	if !strings.Contains(dev.Info().Name, "SwiftShader") {
		t.Skipf("the adapter is %s, expected SwiftShader, which Chromium runs on: VK_DRIVER_FILES=%s", dev.Info().Name, swiftShader)
	}
	m, err := vae.Open(dev, model, vae.Settings{Precision: vae.F32})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// clip returns a moving gradient, RGBA.
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

// nmse is the squared error relative to the reference's power.
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

// TestEngineInChromium uses the engine like the page does, and compares with the native
// engine on the same driver.
func TestEngineInChromium(t *testing.T) {
	testenv.Long(t)
	chromium(t)
	m := native(t)
	s := serve(t, map[string]string{"tessera.wasm.gz": buildWASM(t), "model.safetensors": model}, "testdata", root+"/web")
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
	assert.Equal(t, "seedvr2", opened.Model.Family)
	assert.Equal(t, m.Summary().Parameters, opened.Model.Parameters)
	assert.Equal(t, "f32", opened.Model.Precision)

	const frames, h, w = 5, 32, 40 // 2 x 2 tiles, and slices
	pixels := clip(frames, h, w)
	tiles := map[string]any{"tile": "24", "overlap": "8"}
	o := vae.Options{Tile: tiling.Choice{Tile: tiling.Square(24)}, Overlap: tiling.Square(8)}

	z, err := m.Encode(context.Background(), rgbaClip{frames, h, w, pixels}, vae.EncodeOptions{Options: o})
	require.NoError(t, err)
	trip := eval[gathered](t, page, `test.clip('roundtrip', $, $, $)`, map[string]int{"frames": frames, "height": h, "width": w}, pixels, tiles)
	l, err := media.DecodeLatent(bytes.NewReader(trip.Latent), int64(len(trip.Latent)), "z.safetensors", media.LatentOptions{Channels: z.Channels})
	require.NoError(t, err)
	got := nmse(l.Data, z.Data)
	t.Logf("encode: NMSE %.3g from native; %d bytes on the device, %d in wasm", got, trip.Done.PeakBytes, trip.Done.HostBytes)
	assert.LessOrEqual(t, got, 1e-12, "encode: NMSE from native")
	for key, want := range map[string]string{latent.MetaFrames: "5", latent.MetaHeight: "32", latent.MetaFPS: "12"} {
		assert.Equal(t, want, l.Meta[key], "latent's metadata: %s", key)
	}
	q := media.NewQuality(h, w, 3)
	want := make([]float32, 3*h*w)
	for f, err := range m.Decode(context.Background(), z, vae.DecodeOptions{Options: o, Frames: frames, Height: h, Width: w}) {
		require.NoError(t, err)
		media.FromRGBA(want, pixels[4*f.Index*h*w:], 3)
		was, now := q.Add(want, f.Pixels), trip.Quality[f.Index]
		assert.InDelta(t, was.PSNR, *now.PSNR, 1e-6, "frame %d: PSNR", f.Index)
		assert.InDelta(t, was.SSIM, now.SSIM, 1e-9, "frame %d: SSIM", f.Index)
	}
	all := trip.Quality[len(trip.Quality)-1]
	assert.Nil(t, all.Index, "the last quality is overall")
	assert.InDelta(t, q.Overall().PSNR, *all.PSNR, 1e-6, "overall PSNR")
	checkDecode(t, page, m, trip.Latent, z, tiles, o)
	checkFailures(t, page, trip.Latent, tiles)
	checkPlan(t, page, m, o)
}

// checkDecode compares frames, and checks that tiles came before them.
func checkDecode(t *testing.T, page context.Context, m *vae.Model, file []byte, z latent.Latent, tiles map[string]any, o vae.Options) {
	t.Helper()
	var previews []vae.Preview
	plan, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, vae.DecodeOptions{Options: o, RGBA8: true, Preview: true})
	require.NoError(t, err)
	watch := vae.Watch{Preview: func(p vae.Preview) error {
		p.RGBA = slices.Clone(p.RGBA)
		previews = append(previews, p)
		return nil
	}}
	all := eval[gathered](t, page, `test.decode($, $)`, file, tiles)
	n := 0
	for f, err := range plan.Run(context.Background(), z, watch) {
		require.NoError(t, err)
		require.Less(t, n, len(all.Frames), "frames, expected more")
		now := all.Frames[n]
		assert.Equal(t, [3]int{f.Index, f.Height, f.Width}, [3]int{now.Index, now.Height, now.Width}, "frame %d: index, height and width", n)
		assert.LessOrEqual(t, nmse(now.RGBA, f.RGBA), 1e-12, "frame %d: NMSE from native", n)
		n++
	}
	require.Len(t, all.Frames, n)
	require.Len(t, all.Tiles, len(previews))
	require.NotEmpty(t, previews)
	for i, p := range previews {
		now := all.Tiles[i]
		assert.Equal(t, [5]int{p.Tile, p.Frame, p.Y, p.X, p.Height}, [5]int{now.Tile, now.Frame, now.Y, now.X, now.Height}, "tile picture %d: tile, frame, place and height", i)
		assert.True(t, bytes.Equal(p.RGBA, now.RGBA), "tile picture %d differs", i)
	}
	assert.Equal(t, "plan", all.Order[0], "events %v", all.Order)
	assert.Equal(t, "done", all.Order[len(all.Order)-1], "events %v", all.Order)
	assert.Equal(t, 1.0, all.Progress[len(all.Progress)-1].Done)
	require.GreaterOrEqual(t, len(all.Done.Operations), 4)
	var names []string
	for i, o := range all.Done.Operations {
		names = append(names, o.Name)
		assert.LessOrEqual(t, o.Seconds, all.Done.Operations[max(i-1, 0)].Seconds, "the longest is first: %s", o.Name)
	}
	assert.Contains(t, names, "conv3d_cooperative4")
	assert.NotZero(t, all.Done.PeakBytes)
}

// checkFailures cancels jobs, causes errors, and checks that the engine continues.
func checkFailures(t *testing.T, page context.Context, file []byte, tiles map[string]any) {
	t.Helper()
	for _, when := range []string{"plan", "tile", "progress"} {
		f := eval[failure](t, page, `test.cancel($, $, $)`, file, when, tiles)
		assert.Equal(t, "cancelled", f.Code, "at the first %s: %s", when, f.Message)
	}
	for _, c := range []struct {
		name, data, want string
	}{
		{"a.safetensors", "GIF89a is no model", "is a picture"},
		{"a.safetensors", "PK\x03\x04 a zip file that is no model", "the zip has no end record"},
		{"b.safetensors", "", "0 bytes"},
		{"c.safetensors", "\x02\x00\x00\x00\x00\x00\x00\x00{}", "not a VAE"},
	} {
		f := eval[failure](t, page, `test.openBroken($, $)`, c.name, []byte(c.data))
		assert.Equal(t, "bad_input", f.Code, c.name)
		assert.Contains(t, f.Message, c.name)
		assert.Contains(t, f.Message, c.want)
	}
	all := eval[gathered](t, page, `test.decode($, {...$, preview: false})`, file, tiles)
	assert.Len(t, all.Frames, 5, "after failures")
	assert.Empty(t, all.Tiles, "after failures")
}

// checkPlan compares a plan, and one that doesn't fit.
func checkPlan(t *testing.T, page context.Context, m *vae.Model, o vae.Options) {
	t.Helper()
	type plan struct {
		Tiles []struct {
			Y int `json:"y"`
			X int `json:"x"`
		} `json:"tiles"`
		Weights     int64  `json:"weights"`
		Activations int64  `json:"activations"`
		Causal      int64  `json:"causal"`
		Canvas      int64  `json:"canvas"`
		Transfer    int64  `json:"transfer"`
		FLOPs       int64  `json:"flops"`
		Fits        bool   `json:"fits"`
		Code        string `json:"code"`
		Problem     string `json:"problem"`
		Suggestion  string `json:"suggestion"`
	}
	o.Chunk = vae.AutoChunk // the page's default
	want, err := m.PlanDecode(t.Context(), 3, 30, 40, vae.DecodeOptions{Options: o, RGBA8: true, Preview: true})
	require.NoError(t, err)
	ask := map[string]any{"direction": "decode", "frames": 3, "height": 30, "width": 40, "tile": "24", "overlap": "8"}
	got := eval[plan](t, page, `test.plan($)`, ask)
	assert.Len(t, got.Tiles, len(want.Tiles.Tiles))
	assert.Equal(t, want.Weights, got.Weights)
	assert.Equal(t, want.Activations, got.Activations)
	assert.Equal(t, want.Causal, got.Causal)
	assert.Equal(t, want.Canvas, got.Canvas)
	assert.Equal(t, want.Transfer, got.Transfer)
	assert.Equal(t, want.Cost.FLOPs, got.FLOPs)
	assert.True(t, got.Fits)
	ask["tile"], ask["memory"] = "off", int64(60<<20) // causal memory needs 143
	got = eval[plan](t, page, `test.plan($)`, ask)
	assert.False(t, got.Fits, "beyond the budget")
	assert.Equal(t, "out_of_memory", got.Code)
	assert.NotEmpty(t, got.Suggestion)
	assert.NotEmpty(t, got.Problem)
}

// TestLargeCheckpoint runs a model of the published size, read by range. Only a small
// part of its 501 MB may ever be in wasm's memory, which never shrinks.
func TestLargeCheckpoint(t *testing.T) {
	chromium(t)
	testenv.Long(t)
	path := filepath.Join(t.TempDir(), "full.safetensors")
	require.NoError(t, synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{}))
	s := serve(t, map[string]string{"tessera.wasm.gz": buildWASM(t), "full.safetensors": path}, "testdata", root+"/web")
	page := tab(t, s.URL+"/engine.html")
	began := time.Now()
	eval[map[string]any](t, page, `test.open('full.safetensors')`)
	const frames, h, w = 1, 16, 16
	all := eval[gathered](t, page, `test.clip('roundtrip', $, $, {})`, map[string]int{"frames": frames, "height": h, "width": w}, clip(frames, h, w))
	t.Logf("%.0f s; %d MB in wasm, %d MB on the device", time.Since(began).Seconds(), all.Done.HostBytes>>20, all.Done.PeakBytes>>20)
	// A picture needs only the weights of one temporal tap: 347 of 501 MB.
	encode := eval[struct{ Weights int64 }](t, page, `test.plan($)`, map[string]any{"direction": "encode", "frames": frames, "height": h, "width": w, "tile": "off"})
	decode := eval[struct{ Weights int64 }](t, page, `test.plan($)`, map[string]any{"direction": "decode", "frames": frames, "height": h / 8, "width": w / 8, "tile": "off"})
	assert.Greater(t, encode.Weights+decode.Weights, int64(340_000_000), "bytes of weights")
	assert.GreaterOrEqual(t, all.Done.PeakBytes, encode.Weights+decode.Weights, "bytes on the device: the weights of both directions")
	assert.Len(t, all.Frames, 1)
	assert.LessOrEqual(t, all.Done.HostBytes, int64(200_000_000), "bytes in wasm")
}

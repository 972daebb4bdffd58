package api

import (
	"bytes"
	"context"
	"image/jpeg"
	"image/png"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/latent"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// decoded returns package vae's frames of a latent.
func decoded(t *testing.T, h *alone, a *API, name string, z latent.Latent, o vae.DecodeOptions) (frames [][]float32) {
	t.Helper()
	m, err := a.models.find(name)
	require.NoError(t, err)
	opened, err := vae.Open(h.dev, m.path, m.settings)
	require.NoError(t, err)
	defer opened.Close()
	for f, err := range opened.Decode(context.Background(), z, o) {
		require.NoError(t, err)
		frames = append(frames, bytes32(f))
	}
	return frames
}

func bytes32(f vae.Frame) []float32 { return append([]float32(nil), f.Pixels...) }

// The tensor of remote_decode is [B,C,T,H,W] in the request's dtype, with the engine's
// numbers; for pictures it is [B,C,H,W].
func TestRemoteDecodeTensors(t *testing.T) {
	h := device(t)
	a, url := start(t, h, Options{})
	z := latent.Latent{Channels: 16, Frames: 2, Height: 2, Width: 3, Data: ramp(16 * 2 * 2 * 3)}
	want := decoded(t, h, a, "wan", z, vae.DecodeOptions{})
	require.Len(t, want, 5)
	shape := []int{1, 16, 2, 2, 3}
	for _, d := range []dtype{float, half, brain} {
		query := params(shape, map[string]string{"dtype": string(d), "output_type": "pt", "do_scaling": "True", "image_format": "jpg", "partial_postprocess": "False"})
		r, got := ask(t, "POST", url+"/v1/decode"+query, "tensor/binary", tensor(d, z.Data))
		require.Equal(t, http.StatusOK, r.StatusCode, string(got))
		assert.Equal(t, "[1,3,5,16,24]", r.Header.Get("shape"))
		assert.Equal(t, string(d), r.Header.Get("dtype"))
		if d != float {
			continue // these latents are rounded
		}
		for f, frame := range want {
			for c := range 3 {
				var plane []float32
				for i := c; i < len(frame); i += 3 {
					plane = append(plane, frame[i])
				}
				n := 4 * len(plane)
				assert.True(t, bytes.Equal(tensor(d, plane), got[(c*5+f)*n:][:n]), "frame %d, channel %d", f, c)
			}
		}
	}
	picture := ramp(2 * 16 * 2 * 2)
	r, got := ask(t, "POST", url+"/v1/decode"+params([]int{2, 16, 2, 2}, map[string]string{"dtype": "float32", "output_type": "pt"}), "", tensor(float, picture))
	require.Equal(t, http.StatusOK, r.StatusCode, string(got))
	assert.Equal(t, "[2,3,16,16]", r.Header.Get("shape"))
	first := decoded(t, h, a, "wan", latent.Latent{Channels: 16, Frames: 1, Height: 2, Width: 2, Data: picture[64:]}, vae.DecodeOptions{Options: vae.Options{Unscaled: true}})
	for i, v := range floats(float, got)[3*256:] {
		require.Equal(t, first[0][i%256*3+i/256], v, "value %d of the second picture", i)
	}
}

// Frames among the channels, as ComfyUI's samplers leave SeedVR2's latents, give the same
// bytes as five dimensions, from a tensor, a job's tensor and its file; other models
// refuse them.
func TestFoldedTensors(t *testing.T) {
	h := device(t)
	_, url := start(t, h, Options{})
	body := tensor(float, ramp(2*16*2*2*3))
	query := func(model string, shape ...int) string {
		return params(shape, map[string]string{"dtype": "float32", "output_type": "pt", "do_scaling": "True", "model": model})
	}
	r, want := ask(t, "POST", url+"/v1/decode"+query("seedvr2", 2, 16, 2, 2, 3), "", body)
	require.Equal(t, http.StatusOK, r.StatusCode, string(want))
	r, got := ask(t, "POST", url+"/v1/decode"+query("seedvr2", 2, 32, 2, 3), "", body)
	require.Equal(t, http.StatusOK, r.StatusCode, string(got))
	assert.Equal(t, "[2,3,5,16,24]", r.Header.Get("shape"))
	assert.True(t, bytes.Equal(want, got))
	r, got = ask(t, "POST", url+"/v1/decode"+query("wan", 2, 32, 2, 3), "", body)
	assert.Equal(t, http.StatusBadRequest, r.StatusCode)
	assert.Contains(t, string(got), "shape is [2 32 2 3], expected [B,16,T,h,w]")

	one := body[:len(body)/2]
	jobs := url + "/v1/jobs"
	var bits [][]byte
	for _, shape := range [][]int{{1, 16, 2, 2, 3}, {1, 32, 2, 3}} {
		j, status := jobOf(t, "POST", jobs+params(shape, map[string]string{"dtype": "float32", "model": "seedvr2", "output": "f32"}), one)
		require.Equal(t, http.StatusCreated, status, j.Error)
		require.Equal(t, stateDone, ended(t, url, j.ID).State)
		_, content := ask(t, "GET", jobs+"/"+j.ID+"/content", "", nil)
		bits = append(bits, content)
	}
	file := func(shape ...int) []byte {
		var b bytes.Buffer
		w, err := safetensors.NewWriter(&b, []safetensors.Spec{{Name: "samples", DType: safetensors.F32, Shape: shape}}, nil)
		require.NoError(t, err)
		require.NoError(t, w.Begin("samples"))
		require.NoError(t, w.WriteF32(floats(float, one)))
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	for _, layout := range []string{"", "BCFHW"} {
		j, status := jobOf(t, "POST", jobs+"?model=seedvr2&output=f32&input=safetensors&layout="+layout, file(1, 32, 2, 3))
		require.Equal(t, http.StatusCreated, status, j.Error)
		s := ended(t, url, j.ID)
		require.Equal(t, stateDone, s.State, s.Error)
		_, content := ask(t, "GET", jobs+"/"+j.ID+"/content", "", nil)
		bits = append(bits, content)
		var said []string
		for _, text := range s.Warnings {
			if strings.Contains(text, "--layout decides") {
				said = append(said, text)
			}
		}
		assert.Len(t, said, map[string]int{"": 1, "BCFHW": 0}[layout], "%q: %v", layout, s.Warnings)
	}
	require.Len(t, bits[0], 4*5*16*24*3)
	for _, b := range bits[1:] {
		assert.True(t, bytes.Equal(bits[0], b))
	}
	j, status := jobOf(t, "POST", jobs+"?model=seedvr2&input=safetensors&layout=HWC&output=f32", file(1, 32, 2, 3))
	require.Equal(t, http.StatusCreated, status)
	assert.Contains(t, ended(t, url, j.ID).Error, "expected 3 dimensions for --layout=HWC")
	for _, bad := range []string{"layout=CFWH", "height=32", "height=0&width=16"} {
		r, text := ask(t, "POST", jobs+"?input=safetensors&"+bad, "", file(1, 32, 2, 3))
		assert.Equal(t, http.StatusBadRequest, r.StatusCode, "%s: %s", bad, text)
	}
}

// Numbers that cannot be pixels are refused with their range; numbers in [0,1] cause a
// warning.
func TestRemotePixels(t *testing.T) {
	h := device(t)
	_, url := start(t, h, Options{})
	send := func(kind string, values []float32) (*http.Response, string) {
		r, text := ask(t, "POST", url+kind+params([]int{1, 3, 16, 16}, map[string]string{"dtype": "float32"}), "", tensor(float, values))
		return r, string(text)
	}
	scaled := func(by, plus float32) []float32 {
		v := make([]float32, 3*16*16)
		for i := range v {
			v[i] = by*float32(i%256)/255 + plus
		}
		return v
	}
	r, text := send("/v1/encode", scaled(255, 0))
	assert.Equal(t, http.StatusBadRequest, r.StatusCode)
	assert.Contains(t, text, "the tensor: numbers from 0 to 255, expected pixels in [-1,1]; those of 0 to 255 are read as uint8")
	for add, warns := range map[float32]bool{0: true, -1: false} { // the second is dark
		r, text = send("/v1/encode", scaled(1, add))
		require.Equal(t, http.StatusOK, r.StatusCode, text)
		if warns {
			assert.Contains(t, r.Header.Get("Tessera-Warning"), "the tensor: numbers from 0 to 1 look like pixels in [0,1]")
		} else {
			assert.Empty(t, r.Header.Get("Tessera-Warning"))
		}
	}
	job := func(values []float32) state {
		r, text := send("/v1/jobs", values)
		require.Equal(t, http.StatusBadRequest, r.StatusCode, text) // decode: three channels are no latent's
		j, status := jobOf(t, "POST", url+"/v1/jobs"+params([]int{1, 3, 1, 16, 16}, map[string]string{"dtype": "float32", "kind": "encode", "output": "npy"}), tensor(float, values))
		require.Equal(t, http.StatusCreated, status, j.Error)
		return ended(t, url, j.ID)
	}
	s := job(scaled(255, 0))
	assert.Equal(t, stateFailed, s.State)
	assert.Contains(t, s.Error, "the tensor: numbers from 0 to 255")
	s = job(scaled(1, 0))
	assert.Equal(t, stateDone, s.State, s.Error)
	assert.Contains(t, strings.Join(s.Warnings, "\n"), "look like pixels in [0,1]")
}

// Pictures of remote_decode: 8-bit pixels [N,H,W,C], a tensor in [0,1] for video models,
// a PNG or a JPEG; and an .mp4 for clips.
func TestRemoteDecodeForms(t *testing.T) {
	h := device(t)
	_, url := start(t, h, Options{})
	clip := func(more map[string]string) string {
		more["dtype"], more["do_scaling"] = "float32", "True"
		return url + "/v1/decode" + params([]int{1, 16, 2, 2, 2}, more)
	}
	body := tensor(float, ramp(16*2*2*2))
	_, raw := ask(t, "POST", clip(map[string]string{"output_type": "pt"}), "", body)
	all := floats(float, raw)

	r, codes := ask(t, "POST", clip(map[string]string{"output_type": "pt", "partial_postprocess": "True"}), "tensor/binary", body)
	require.Equal(t, "[5,16,16,3]", r.Header.Get("shape"), string(codes))
	require.Equal(t, "uint8", r.Header.Get("dtype"))
	r, unit := ask(t, "POST", clip(map[string]string{"output_type": "pil"}), "tensor/binary", body)
	require.Equal(t, "[5,3,16,16]", r.Header.Get("shape"), string(unit))
	unitValues := floats(float, unit)
	for f := range 5 {
		for c := range 3 {
			for i := range 256 {
				v := all[(c*5+f)*256+i]
				require.InDelta(t, (v+1)*127.5, float32(codes[(f*256+i)*3+c]), 0.501)
				require.Equal(t, min(max(v/2+0.5, 0), 1), unitValues[(f*3+c)*256+i])
			}
		}
	}

	one := func(format string) string {
		return url + "/v1/decode" + params([]int{1, 16, 1, 2, 2}, map[string]string{"dtype": "float32", "output_type": "pil", "image_format": format})
	}
	small := tensor(float, ramp(16*2*2))
	r, got := ask(t, "POST", one("png"), "image/png", small)
	require.Equal(t, "image/png", r.Header.Get("Content-Type"), string(got))
	img, err := png.Decode(bytes.NewReader(got))
	require.NoError(t, err)
	assert.Equal(t, 16, img.Bounds().Dx())
	r, got = ask(t, "POST", one("jpg"), "image/jpeg", small)
	require.Equal(t, "image/jpeg", r.Header.Get("Content-Type"), string(got))
	_, err = jpeg.Decode(bytes.NewReader(got))
	require.NoError(t, err)

	r, got = ask(t, "POST", clip(map[string]string{"output_type": "mp4", "fps": "16"}), "text/plain", body)
	if r.StatusCode == http.StatusInternalServerError && strings.Contains(string(got), "ffmpeg") {
		t.Skip(string(got))
	}
	require.Equal(t, "video/mp4", r.Header.Get("Content-Type"), string(got))
	assert.Equal(t, "ftyp", string(got[4:8]))

	r, got = ask(t, "POST", clip(map[string]string{"output_type": "pil"}), "image/jpeg", body)
	assert.Equal(t, http.StatusBadRequest, r.StatusCode)
	assert.Contains(t, string(got), "5 frames are not a picture")
}

// remote_encode sends a tensor or a PNG; the latent is the engine's.
func TestRemoteEncode(t *testing.T) {
	h := device(t)
	a, url := start(t, h, Options{})
	m, err := a.models.find("wan")
	require.NoError(t, err)
	opened, err := vae.Open(h.dev, m.path, m.settings)
	require.NoError(t, err)
	defer opened.Close()
	pixels := ramp(3 * 5 * 16 * 24)
	c := &clip{from: bytes.NewReader(tensor(float, pixels)), dtype: float}
	c.Format.Frames, c.Height, c.Width, c.Format.Channels = 5, 16, 24, 3
	want, err := opened.Encode(context.Background(), c, vae.EncodeOptions{Options: vae.Options{Unscaled: true}})
	require.NoError(t, err)

	shape := []int{1, 3, 5, 16, 24}
	r, got := ask(t, "POST", url+"/v1/encode"+params(shape, map[string]string{"dtype": "float32"}), "", tensor(float, pixels))
	require.Equal(t, http.StatusOK, r.StatusCode, string(got))
	assert.Equal(t, "[1,16,2,2,3]", r.Header.Get("shape"))
	assert.Equal(t, want.Data, floats(float, got))

	r, got = ask(t, "POST", url+"/v1/encode"+params(shape, map[string]string{"dtype": "float32", "moments": "true"}), "", tensor(float, pixels))
	require.Equal(t, http.StatusOK, r.StatusCode, string(got))
	assert.Equal(t, "[1,32,2,2,3]", r.Header.Get("shape"))
	assert.Equal(t, want.Data, floats(float, got)[:len(want.Data)])

	r, got = ask(t, "POST", url+"/v1/encode"+params([]int{2, 3, 16, 16}, map[string]string{"dtype": "uint8"}), "", bytes.Repeat([]byte{0, 100, 255}, 2*256))
	require.Equal(t, http.StatusOK, r.StatusCode, string(got))
	assert.Equal(t, "[2,16,2,2]", r.Header.Get("shape"))
	assert.Equal(t, "float32", r.Header.Get("dtype"))

	_, picture := ask(t, "POST", url+"/v1/decode"+params([]int{1, 16, 1, 2, 2}, map[string]string{"dtype": "float32", "image_format": "png"}), "", tensor(float, ramp(64)))
	r, got = ask(t, "POST", url+"/v1/encode?scaling_factor=0.9152&model=seedvr2", "", picture)
	require.Equal(t, http.StatusOK, r.StatusCode, string(got))
	assert.Equal(t, "[1,16,1,2,2]", r.Header.Get("shape"))
}

// Pixels without alpha are opaque to a model that has it.
func TestEncodeWithoutAlpha(t *testing.T) {
	_, url := start(t, device(t), Options{Models: []Model{{"qwen", wan(t, synthetic.WanConfig{Still: true}), settingsF32}}})
	encoded := func(channels int, pixels []float32) []float32 {
		r, got := ask(t, "POST", url+"/v1/encode"+params([]int{2, channels, 16, 16}, map[string]string{"dtype": "float32"}), "", tensor(float, pixels))
		require.Equal(t, http.StatusOK, r.StatusCode, string(got))
		require.Equal(t, "[2,64,1,1]", r.Header.Get("shape"))
		return floats(float, got)
	}
	rgb := ramp(2 * 3 * 256)
	var rgba []float32
	for picture := range slices.Chunk(rgb, 3*256) {
		rgba = append(append(rgba, picture...), slices.Repeat([]float32{1}, 256)...)
	}
	opaque := encoded(4, rgba)
	require.Equal(t, opaque, encoded(3, rgb))
	copy(rgba[3*256:], make([]float32, 256))
	require.NotEqual(t, opaque, encoded(4, rgba), "half transparent")
	r, got := ask(t, "POST", url+"/v1/encode"+params([]int{1, 2, 16, 16}, map[string]string{"dtype": "float32"}), "", tensor(float, ramp(512)))
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	require.Contains(t, string(got), "expected [B,4,T,H,W] or [B,4,H,W]")
}

// Factors that cannot express a model's statistics are refused with the reason; the
// model's own mean do_scaling.
func TestScaling(t *testing.T) {
	_, url := start(t, &alone{}, Options{})
	for name, c := range map[string]struct {
		query, want string
	}{
		"Wan by one factor":         {"&scaling_factor=0.5", "scales each of its 16 channels by its own mean and deviation, which two numbers cannot express: do_scaling=True"},
		"Wan by factors of Flux":    {"&scaling_factor=0.3611&shift_factor=0.1159", "cannot express"},
		"Wan by a shift":            {"&shift_factor=0.1", "cannot express"},
		"another model's factor":    {"&model=seedvr2&scaling_factor=0.18215", "are not those of SeedVR2, expected 0.9152 and 0"},
		"its own factor":            {"&model=seedvr2&scaling_factor=0.9152", "no usable adapter"},
		"its own factor and shift":  {"&model=seedvr2&scaling_factor=0.9152&shift_factor=0.0", "no usable adapter"},
		"a pipeline's":              {"&do_scaling=True", "no usable adapter"},
		"the VAE's own":             {"&do_scaling=False", "no usable adapter"},
		"not a number":              {"&scaling_factor=NaN", "expected a number"},
		"nothing, as None is shown": {"&scaling_factor=None", "no usable adapter"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := ask(t, "POST", url+"/v1/decode"+params([]int{1, 16, 1, 1, 1}, map[string]string{"dtype": "float32"})+c.query, "", make([]byte, 64))
			assert.Contains(t, string(got), c.want)
		})
	}
}

// Invalid requests are refused in JSON, with what was found and expected.
func TestMalformed(t *testing.T) {
	_, url := start(t, &alone{}, Options{Body: 1 << 20})
	ok := params([]int{1, 16, 1, 1, 1}, map[string]string{"dtype": "float32"})
	nan := tensor(float, []float32{float32(math.NaN())})
	for name, c := range map[string]struct {
		method, path string
		body         []byte
		status       int
		want         string
	}{
		"no shape":            {"POST", "/v1/decode?dtype=float32", nil, 400, "shape is [], expected [B,16,T,h,w], [B,16,h,w] or packed [B,h/2*w/2,64] for wan"},
		"no dtype":            {"POST", "/v1/decode?shape=1", nil, 400, `dtype is \"\", expected float16, bfloat16, float32`},
		"integers":            {"POST", "/v1/decode?shape=1&dtype=int64", nil, 400, `dtype is \"int64\"`},
		"a shape of words":    {"POST", "/v1/decode?shape=[a]&dtype=float32", nil, 400, `shape contains \"[a]\", expected whole numbers`},
		"a negative side":     {"POST", "/v1/decode?shape=[1,-16,1,1,1]&dtype=float32", nil, 400, "shape contains -16"},
		"six sides":           {"POST", "/v1/decode?shape=1,1,1,1,1,1&dtype=float32", nil, 400, "shape has 6 numbers"},
		"a huge latent":       {"POST", "/v1/decode?shape=[1,16,1000,900,900]&dtype=float32", nil, 413, "a latent of shape [1 16 1000 900 900]"},
		"a huge frame":        {"POST", "/v1/decode?shape=[1,16,1,1,9000]&dtype=float32", nil, 413, "16384x16384"},
		"a huge body":         {"POST", "/v1/decode?shape=[1,16,1,200,200]&dtype=float32", nil, 413, "a body of 2560000 bytes, expected at most 1048576"},
		"another model":       {"POST", "/v1/decode" + ok + "&model=flux", make([]byte, 64), 404, `model \"flux\" not found`},
		"an unknown question": {"POST", "/v1/decode" + ok + "&dtyp=float32", make([]byte, 64), 400, `unknown parameter \"dtyp\"`},
		"twice":               {"POST", "/v1/decode" + ok + "&dtype=float32", make([]byte, 64), 400, "dtype is given 2 times"},
		"half a query":        {"POST", "/v1/decode?%zz", nil, 400, "the query cannot be parsed"},
		"a short body":        {"POST", "/v1/decode" + ok, make([]byte, 63), 400, "the body has 63 bytes, expected 64"},
		"a long body":         {"POST", "/v1/decode" + ok, make([]byte, 65), 400, "the body has 65 bytes, expected 64"},
		"tile":                {"POST", "/v1/decode" + ok + "&tile=huge", make([]byte, 64), 400, "tile"},
		"fps":                 {"POST", "/v1/decode" + ok + "&fps=-1", make([]byte, 64), 400, "fps"},
		"no picture":          {"POST", "/v1/encode", []byte("GIF89a"), 400, "the body is not a PNG, JPEG, WebP, TIFF or OpenEXR"},
		"video's shape":       {"POST", "/v1/encode?shape=[1,4,16,16]&dtype=float32", nil, 400, "expected [B,3,T,H,W] or [B,3,H,W] for wan"},
		"moments in scale":    {"POST", "/v1/encode?moments=true&do_scaling=True", nil, 400, "moments are unscaled"},
		"a seed alone":        {"POST", "/v1/encode?seed=1", nil, 400, "seed without sample, expected sample=true"},
		"nowhere":             {"GET", "/v1/nothing", nil, 404, "\\\"/v1/nothing\\\" not found"},
		"another method":      {"GET", "/v1/decode", nil, 405, "method GET is not allowed for \\\"/v1/decode\\\", expected POST"},
		"out of the folder":   {"GET", "/v1/../../../etc/passwd", nil, 404, "not found"},
		"no device":           {"POST", "/v1/decode" + ok, append(nan, make([]byte, 60)...), 503, "no usable adapter"},
	} {
		t.Run(name, func(t *testing.T) {
			r, got := ask(t, c.method, url+c.path, "", c.body)
			assert.Equal(t, c.status, r.StatusCode, string(got))
			assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
			want := strings.ReplaceAll(c.want, `\"`, `"`)
			assert.Contains(t, strings.ReplaceAll(string(got), `\"`, `"`), want)
			assert.NotContains(t, string(got), ".safetensors", "a path of the server's")
		})
	}
}

// A warning names the AutoencoderKL model if it is assumed, unless the request names it
// or has its factor.
func TestAssumedModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "thing.safetensors")
	require.NoError(t, synthetic.CreateKL(path, synthetic.KLConfig{Widths: []int{32, 32, 32, 32}, Quant: true, DType: safetensors.F32}))
	_, url := start(t, device(t), Options{Models: []Model{{"thing", path, settingsF32}, {"xl", path, vae.Settings{Precision: vae.F32, As: "sdxl"}}}})
	z := []float32{.5, -1, 2, .1}
	decode := func(query map[string]string) (pixels []byte, warning string) {
		all := map[string]string{"dtype": "float32", "output_type": "pt"}
		maps.Copy(all, query)
		r, body := ask(t, "POST", url+"/v1/decode"+params([]int{1, 4, 1, 1}, all), "", tensor(float, z))
		require.Equal(t, http.StatusOK, r.StatusCode, string(body))
		return body, r.Header.Get("Tessera-Warning")
	}
	const doubt = "thing.safetensors: the file does not say which model it is. Assuming Stable Diffusion"
	sd, warning := decode(map[string]string{"do_scaling": "true"})
	assert.Contains(t, warning, doubt)
	xl, warning := decode(map[string]string{"do_scaling": "true", "as": "sdxl"})
	assert.Empty(t, warning)
	assert.NotEqual(t, sd, xl)
	for name, query := range map[string]map[string]string{"its factor": {"scaling_factor": "0.13025"}, "served as it": {"do_scaling": "true", "model": "xl"}} {
		got, warning := decode(query)
		assert.Empty(t, warning, name)
		assert.Equal(t, xl, got, name)
	}
	_, warning = decode(nil)
	assert.NotContains(t, warning, doubt, "the model's own numbers")
	r, body := ask(t, "POST", url+"/v1/encode"+params([]int{1, 3, 8, 8}, map[string]string{"dtype": "float32", "do_scaling": "true"}), "", tensor(float, make([]float32, 192)))
	require.Equal(t, http.StatusOK, r.StatusCode, string(body))
	assert.Contains(t, r.Header.Get("Tessera-Warning"), doubt)
	for as, scale := range map[string]string{"": "0.18215", "?as=sdxl": "0.13025", "?as=flux": "0.18215"} {
		_, body := ask(t, "GET", url+"/v1/models"+as, "", nil)
		assert.Contains(t, string(body), `"scale":[`+scale+",", as)
	}
	r, _ = ask(t, "GET", url+"/v1/models?as=nothing", "", nil)
	assert.Equal(t, http.StatusBadRequest, r.StatusCode)
}

// FLUX.2's packed latents, with channels or as tokens, have a pipeline's scale, and
// do_scaling makes encode pack. Jobs read and write them too.
func TestRemotePackedChannels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flux2.safetensors")
	require.NoError(t, synthetic.CreateKL(path, synthetic.KLConfig{Widths: []int{32, 32, 32, 32}, Flux2: true, Latent: 4, DType: safetensors.F32}))
	h := device(t)
	a, url := start(t, h, Options{Models: []Model{{"flux2", path, settingsF32}}})
	z := latent.Latent{Channels: 16, Frames: 1, Height: 1, Width: 2, Data: make([]float32, 32)}
	tokens := make([]float32, 32)
	for i := range z.Data {
		z.Data[i] = float32(i%7)/4 - 0.7
		tokens[i%2*16+i/2] = z.Data[i]
	}
	whole := z.Unpack()
	frames := decoded(t, h, a, "flux2", whole, vae.DecodeOptions{Options: vae.Options{Independent: true}})
	want := planesOf(frames)
	send := func(shape []int, values []float32, query map[string]string) (*http.Response, []float32) {
		all := map[string]string{"dtype": "float32", "output_type": "pt"}
		maps.Copy(all, query)
		r, body := ask(t, "POST", url+"/v1/decode"+params(shape, all), "", tensor(float, values))
		require.Equal(t, http.StatusOK, r.StatusCode, string(body))
		return r, floats(float, body)
	}
	for name, c := range map[string]struct {
		shape  []int
		values []float32
		query  map[string]string
	}{
		"channels":           {[]int{1, 16, 1, 2}, z.Data, nil},
		"channels of a clip": {[]int{1, 16, 1, 1, 2}, z.Data, map[string]string{"do_scaling": "true"}},
		"tokens":             {[]int{1, 2, 16}, tokens, map[string]string{"height": "16", "width": "32"}},
		"unpacked":           {[]int{1, 4, 2, 4}, whole.Data, map[string]string{"do_scaling": "true"}},
	} {
		_, got := send(c.shape, c.values, c.query)
		assert.Equal(t, want, got, name)
	}
	_, own := send([]int{1, 4, 2, 4}, whole.Data, nil)
	assert.NotEqual(t, want, own, "the VAE's own numbers")
	r, _ := ask(t, "POST", url+"/v1/encode"+params([]int{1, 3, 16, 32}, map[string]string{"dtype": "float32", "do_scaling": "true"}), "", tensor(float, make([]float32, 3*16*32)))
	assert.Equal(t, "[1,16,1,2]", r.Header.Get("Shape"))
	r, _ = ask(t, "POST", url+"/v1/encode"+params([]int{1, 3, 16, 32}, map[string]string{"dtype": "float32"}), "", tensor(float, make([]float32, 3*16*32)))
	assert.Equal(t, "[1,4,2,4]", r.Header.Get("Shape"))
	j, status := jobOf(t, "POST", url+"/v1/jobs"+params([]int{1, 16, 1, 1, 2}, map[string]string{"dtype": "float32", "kind": "decode", "output": "f32"}), tensor(float, z.Data))
	require.Equal(t, http.StatusCreated, status, j.Error)
	s := ended(t, url, j.ID)
	require.Equal(t, stateDone, s.State, s.Error)
	assert.Equal(t, latent.ScalePipeline, s.Result.Scale)
	_, body := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/content", "", nil)
	assert.Equal(t, frames[0], floats(float, body))
}

// planesOf returns frames of three channels as [C,T,H,W].
func planesOf(frames [][]float32) (v []float32) {
	for c := range 3 {
		for _, f := range frames {
			for i := c; i < len(f); i += 3 {
				v = append(v, f[i])
			}
		}
	}
	return v
}

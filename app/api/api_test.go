package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// alone is a host without a device, or with one for tests.
type alone struct {
	mu  sync.Mutex
	dev *gpu.Device
	ran int
}

func (h *alone) Turn(ctx context.Context, _ string) (*gpu.Device, error) {
	if h.dev == nil {
		return nil, gpu.ErrNoAdapter
	}
	h.mu.Lock()
	h.ran++
	if err := ctx.Err(); err != nil {
		h.mu.Unlock()
		return nil, err
	}
	return h.dev, nil
}

func (h *alone) Done(error) { h.mu.Unlock() }

// wan is a small checkpoint.
func wan(t testing.TB, c synthetic.WanConfig) string {
	t.Helper()
	c.Dim = 4
	path := filepath.Join(t.TempDir(), "wan.safetensors")
	require.NoError(t, synthetic.CreateWan(path, c))
	return path
}

// settingsF32 are the settings of all models here.
var settingsF32 = vae.Settings{Precision: vae.F32}

const seedvr2 = "../../assets/tiny-seedvr2.safetensors"

// start serves until the test ends, with a host's device if there is one.
func start(t testing.TB, h *alone, o Options) (*API, string) {
	t.Helper()
	if o.Models == nil {
		o.Models = []Model{{"wan", wan(t, synthetic.WanConfig{}), settingsF32}, {"seedvr2", seedvr2, settingsF32}}
	}
	o.Log = func(line string) { t.Log(line) }
	a, err := New(h, o)
	require.NoError(t, err)
	s := httptest.NewServer(named(a))
	t.Cleanup(func() {
		s.Close()
		documented(t, a)
		for _, j := range a.jobs.all() { // they hold places
			if now, _ := j.now(); now.State == stateReceiving {
				a.drop(j)
			}
		}
		assert.Eventually(t, func() bool { return a.places.count() == 0 }, time.Minute, time.Millisecond, "places that are taken")
		assert.Equal(t, a.o.Disk-a.jobs.bytes(), a.disk.left(), "what is free of the disk")
		require.NoError(t, a.Close())
		if h.dev != nil {
			require.NoError(t, a.Forget(h.dev))
		}
	})
	return a, s.URL
}

// named returns a with the first model as the default of requests.
func named(a *API) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks := r.Method == "POST" && slices.Contains([]string{"/v1/decode", "/v1/encode", "/v1/jobs"}, r.URL.Path)
		if asks && !strings.Contains(r.URL.RawQuery, "model=") {
			r.URL.RawQuery += "&model=" + url.QueryEscape(a.models.all[0].name)
		}
		a.ServeHTTP(w, r)
	})
}

// device returns a host with a device.
func device(t testing.TB) *alone {
	t.Helper()
	h := &alone{dev: gputest.Open(t)}
	t.Cleanup(func() { assert.NoError(t, h.dev.Close()) })
	return h
}

// tensor returns numbers as torch stores them.
func tensor(d dtype, values []float32) []byte {
	b := make([]byte, len(values)*d.bytes())
	d.put(b, values)
	return b
}

// ramp returns a latent's numbers.
func ramp(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i%37)/18 - 1
	}
	return v
}

// params returns a remote_decode query as Python's requests writes it.
func params(shape []int, more map[string]string) string {
	q := url.Values{}
	for _, n := range shape {
		q.Add("shape", jsonText(n))
	}
	for name, value := range more {
		q.Set(name, value)
	}
	return "?" + q.Encode()
}

func jsonText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// ask sends a request and returns the whole answer.
func ask(t testing.TB, method, address, accept string, body []byte) (*http.Response, []byte) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	require.NoError(t, err)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, data
}

// floats returns an answer's numbers.
func floats(d dtype, raw []byte) []float32 {
	v := make([]float32, len(raw)/d.bytes())
	d.take(v, raw)
	return v
}

// Every dtype stores numbers as torch does: little-endian, rounded to even.
func TestDtypes(t *testing.T) {
	for d, want := range map[dtype]string{
		float: "\x00\x00\x80\x3f\x00\x00\x00\xc0\x01\x00\x80\x3f",
		half:  "\x00\x3c\x00\xc0\x00\x3c",
		brain: "\x80\x3f\x00\xc0\x80\x3f",
	} {
		values := []float32{1, -2, math.Nextafter32(1, 2)}
		assert.Equal(t, want, string(tensor(d, values)), d)
		values[2] = floats(d, []byte(want))[2]
		assert.Equal(t, values, floats(d, []byte(want)), d)
	}
	assert.Equal(t, []float32{-1, 1, float32(128)/127.5 - 1}, floats(code, []byte{0, 255, 128}))
	for bits, want := range map[uint32]uint16{0x3f808000: 0x3f80, 0x3f818000: 0x3f82, 0x3f808001: 0x3f81, 0x7f800000: 0x7f80, 0x7f800001: 0x7fc0} {
		assert.Equal(t, want, brainBits(math.Float32frombits(bits)), "%x", bits)
	}
	assert.Equal(t, uint16(0x3c00), binary.LittleEndian.Uint16(tensor(half, []float32{1})))
}

// Packed latents of pictures are unpacked as in diffusers: (h,w,c,2,2) to (c,h,2,w,2).
func TestUnpacked(t *testing.T) {
	m := &model{name: "m", config: vae.Config{Latent: 2, Spatial: 8}}
	d := &decodeRequest{model: m, shape: []int{1, 6, 8}, height: 32, width: 48}
	z, err := d.latent()
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, 4, 6}, z.Shape())
	z.Data = make([]float32, 48)
	for i := range z.Data {
		z.Data[i] = float32(i)
	}
	assert.Equal(t, []float32{0, 1, 8, 9, 16, 17, 2, 3, 10, 11, 18, 19, 24, 25, 32, 33, 40, 41, 26, 27, 34, 35, 42, 43}, latent.Unpacked(z.Data, 2, 4, 6)[:24])
	d.height = 16
	_, err = d.latent()
	assert.ErrorContains(t, err, "need height and width")
}

// Jobs have the server's limits, on the device and on the host.
func TestBounds(t *testing.T) {
	c := newQuery("").choices(Options{Budget: 3 << 30, Host: 5 << 30})
	o, err := c.Options()
	require.NoError(t, err)
	require.Equal(t, []int64{3 << 30, 5 << 30}, []int64{o.Budget, o.Host})
}

package api

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"

	"tessera/media"
)

// FuzzQuery: an invalid query is refused, and a valid one stays within the limits.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"shape=1&shape=16&shape=1&shape=8&shape=8&dtype=float16&do_scaling=True", "shape=[1,3,8,8]&dtype=bfloat16&output_type=pt",
		"shape=1,4096,64&dtype=float32&height=1024&width=1024", "tile=512x512&overlap=64&tiling=exact&fps=30000/1001&independent_frames=True",
		"scaling_factor=1e308&shift_factor=-0", "shape=[9999999999999999999]&dtype=float32", "%", "sample=1&seed=18446744073709551615",
	} {
		f.Add(q)
	}
	a, err := New(&alone{}, Options{Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { a.Close() })
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequest("POST", "/v1/decode", nil)
		r.URL = &url.URL{Path: "/v1/decode", RawQuery: text}
		if q, err := a.decodeRequest(r); err == nil {
			if z, err := q.latent(); err == nil {
				n := z.Clips() * z.Channels * z.Frames * z.Height * z.Width
				assert.LessOrEqual(t, n, maxValue)
				assert.Equal(t, bytesOf(q.shape, float), int64(4*n), "what the body has, and the latent")
			}
		} else {
			assert.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, asProblem(err).status, "%v", err)
		}
		if e, err := a.encodeRequest(r); err == nil && e.shape != nil {
			if _, err := e.clips(nil); err == nil {
				assert.LessOrEqual(t, max(e.shape[len(e.shape)-1], e.shape[len(e.shape)-2]), maxPixel)
			}
		}
	})
}

// FuzzTensor: a body is accepted with exactly the size of its shape, or refused. Accepted
// numbers contain no NaN, and no body stays stored.
func FuzzTensor(f *testing.F) {
	f.Add(bytes.Repeat([]byte{0, 0, 0x80, 0x7f}, 16), int64(64), uint8(0))
	f.Add(make([]byte, 32), int64(32), uint8(1))
	f.Add([]byte{1, 2, 3}, int64(4), uint8(3))
	f.Add([]byte{0x80, 0x3f, 0xc0, 0x7f}, int64(4), uint8(2))
	dtypes := []dtype{float, half, brain, code}
	f.Fuzz(func(t *testing.T, body []byte, size int64, kind uint8) {
		if size < 0 || size > 1<<16 {
			return
		}
		room := newDisk(2 << 20)
		s, err := room.keep("", bytes.NewReader(body), size)
		if (err == nil) != (int64(len(body)) == size) {
			t.Fatalf("%d bytes of %d: %v", len(body), size, err)
		}
		if err != nil {
			return
		}
		d := dtypes[kind%4]
		n := len(body) / d.bytes()
		values, err := readFloats(s, d, n)
		c := &clip{from: s, dtype: d}
		c.Format.Frames, c.Height, c.Width, c.Format.Channels = 1, 1, n, 1
		frame := make([]float32, n)
		cerr := c.ReadFrame(0, frame)
		pixels := err == nil && (d == code || media.RangeOf(values).Check() == nil)
		if pixels != (cerr == nil) {
			t.Fatalf("%v, and as a frame %v", err, cerr)
		}
		for i, v := range values {
			if err == nil && (v-v != 0 || pixels && frame[i] != v) {
				t.Fatalf("%v was let through, %v", v, frame[i])
			}
		}
		if err == nil && d != code && !bytes.Equal(tensor(d, values), body[:n*d.bytes()]) {
			t.Fatal("numbers that are stored again are others")
		}
		s.Close()
		if room.left() != 2<<20 {
			t.Fatal("not all was given back")
		}
	})
}

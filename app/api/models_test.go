package api

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/synthetic"
	"tessera/vae"
)

// Models are loaded on first use, and stay. If memory is short, the least recently used
// one is unloaded, and loaded again later.
func TestModelsComeAndGo(t *testing.T) {
	h := device(t)
	models := []Model{{"a", wan(t, synthetic.WanConfig{}), settingsF32}, {"b", wan(t, synthetic.WanConfig{}), settingsF32}, {"c", wan(t, synthetic.WanConfig{}), settingsF32}}
	decode := func(a *API, url, model string, loaded int) []byte {
		r, text := ask(t, "POST", url+small+"&output_type=pt&model="+model, "", tensor(float, ramp(16)))
		require.Equal(t, http.StatusOK, r.StatusCode, string(text))
		assert.Equal(t, loaded, a.Loaded(), "after %s", model)
		return text
	}
	a, url := start(t, h, Options{Models: models})
	assert.Zero(t, a.Loaded())
	want := decode(a, url, "a", 1)
	one := h.dev.Stats().Bytes
	decode(a, url, "b", 2)
	decode(a, url, "c", 3)
	decode(a, url, "a", 3)
	a.PutAway(h.dev)
	assert.Zero(t, a.Loaded())
	assert.Equal(t, want, decode(a, url, "a", 1))
	a.PutAway(h.dev)

	m, err := vae.Open(h.dev, models[0].Path, settingsF32)
	require.NoError(t, err)
	defer m.Close()
	p, err := m.PlanDecode(t.Context(), 1, 1, 1, vae.DecodeOptions{})
	require.NoError(t, err)
	b, url := start(t, h, Options{Models: models, Budget: one + p.Bytes() + one/2})
	decode(b, url, "a", 1)
	decode(b, url, "b", 2)
	for i, model := range []string{"a", "c", "a", "b", "c"} {
		assert.Equal(t, want, decode(b, url, model, 2), fmt.Sprint(i, model))
	}
}

// With several models, a request must name one.
func TestUnnamedModel(t *testing.T) {
	w := wan(t, synthetic.WanConfig{})
	models := []Model{{"a", w, settingsF32}, {"b", w, settingsF32}}
	a, err := New(&alone{}, Options{Models: models})
	require.NoError(t, err)
	defer a.Close()
	for _, path := range []string{small, "/v1/jobs?kind=decode", "/v1/encode?shape=1,3,8,8&dtype=float32"} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("POST", path, bytes.NewReader(tensor(float, ramp(16)))))
		assert.Equal(t, http.StatusBadRequest, w.Code, w.Body.String())
		assert.Contains(t, w.Body.String(), "the request names no model, expected model=NAME with one of a, b")
	}
}

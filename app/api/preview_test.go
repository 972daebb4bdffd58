package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/media"
	"tessera/tests/synthetic"
)

// withTiny serves Wan 2.1, SeedVR2 and a tiny autoencoder of Wan 2.1.
func withTiny(t *testing.T, h *alone) (*API, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "taew2_1.safetensors")
	require.NoError(t, synthetic.CreateTAEHV(path, synthetic.TAEHVConfig{Encoder: 8, Decoder: []int{16, 8, 8, 8}}))
	return start(t, h, Options{Models: []Model{{"wan", wan(t, synthetic.WanConfig{}), settingsF32}, {"seedvr2", seedvr2, settingsF32}, {"tiny", path, settingsF32}}})
}

// A job's preview equals the tiny model's decode, exists while the job runs, and does not
// change the job's output.
func TestJobPreview(t *testing.T) {
	h := device(t)
	a, url := withTiny(t, h)
	z := latentFile(t, 3, 6, 8)
	content := func(query string) []byte {
		j, status := jobOf(t, "POST", url+"/v1/jobs?output=u8"+query, z)
		require.Equal(t, http.StatusCreated, status, j.Error)
		s := ended(t, url, j.ID)
		require.Equal(t, stateDone, s.State, s.Error)
		_, data := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/content", "", nil)
		return data
	}
	plain, want := content("&tile=32"), content("&model=tiny&tile=off")

	for _, output := range []string{"u8", "y4m"} {
		h.mu.Lock() // until the preview is requested
		j, status := jobOf(t, "POST", url+"/v1/jobs?output=u8&tile=32&preview=tiny&preview_output="+output, z)
		require.Equal(t, http.StatusCreated, status, j.Error)
		type answer struct {
			r    *http.Response
			data []byte
		}
		answers := make(chan answer)
		go func() {
			r, data := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/preview", "", nil)
			answers <- answer{r, data}
		}()
		h.mu.Unlock()
		got := <-answers
		require.Equal(t, http.StatusOK, got.r.StatusCode, string(got.data))
		if output == "u8" {
			assert.Equal(t, "[9,48,64,3]", got.r.Header.Get("shape"))
			assert.Equal(t, "uint8", got.r.Header.Get("dtype"))
			assert.True(t, bytes.Equal(want, got.data), "the preview is not the tiny model's decode")
		} else {
			file := filepath.Join(t.TempDir(), "preview.y4m")
			require.NoError(t, media.WriteFile(file, got.data))
			c, err := media.Open(t.Context(), file, 3)
			require.NoError(t, err)
			assert.Equal(t, 9, c.Frames())
			c.Close()
		}
		s := ended(t, url, j.ID)
		require.Equal(t, stateDone, s.State, s.Error)
		assert.Empty(t, s.Preview)
		_, data := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/content", "", nil)
		assert.True(t, bytes.Equal(plain, data), "the content is not what it is without a preview")
		left, err := filepath.Glob(filepath.Join(a.jobs.folder, j.ID, "preview.*"))
		require.NoError(t, err)
		assert.Empty(t, left)
		r, text := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/preview", "", nil)
		assert.Equal(t, http.StatusConflict, r.StatusCode)
		assert.Contains(t, string(text), "the job is done and its preview was removed")
	}
	assert.True(t, bytes.Equal(want, content("&model=tiny&tile=off")), "the tiny model decodes otherwise after a preview")

	for query, want := range map[string]string{
		"preview=none":                            "model \\\"none\\\" not found",
		"preview=seedvr2":                         "preview: tiny-seedvr2.safetensors is SeedVR2, which decodes latents of SeedVR2",
		"preview_output=u8":                       "preview_output without preview",
		"kind=encode&preview=tiny":                "preview needs kind=decode, not encode",
		"preview=tiny&preview_output=safetensors": "preview_output is \\\"safetensors\\\", expected mp4, webm, y4m, png, u8",
	} {
		r, text := ask(t, "POST", url+"/v1/jobs?"+query, "", z)
		assert.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, r.StatusCode, query)
		assert.Contains(t, string(text), want, query)
	}
	h.mu.Lock()
	j, _ := jobOf(t, "POST", url+"/v1/jobs?output=u8", z)
	r, text := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/preview", "", nil)
	h.mu.Unlock()
	assert.Equal(t, http.StatusConflict, r.StatusCode)
	assert.Contains(t, string(text), "the job has no preview: start it with preview=MODEL")
	ended(t, url, j.ID)
	j, _ = jobOf(t, "POST", url+"/v1/jobs?output=u8&preview=tiny&preview_output=png", z) // of 9 frames
	s := ended(t, url, j.ID)
	assert.Equal(t, stateFailed, s.State)
	assert.Contains(t, s.Error, "preview: preview.png: 9 frames don't fit into one PNG")
}

// A job's events name the preview before the decode's progress, and while the decode
// runs.
func TestPreviewBeforeFirstTile(t *testing.T) {
	h := device(t)
	_, url := withTiny(t, h)
	h.mu.Lock() // until the events are read
	j, status := jobOf(t, "POST", url+"/v1/jobs?output=u8&tile=32&preview=tiny&preview_output=u8", latentFile(t, 40, 6, 8))
	r, err := http.Get(url + "/v1/jobs/" + j.ID + "/events")
	h.mu.Unlock()
	require.Equal(t, http.StatusCreated, status, j.Error)
	require.NoError(t, err)
	defer r.Body.Close()
	progress := 0
	for lines := bufio.NewScanner(r.Body); progress < 3 && lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var s state
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		if s.Progress != nil {
			progress++
			assert.Equal(t, "u8", s.Preview, text)
		}
	}
	assert.Equal(t, 3, progress, "events with progress")
	jobOf(t, "DELETE", url+"/v1/jobs/"+j.ID, nil)
	assert.Equal(t, stateCancelled, ended(t, url, j.ID).State)
}

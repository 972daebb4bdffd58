package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/known"
)

// hub serves a file as a published checkpoint, and counts requests.
func hub(t *testing.T, name, file string) (asked *int) {
	t.Helper()
	c, ok := known.Find(name)
	require.True(t, ok, name)
	asked = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		if "http://"+r.Host+r.URL.Path != c.Address("http://"+r.Host) {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, file)
	}))
	t.Cleanup(s.Close)
	t.Setenv("HF_ENDPOINT", s.URL)
	t.Setenv("TESSERA_MODELS", filepath.Join(t.TempDir(), "models"))
	return asked
}

// A published checkpoint is listed, downloaded only when requested, and then opened by
// its name by every command.
func TestPullAndUse(t *testing.T) {
	asked := hub(t, "qwen-image", qwen(t))
	t.Chdir(t.TempDir())
	listed := func() published {
		var r struct {
			Command string
			Models  []published
		}
		require.NoError(t, json.Unmarshal([]byte(succeed(t, "models", "--json").stdout), &r))
		require.Equal(t, "models", r.Command)
		require.Len(t, r.Models, len(known.Checkpoints))
		for _, m := range r.Models {
			if m.Name == "qwen-image" {
				return m
			}
		}
		require.Fail(t, "no qwen-image")
		return published{}
	}
	require.Empty(t, listed().Path)
	page := t.TempDir()
	write(t, filepath.Join(page, "index.html"), []byte("the page"))
	for _, args := range [][]string{
		{"info", "qwen-image"}, {"plan", "-m", "qwen-image", "--size", "64x64"}, {"serve", "-m", "qwen-image", "--listen", "127.0.0.1:0", "--page", page},
		{"decode", "-m", "qwen-image", latentFile(t, 16, 1, 2, 2), "-o", "out.png"}, {"batch", "-m", "qwen-image", latentFile(t, 16, 1, 2, 2), "-o", "{name}.png"},
	} {
		o := tessera(t, args...)
		if args[0] == "plan" && o.code == 0 {
			continue // it may have the model's numbers without its file
		}
		assert.Equal(t, job.ExitInput, o.code, "%v: %s", args, o.stderr)
		assert.Contains(t, o.stderr, "qwen-image: is not on this machine: no such file, and the model qwen-image was not pulled\n  `tessera pull qwen-image` fetches qwen_image_vae.safetensors, 254 MB", "%v", args)
	}
	require.Zero(t, *asked, "before it was asked for")

	o := succeed(t, "pull", "Qwen-Image")
	require.Contains(t, o.stderr, "pulling qwen-image: qwen_image_vae.safetensors, 254 MB, Apache-2.0, from http://127.0.0.1")
	path := filepath.Join(os.Getenv("TESSERA_MODELS"), "qwen_image_vae.safetensors")
	require.Contains(t, o.stdout, path+": use it with -m qwen-image")
	require.FileExists(t, path)
	require.EqualValues(t, path, listed().Path)
	require.Regexp(t, `(?m)^qwen-image +Qwen-Image +qwen_image_vae.safetensors +254 MB +Apache-2.0 +Comfy-Org/Qwen-Image_ComfyUI +yes$`, succeed(t, "models").stdout)
	require.Contains(t, succeed(t, "pull", "qwen-image").stdout, "qwen-image is here: "+path)
	require.Equal(t, 1, *asked)
	require.Contains(t, succeed(t, "info", "qwen-image").stdout, path+": Qwen-Image")
	require.Contains(t, succeed(t, "plan", "-m", "qwen-image", "--size", "64x64").stdout, "Qwen-Image, decode of")
	line, err := json.Marshal(map[string]string{"input": latentFile(t, 16, 1, 2, 2), "output": "of-a-manifest.png", "model": "qwen-image"})
	require.NoError(t, err)
	write(t, "clips.jsonl", line)
	succeed(t, "batch", "--manifest", "clips.jsonl")
	require.FileExists(t, "of-a-manifest.png")
}

// An unknown name is refused before any request.
func TestPullOfNothing(t *testing.T) {
	asked := hub(t, "qwen-image", qwen(t))
	o := tessera(t, "pull", "qwen-image", "nothing")
	require.Equal(t, job.ExitUsage, o.code)
	require.Contains(t, o.stderr, "nothing: no published checkpoint has that name\n  `tessera models` lists the names")
	o = tessera(t, "pull", "qwen")
	require.Contains(t, o.stderr, "; one of them is qwen-image")
	o = tessera(t, "pull", "wan2.1")
	require.Equal(t, job.ExitFailed, o.code)
	require.Contains(t, o.stderr, "wan2.1: cannot be pulled: http://127.0.0.1")
	require.Contains(t, o.stderr, "the server answers 404 Not Found")
	require.Equal(t, 1, *asked)
}

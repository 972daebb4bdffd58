package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// served runs `tessera serve` until the test ends, and returns its address.
func served(t testing.TB, args ...string) (address, token string) {
	t.Helper()
	address, token, _ = servedUntil(t, args...)
	return address, token
}

// servedUntil is served until kill is called.
func servedUntil(t testing.TB, args ...string) (address, token string, kill func()) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "index.html"), []byte("the page"))
	cmd := exec.Command(built.program, append([]string{"serve", "--json", "--listen", "127.0.0.1:0", "--page", dir}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	t.Cleanup(func() {
		kill()
		if t.Failed() {
			t.Log(stderr.String())
		}
	})
	var told struct {
		URL string `json:"url"`
	}
	require.NoError(t, json.NewDecoder(out).Decode(&told), "%s", &stderr)
	address, token, _ = strings.Cut(told.URL, "/#token=")
	return address, token, kill
}

// post sends a body and returns the answer, which must be a success.
func post(t testing.TB, address string, body []byte) (http.Header, []byte) {
	t.Helper()
	r, err := http.Post(address, "tensor/binary", bytes.NewReader(body))
	require.NoError(t, err)
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.StatusCode, string(data))
	return r.Header, data
}

// asked returns a query with a shape, as Python's requests sends it.
func asked(shape []int, more string) string {
	q, _ := url.ParseQuery(more)
	for _, n := range shape {
		q.Add("shape", fmt.Sprint(n))
	}
	q.Set("dtype", "float32")
	return "?" + q.Encode()
}

// float32s returns numbers as they are sent.
func float32s(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// The server's answers equal the command line's output, to the bit: floats of both
// scales, 8-bit pixels, and latents.
func TestServerIsTheCommandLine(t *testing.T) {
	t.Parallel()
	needDevice(t)
	models := map[string]string{"wan": wan21(t), "qwen": qwen(t), "seedvr2": tiny}
	address, _ := served(t, "--precision", "f32", "-m", "wan="+models["wan"], "-m", "qwen="+models["qwen"], "-m", "seedvr2="+models["seedvr2"])
	dir := t.TempDir()
	for name, model := range models {
		for _, scale := range []string{"pipeline", "none"} {
			if name == "qwen" && scale == "none" {
				continue // as Wan
			}
			query := "output_type=pt&model=" + name
			if scale == "pipeline" {
				query += "&do_scaling=True"
			}
			file := latentFile(t, 16, 2, 2, 3)
			z, _ := readTensor(t, file)
			out := filepath.Join(dir, name+scale)
			succeed(t, "decode", "-m", model, "--precision", "f32", "--scale", scale, file, "-o", out+".npy")
			_, got := post(t, address+"/v1/decode"+asked([]int{1, 16, 2, 2, 3}, query), float32s(z.data))
			assert.True(t, bytes.Equal(float32s(readNPY(t, out+".npy")), got), "%s, scale %s", name, scale)
			if scale == "none" {
				continue
			}
			succeed(t, "decode", "-m", model, "--precision", "f32", file, "-o", out)
			header, codes := post(t, address+"/v1/decode"+asked([]int{1, 16, 2, 2, 3}, query+"&partial_postprocess=True"), float32s(z.data))
			var shape []int
			require.NoError(t, json.Unmarshal([]byte(header.Get("shape")), &shape))
			for f := range shape[0] {
				want := rgb(t, filepath.Join(out, fmt.Sprintf("frame_%04d.png", f)))
				assert.True(t, bytes.Equal(want, codes[f*len(want):][:len(want)]), "%s, frame %d", name, f)
			}
		}
	}
	clip := demoClip(t, 5, 16, 24)
	z := filepath.Join(dir, "z.safetensors")
	succeed(t, "encode", "-m", models["wan"], "--precision", "f32", clip, "-o", z)
	want, _ := readTensor(t, z)
	pixels := make([]byte, 3*5*16*24)
	for f := range 5 {
		for i, v := range rgb(t, filepath.Join(clip, fmt.Sprintf("frame_%04d.png", f))) {
			pixels[(i%3*5+f)*16*24+i/3] = v
		}
	}
	query := strings.Replace(asked([]int{1, 3, 5, 16, 24}, "do_scaling=True&model=wan"), "float32", "uint8", 1)
	header, got := post(t, address+"/v1/encode"+query, pixels)
	assert.Equal(t, "[1,16,2,2,3]", header.Get("shape"))
	assert.True(t, bytes.Equal(float32s(want.data), got), "latents differ")
}

// jobState is a job's state.
type jobState struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Bytes int64  `json:"bytes"`
	Error string `json:"error"`
}

// jobAt requests a job's state until wanted accepts it.
func jobAt(t testing.TB, address string, wanted func(jobState) bool) (j jobState) {
	t.Helper()
	require.Eventually(t, func() bool {
		r, err := http.Get(address)
		require.NoError(t, err)
		defer r.Body.Close()
		require.NoError(t, json.NewDecoder(r.Body).Decode(&j))
		return wanted(j)
	}, time.Minute, 10*time.Millisecond)
	return j
}

// newJob sends a latent's file as a job.
func newJob(t testing.TB, address, query, file string) (j jobState) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	r, err := http.Post(address+"/v1/jobs"+query, "", bytes.NewReader(data))
	require.NoError(t, err)
	defer r.Body.Close()
	require.Equal(t, http.StatusCreated, r.StatusCode)
	require.NoError(t, json.NewDecoder(r.Body).Decode(&j))
	return j
}

// A job's video equals the command line's file, byte by byte. After a kill and a restart
// the server has the finished jobs, and reports the others as interrupted.
func TestServerIsKilled(t *testing.T) {
	needDevice(t)
	jobs, file := t.TempDir(), latentFile(t, 16, 2, 2, 3)
	args := []string{"--precision", "f32", "-m", "tiny=" + tiny, "--jobs", jobs}
	address, _, kill := servedUntil(t, args...)
	out := filepath.Join(t.TempDir(), "out.y4m")
	succeed(t, "decode", "-m", tiny, "--precision", "f32", file, "-o", out)
	want, err := os.ReadFile(out)
	require.NoError(t, err)
	over := func(j jobState) bool { return j.State != "queued" && j.State != "running" }
	done := newJob(t, address, "?output=y4m", file)
	require.Equal(t, "done", jobAt(t, address+"/v1/jobs/"+done.ID, over).State)
	long := newJob(t, address, "?output=y4m", latentFile(t, 16, 400, 2, 2))
	jobAt(t, address+"/v1/jobs/"+long.ID, func(j jobState) bool { return j.Bytes > 0 })
	kill()

	address, _ = served(t, args...)
	r, err := http.Get(address + "/v1/jobs/" + done.ID + "/content")
	require.NoError(t, err)
	defer r.Body.Close()
	got, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got), "the server's video and the command line's")
	j := jobAt(t, address+"/v1/jobs/"+long.ID, over)
	assert.Equal(t, "interrupted", j.State)
	assert.Contains(t, j.Error, "the server ended before the job did")
}

// rgb returns a PNG's pixels.
func rgb(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	var all []byte
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			switch img := img.(type) {
			case *image.RGBA:
				all = append(all, img.Pix[img.PixOffset(x, y):][:3]...)
			case *image.NRGBA:
				all = append(all, img.Pix[img.PixOffset(x, y):][:3]...)
			default:
				require.Fail(t, "a PNG of another kind", "%T", img)
			}
		}
	}
	return all
}

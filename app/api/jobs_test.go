package api

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/tiff"

	"tessera/latent"
	"tessera/media"
)

// jobOf sends a request and reads a job's state.
func jobOf(t *testing.T, method, address string, body []byte) (state, int) {
	t.Helper()
	r, text := ask(t, method, address, "", body)
	var s state
	require.NoError(t, json.Unmarshal(text, &s), string(text))
	return s, r.StatusCode
}

// ended waits for a job's end.
func ended(t *testing.T, url, id string) (s state) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, _ = jobOf(t, "GET", url+"/v1/jobs/"+id, nil)
		return s.over()
	}, time.Minute, 20*time.Millisecond)
	return s
}

// latentFile returns a latent's file.
func latentFile(t *testing.T, frames, h, w int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := latent.Latent{Channels: 16, Frames: frames, Height: h, Width: w, Data: ramp(16 * frames * h * w)}
	require.NoError(t, media.EncodeLatent(&b, "z.safetensors", z))
	return b.Bytes()
}

// A job's frames equal those of the same request without a job; its latent decodes to
// what a round trip decodes to.
func TestJobs(t *testing.T) {
	h := device(t)
	_, url := start(t, h, Options{})
	shape := params([]int{1, 16, 2, 2, 3}, map[string]string{"dtype": "float32"})
	body := tensor(float, ramp(16*2*2*3))
	_, want := ask(t, "POST", url+"/v1/decode"+shape+"&output_type=pt&partial_postprocess=true&do_scaling=True", "", body)

	made, status := jobOf(t, "POST", url+"/v1/jobs"+shape+"&output=u8", body)
	require.Equal(t, http.StatusCreated, status, made.Error)
	s := ended(t, url, made.ID)
	require.Equal(t, stateDone, s.State, s.Error)
	assert.Equal(t, []int{5, 16, 24, 3}, s.Shape)
	assert.Equal(t, []int{16, 2, 2, 3}, s.Result.Latent)
	r, got := ask(t, "GET", url+"/v1/jobs/"+made.ID+"/content", "", nil)
	assert.Equal(t, "[5,16,24,3]", r.Header.Get("shape"))
	assert.Equal(t, "uint8", r.Header.Get("dtype"))
	assert.True(t, bytes.Equal(want, got), "%d bytes, expected %d", len(got), len(want))
	q, _ := http.NewRequest("GET", url+"/v1/jobs/"+made.ID+"/content", nil)
	q.Header.Set("Range", "bytes=100-199")
	r, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	part, _ := io.ReadAll(r.Body)
	r.Body.Close()
	assert.Equal(t, http.StatusPartialContent, r.StatusCode)
	assert.Equal(t, want[100:200], part)

	clip := params([]int{1, 3, 5, 16, 24}, map[string]string{"dtype": "uint8"})
	pixels := bytes.Repeat([]byte{0, 30, 60, 90, 120, 150, 180, 210, 240}, 640)
	enc, _ := jobOf(t, "POST", url+"/v1/jobs"+clip+"&kind=encode&output=safetensors", pixels)
	require.Equal(t, stateDone, ended(t, url, enc.ID).State)
	_, z := ask(t, "GET", url+"/v1/jobs/"+enc.ID+"/content", "", nil)
	dec, _ := jobOf(t, "POST", url+"/v1/jobs?kind=decode&input=safetensors&output=f32", z)
	trip, _ := jobOf(t, "POST", url+"/v1/jobs"+clip+"&kind=roundtrip&output=f32", pixels)
	require.Equal(t, stateDone, ended(t, url, dec.ID).State)
	s = ended(t, url, trip.ID)
	require.Equal(t, stateDone, s.State, s.Error)
	assert.Less(t, s.Result.Quality.SSIM, 1.0)
	_, a := ask(t, "GET", url+"/v1/jobs/"+dec.ID+"/content", "", nil)
	_, b := ask(t, "GET", url+"/v1/jobs/"+trip.ID+"/content", "", nil)
	require.Len(t, a, 5*16*24*3*4)
	assert.True(t, bytes.Equal(a, b), "a round trip decodes to something else")

	for _, output := range []string{"y4m", "npy"} {
		j, _ := jobOf(t, "POST", url+"/v1/jobs"+shape+"&output="+output, body)
		s := ended(t, url, j.ID)
		require.Equal(t, stateDone, s.State, s.Error)
		if output == "y4m" {
			require.NotEmpty(t, s.Warnings, "of a rate that nothing tells")
			assert.True(t, strings.HasPrefix(s.Warnings[0], "output.y4m: "), s.Warnings[0])
		}
		path := filepath.Join(t.TempDir(), "out."+output)
		_, file := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/content", "", nil)
		assert.EqualValues(t, s.Bytes, len(file))
		require.NoError(t, os.WriteFile(path, file, 0o600))
		c, err := media.Open(t.Context(), path, 3)
		require.NoError(t, err, output)
		assert.Equal(t, 5, c.Frames())
		c.Close()
	}
	r, _ = ask(t, "DELETE", url+"/v1/jobs/"+made.ID, "", nil)
	assert.Equal(t, http.StatusNoContent, r.StatusCode)
	r, _ = ask(t, "GET", url+"/v1/jobs/"+made.ID, "", nil)
	assert.Equal(t, http.StatusNotFound, r.StatusCode)
}

// Pictures of 16 bits and of linear light as outputs and inputs, and their impossible
// combinations.
func TestDeepJobs(t *testing.T) {
	_, url := start(t, device(t), Options{})
	shape := params([]int{1, 16, 1, 2, 3}, map[string]string{"dtype": "float32"})
	body := tensor(float, ramp(16*2*3))
	content := func(query string, body []byte) []byte {
		t.Helper()
		j, status := jobOf(t, "POST", url+"/v1/jobs"+query, body)
		require.Equal(t, http.StatusCreated, status, j.Error)
		s := ended(t, url, j.ID)
		require.Equal(t, stateDone, s.State, s.Error)
		_, file := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/content", "", nil)
		return file
	}
	floats := content(shape+"&output=f32", body) // [1,H,W,3]
	var want []uint16
	for v := range slices.Chunk(floats, 4) {
		x := float64(math.Float32frombits(binary.LittleEndian.Uint32(v)))
		want = append(want, uint16(math.Round((math.Max(-1, math.Min(1, x))+1)/2*65535)))
	}
	file := content(shape+"&output=tiff&pix_fmt=rgb48le", body)
	for name, decode := range map[string]func(io.Reader) (image.Image, error){"png&pix_fmt=rgb48be": png.Decode, "tiff&pix_fmt=rgb48le": tiff.Decode} {
		img, err := decode(bytes.NewReader(content(shape+"&output="+name, body)))
		require.NoError(t, err, name)
		var got []uint16
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				got = append(got, uint16(r), uint16(g), uint16(b))
			}
		}
		assert.Equal(t, want, got, name)
	}
	r, z := ask(t, "POST", url+"/v1/encode", "image/tiff", file)
	require.Equal(t, http.StatusOK, r.StatusCode, string(z))
	content("?kind=encode&input=tiff&output=safetensors", file)
	if media.HaveFFmpeg() {
		light := content(shape+"&output=exr", body)
		assert.Equal(t, "\x76\x2f\x31\x01", string(light[:4]))
		r, again := ask(t, "POST", url+"/v1/encode", "image/x-exr", light)
		require.Equal(t, http.StatusOK, r.StatusCode, string(again))
		assert.Len(t, again, len(z))
		content("?kind=encode&input=exr&output=safetensors", light)
	}
	for query, says := range map[string]string{
		"&output=mp4&pix_fmt=rgb48be":   "pix_fmt needs output=png, tiff or exr, not mp4",
		"&output=png&pix_fmt=gbrpf32le": `pixel format \"gbrpf32le\" of frames of 3 channels, expected rgb24, rgb48be, rgb48le`,
		"&output=png&pix_fmt=yuv420p":   `pix_fmt is \"yuv420p\", expected rgb24`,
	} {
		r, text := ask(t, "POST", url+"/v1/jobs"+shape+query, "", body)
		assert.Equal(t, http.StatusBadRequest, r.StatusCode, query)
		assert.Contains(t, string(text), says)
	}
}

// A streaming format can be read while it is written, and so can its progress; DELETE
// ends the job.
func TestJobsWhileTheyRun(t *testing.T) {
	h := device(t)
	_, url := start(t, h, Options{})
	j, _ := jobOf(t, "POST", url+"/v1/jobs?input=safetensors&output=u8", latentFile(t, 400, 2, 2))
	r, err := http.Get(url + "/v1/jobs/" + j.ID + "/content")
	require.NoError(t, err)
	defer r.Body.Close()
	_, err = io.ReadFull(r.Body, make([]byte, 3*16*16*3))
	require.NoError(t, err, "three frames")
	s, _ := jobOf(t, "GET", url+"/v1/jobs/"+j.ID, nil)
	require.Equal(t, stateRunning, s.State)
	assert.Equal(t, "decode", s.Progress.Stage)
	assert.Less(t, s.Progress.Done, 1.0)

	e, err := http.Get(url + "/v1/jobs/" + j.ID + "/events")
	require.NoError(t, err)
	defer e.Body.Close()
	assert.Equal(t, "text/event-stream", e.Header.Get("Content-Type"))
	lines := bufio.NewScanner(e.Body)
	require.True(t, lines.Scan())
	assert.Equal(t, "event: running", lines.Text())
	s, status := jobOf(t, "DELETE", url+"/v1/jobs/"+j.ID, nil)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, stateCancelled, s.State)
	last := ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			last = name
		}
	}
	assert.Equal(t, stateCancelled, last, "the last event")
	_, err = io.Copy(io.Discard, r.Body)
	assert.Error(t, err, "the content of a cancelled job ends well")
	r2, text := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/content", "", nil)
	assert.Equal(t, http.StatusConflict, r2.StatusCode, string(text))
	j, _ = jobOf(t, "POST", url+"/v1/jobs?input=safetensors&output=npy", latentFile(t, 400, 2, 2))
	r2, text = ask(t, "GET", url+"/v1/jobs/"+j.ID+"/content", "", nil)
	assert.Equal(t, http.StatusConflict, r2.StatusCode)
	assert.Contains(t, string(text), "npy cannot be read before it is done")
	assert.Equal(t, "1", r2.Header.Get("Retry-After"))
	_, _ = jobOf(t, "DELETE", url+"/v1/jobs/"+j.ID, nil)
	assert.Equal(t, stateCancelled, ended(t, url, j.ID).State)
}

// An input may come in parts. After an interruption, or a restart, it continues where it
// ended.
func TestParts(t *testing.T) {
	folder := t.TempDir()
	o := Options{Folder: folder, Models: []Model{{"seedvr2", seedvr2, settingsF32}}}
	h := device(t)
	a, err := New(h, o)
	require.NoError(t, err)
	s := httptest.NewServer(a)
	z := latentFile(t, 1, 2, 2)
	j, status := jobOf(t, "POST", fmt.Sprintf("%s/v1/jobs?input=safetensors&output=u8&size=%d", s.URL, len(z)), nil)
	require.Equal(t, http.StatusCreated, status)
	part := func(server string, first, last, size int, body []byte) (int, string) {
		r, _ := http.NewRequest("PATCH", server+"/v1/jobs/"+j.ID+"/input", bytes.NewReader(body))
		r.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, size))
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	for name, c := range map[string]struct {
		first, last, size int
		body              []byte
		status            int
		want              string
	}{
		"a gap":        {10, 19, len(z), z[10:20], 409, "the part begins at byte 10, expected 0"},
		"another size": {0, 9, 10, z[:10], 400, "expected a range of the input's"},
		"backwards":    {9, 0, len(z), nil, 400, "expected a range of the input's"},
		"too long":     {0, len(z), len(z), append(z[:len(z):len(z)], 0), 400, "expected a range of the input's"},
		"short":        {0, 9, len(z), z[:5], 400, "the body has 5 bytes"},
	} {
		status, text := part(s.URL, c.first, c.last, c.size, c.body)
		assert.Equal(t, c.status, status, name)
		assert.Contains(t, text, c.want, name)
	}
	status, text := part(s.URL, 0, 99, len(z), z[:100])
	require.Equal(t, http.StatusOK, status, text)
	s.Close()
	require.NoError(t, a.Close())

	a, err = New(h, o)
	require.NoError(t, err)
	s = httptest.NewServer(a)
	defer s.Close()
	now, _ := jobOf(t, "GET", s.URL+"/v1/jobs/"+j.ID, nil)
	assert.EqualValues(t, 100, now.Received)
	assert.Equal(t, stateReceiving, now.State)
	status, text = part(s.URL, 100, len(z)-1, len(z), z[100:])
	require.Equal(t, http.StatusOK, status, text)
	now = ended(t, s.URL, j.ID)
	assert.Equal(t, stateDone, now.State, now.Error)
	status, text = part(s.URL, 0, 99, len(z), z[:100])
	assert.Equal(t, http.StatusConflict, status, text)
	s.Close()
	require.NoError(t, a.Close())
	require.NoError(t, a.Forget(h.dev))
}

// A client that starts an upload and stops sending loses its place, but not the job: the
// next part takes a place again if there is one. The time of an upload counts from its
// last byte.
func TestUploadsRest(t *testing.T) {
	a, url := start(t, &alone{}, Options{Places: 4, Stall: 50 * time.Millisecond, Allow: byName, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	ids := []string{}
	for range 3 { // as many as one client may have at once
		j, status := jobOf(t, "POST", url+"/v1/jobs?input=npy&size=10", nil)
		require.Equal(t, http.StatusCreated, status, j.Error)
		ids = append(ids, j.ID)
	}
	require.Eventually(t, func() bool { return a.places.count() == 0 }, 10*time.Second, time.Millisecond, "places of who has gone")
	part := func(first, last int) (state, int) {
		r, _ := http.NewRequest("PATCH", url+"/v1/jobs/"+ids[0]+"/input", strings.NewReader("0123456789"[first:last+1]))
		r.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/10", first, last))
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		var s state
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&s))
		return s, answer.StatusCode
	}
	s, status := part(0, 3)
	require.Equal(t, http.StatusOK, status, s.Error)
	assert.EqualValues(t, 4, s.Received)
	require.Eventually(t, func() bool { return a.places.count() == 0 }, 10*time.Second, time.Millisecond)
	var leave []func()
	for _, client := range []string{"a", "b", "c", "d"} {
		l, err := a.places.enter(client)
		require.NoError(t, err)
		leave = append(leave, l)
	}
	s, status = part(4, 9)
	require.Equal(t, http.StatusTooManyRequests, status)
	assert.Contains(t, s.Error, "4 requests are already waiting")
	for _, l := range leave {
		l()
	}
	s, status = part(4, 9)
	require.Equal(t, http.StatusOK, status, s.Error)
	assert.Equal(t, "no_adapter", ended(t, url, ids[0]).Code)

	j, err := a.jobs.find(ids[1])
	require.NoError(t, err)
	later := time.Now().Add(a.o.Keep)
	j.due = later.Add(a.o.Keep)
	a.jobs.tidy(later.Add(time.Hour))
	_, err = a.jobs.find(ids[1])
	require.NoError(t, err, "more came an hour ago")
	_, err = a.jobs.find(ids[2])
	require.Error(t, err)
	a.jobs.tidy(later.Add(a.o.Keep + time.Hour))
	_, err = a.jobs.find(ids[1])
	require.Error(t, err)

	for _, j := range a.jobs.all() {
		a.jobs.forget(j)
	}
	for range maxJobs * 3 / 4 {
		a.jobs.jobs[newID()] = a.newWork("", "", "", state{State: stateReceiving})
	}
	s, status = jobOf(t, "POST", url+"/v1/jobs?input=npy&size=10", nil)
	assert.Equal(t, http.StatusTooManyRequests, status)
	assert.Contains(t, s.Error, "7500 jobs are kept, 7500 of them yours, and all are unfinished")
	clear(a.jobs.jobs)
}

// DELETE ends an upload that hangs in the middle of a part.
func TestCancelHangingPart(t *testing.T) {
	a, url := start(t, &alone{}, Options{Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	j, status := jobOf(t, "POST", url+"/v1/jobs?input=npy&size=10", nil)
	require.Equal(t, http.StatusCreated, status, j.Error)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "PATCH /v1/jobs/%s/input HTTP/1.1\r\nHost: x\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\nhal", j.ID)
	w, err := a.jobs.find(j.ID)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return w.received() == 3 }, 10*time.Second, time.Millisecond)
	s, status := jobOf(t, "DELETE", url+"/v1/jobs/"+j.ID, nil)
	require.Equal(t, http.StatusOK, status)
	assert.Equal(t, stateCancelled, s.State)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, http.StatusConflict, answer.StatusCode, "it was waited for")
	assert.Zero(t, a.places.count())
}

// A job that is cancelled and deleted before it has ended leaves neither files nor a line
// in the log.
func TestDeleteBeforeEnd(t *testing.T) {
	h := device(t)
	a, url := start(t, h, Options{})
	var said []string
	a.o.Log = func(line string) { said = append(said, line) }
	h.mu.Lock() // it waits for the device
	j, status := jobOf(t, "POST", url+"/v1/jobs?model=seedvr2&input=safetensors&output=u8", latentFile(t, 1, 2, 2))
	assert.Equal(t, http.StatusCreated, status, j.Error)
	w, err := a.jobs.find(j.ID)
	assert.NoError(t, err)
	for _, want := range []int{http.StatusOK, http.StatusNoContent} {
		r, text := ask(t, "DELETE", url+"/v1/jobs/"+j.ID, "", nil)
		assert.Equal(t, want, r.StatusCode, string(text))
	}
	h.mu.Unlock()
	assert.Eventually(t, func() bool { return a.places.count() == 0 }, time.Minute, time.Millisecond)
	assert.NoDirExists(t, w.folder)
	assert.Empty(t, said)
}

// After a restart, finished jobs are available and unfinished ones are interrupted; two
// servers cannot share a folder.
func TestRestart(t *testing.T) {
	folder := t.TempDir()
	o := Options{Folder: folder, Models: []Model{{"seedvr2", seedvr2, settingsF32}}, Log: func(line string) { t.Log(line) }}
	h := device(t)
	a, err := New(h, o)
	require.NoError(t, err)
	_, err = New(h, o)
	require.ErrorContains(t, err, "in use by another server")
	s := httptest.NewServer(a)
	done, _ := jobOf(t, "POST", s.URL+"/v1/jobs?input=safetensors&output=u8", latentFile(t, 1, 2, 2))
	require.Equal(t, stateDone, ended(t, s.URL, done.ID).State)
	_, want := ask(t, "GET", s.URL+"/v1/jobs/"+done.ID+"/content", "", nil)
	running, _ := jobOf(t, "POST", s.URL+"/v1/jobs?input=safetensors&output=u8", latentFile(t, 400, 2, 2))
	waiting, _ := jobOf(t, "POST", s.URL+"/v1/jobs?input=safetensors&output=u8", latentFile(t, 1, 2, 2))
	require.Eventually(t, func() bool {
		now, _ := jobOf(t, "GET", s.URL+"/v1/jobs/"+running.ID, nil)
		return now.Bytes > 0
	}, time.Minute, 10*time.Millisecond)
	killed := filepath.Join(t.TempDir(), "killed") // a copy of the folder at this moment
	require.NoError(t, os.CopyFS(killed, os.DirFS(folder)))
	s.Close()
	require.NoError(t, a.Close())
	require.NoError(t, a.Forget(h.dev))

	for name, folder := range map[string]string{"ended": folder, "killed": killed} {
		t.Run(name, func(t *testing.T) {
			o.Folder = folder
			a, url := start(t, h, o)
			now, _ := jobOf(t, "GET", url+"/v1/jobs/"+done.ID, nil)
			assert.Equal(t, stateDone, now.State)
			_, got := ask(t, "GET", url+"/v1/jobs/"+done.ID+"/content", "", nil)
			assert.True(t, bytes.Equal(want, got))
			for _, id := range []string{running.ID, waiting.ID} {
				now, _ := jobOf(t, "GET", url+"/v1/jobs/"+id, nil)
				assert.Equal(t, stateInterrupted, now.State)
				assert.Contains(t, now.Error, "the server ended before the job did: send it again")
			}
			assert.EqualValues(t, len(want), a.jobs.bytes(), "the disk that is taken")
		})
	}
}

// Results are removed when they expire, and earlier if the disk is full, the oldest
// first.
func TestKeeping(t *testing.T) {
	h := device(t)
	a, url := start(t, h, Options{Disk: 8 << 10, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	var ids []string
	for range 3 {
		j, status := jobOf(t, "POST", url+"/v1/jobs?input=safetensors&output=u8", latentFile(t, 1, 4, 4))
		require.Equal(t, http.StatusCreated, status, j.Error)
		s := ended(t, url, j.ID)
		require.Equal(t, stateDone, s.State, s.Error)
		ids = append(ids, j.ID)
	}
	r, _ := ask(t, "GET", url+"/v1/jobs/"+ids[0], "", nil)
	assert.Equal(t, http.StatusNotFound, r.StatusCode, "the first result, where 8 KiB have no room for two of 3 and a third")
	s, _ := jobOf(t, "GET", url+"/v1/jobs/"+ids[2], nil)
	assert.WithinDuration(t, s.Ended.Add(24*time.Hour), s.Expires, time.Second)
	r, text := ask(t, "POST", url+"/v1/jobs?input=safetensors&size=9000", "", nil)
	assert.Equal(t, http.StatusBadRequest, r.StatusCode, string(text))
	big, _ := jobOf(t, "POST", url+"/v1/jobs?input=safetensors&output=u8", latentFile(t, 9, 4, 4)[:])
	if big.ID != "" {
		assert.Equal(t, "no_room", ended(t, url, big.ID).Code)
	}
	a.jobs.tidy(time.Now().Add(25 * time.Hour))
	r, _ = ask(t, "GET", url+"/v1/jobs/"+ids[2], "", nil)
	assert.Equal(t, http.StatusNotFound, r.StatusCode)
	assert.Zero(t, a.jobs.bytes())
	entries, err := os.ReadDir(a.jobs.folder)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// done adds a finished job of a client with the given bytes.
func done(t *testing.T, a *API, client string, bytes int64) *work {
	t.Helper()
	id := newID()
	j := a.newWork(filepath.Join(a.jobs.folder, id), "", client, state{ID: id, State: stateDone, Ended: time.Now(), Bytes: bytes})
	require.NoError(t, j.reserve(bytes))
	require.NoError(t, a.jobs.enter(j))
	return j
}

// A client's job makes room by removing that client's results only, and only if this
// frees enough. An announced size takes no room before its bytes arrive.
func TestRoomIsTheOwners(t *testing.T) {
	a, url := start(t, &alone{}, Options{Disk: 8 << 10, Allow: byName, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	theirs := done(t, a, "a", 2<<10)
	first, second := done(t, a, "b", 3<<10), done(t, a, "b", 1<<10)
	kept := func(j *work) bool { _, err := a.jobs.find(j.state.ID); return err == nil }
	post := func(query string, body []byte) (state, int) {
		r, err := http.NewRequest("POST", url+"/v1/jobs?input=npy"+query, bytes.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("From", "b")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		var s state
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&s))
		return s, answer.StatusCode
	}

	s, status := post("&size=6145", nil)
	assert.Equal(t, http.StatusRequestEntityTooLarge, status)
	assert.Contains(t, s.Error, "at most 6.0 KiB for one client")
	s, status = post("", make([]byte, 6145))
	assert.Equal(t, http.StatusRequestEntityTooLarge, status, s.Error)
	assert.True(t, kept(theirs) && kept(first) && kept(second), "what can't fit removes nothing")

	s, status = post("&size=5000", nil)
	require.Equal(t, http.StatusCreated, status, s.Error)
	assert.EqualValues(t, 2<<10, a.disk.left(), "nothing has come")
	assert.True(t, kept(first) && kept(second))

	s, status = post("", make([]byte, 3000))
	require.Equal(t, http.StatusCreated, status, s.Error)
	assert.True(t, kept(theirs), "another's result")
	assert.False(t, kept(first), "its earliest job")
	assert.True(t, kept(second), "the next, which need not go")
}

// The number of concurrent jobs stays within its limit.
func TestJobsAreBounded(t *testing.T) {
	a, _ := start(t, &alone{}, Options{Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	for range maxJobs - 2 {
		a.jobs.jobs[newID()] = a.newWork("", "", newID(), state{State: stateReceiving})
	}
	var entered atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if a.jobs.enter(a.newWork("", "", "x", state{ID: newID(), State: stateReceiving})) == nil {
				entered.Add(1)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 2, entered.Load())
	clear(a.jobs.jobs)
}

// A job with an unreadable record is moved aside.
func TestUnreadableJobIsKept(t *testing.T) {
	id := newID()
	for _, record := range []string{
		"", "[", "null", "{}", `{"id": "` + id + `"}`, `{"id": "` + id + `", "state": "paused"}`,
		`{"id": "` + newID() + `", "state": "done", "output": "mp4", "bytes": 6}`,
	} {
		folder := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(folder, id), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, id, "job.json"), []byte(record), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, id, "output.mp4"), []byte("frames"), 0o600))
		a, err := New(&alone{}, Options{Folder: folder, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
		require.NoError(t, err, record)
		assert.Empty(t, a.jobs.all(), record)
		require.NoError(t, a.Close())
		text, err := os.ReadFile(filepath.Join(folder, id+".unreadable", "output.mp4"))
		if assert.NoError(t, err, record) {
			assert.Equal(t, "frames", string(text))
		}
	}
}

// A job without room at one start returns at the next start with room.
func TestJobWithoutRoomIsLeft(t *testing.T) {
	folder, id := t.TempDir(), newID()
	require.NoError(t, os.Mkdir(filepath.Join(folder, id), 0o700))
	output := bytes.Repeat([]byte("x"), 5000)
	record, err := json.Marshal(kept{state{ID: id, Kind: kindDecode, State: stateDone, Output: "u8", Bytes: 5000, Ended: time.Now(), Expires: time.Now().Add(time.Hour)}, "output=u8", ""})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, id, "job.json"), record, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, id, "output.u8"), output, 0o600))
	for _, c := range []struct {
		disk   int64
		status int
	}{{4096, http.StatusNotFound}, {1 << 20, http.StatusOK}} {
		var said []string
		a, err := New(&alone{}, Options{Folder: folder, Disk: c.disk, Models: []Model{{"seedvr2", seedvr2, settingsF32}}, Log: func(line string) { said = append(said, line) }})
		require.NoError(t, err)
		s := httptest.NewServer(a)
		r, got := ask(t, "GET", s.URL+"/v1/jobs/"+id+"/content", "", nil)
		assert.Equal(t, c.status, r.StatusCode, string(got))
		if c.status == http.StatusOK {
			assert.Equal(t, output, got)
			assert.Empty(t, said)
		} else if assert.Len(t, said, 1) {
			assert.Contains(t, said[0], "is kept in "+filepath.Join(folder, id)+": 4.9 KiB, and the server keeps at most 3.0 KiB for one client")
		}
		s.Close()
		require.NoError(t, a.Close())
	}
}

// Impossible jobs are refused before any input is received.
func TestMalformedJobs(t *testing.T) {
	_, url := start(t, &alone{}, Options{Disk: 1 << 20, Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	for name, c := range map[string]struct {
		query, want string
		status      int
	}{
		"another kind":       {"kind=upscale", "kind is \"upscale\", expected decode, encode, roundtrip", 400},
		"a path":             {"output=../../x.mp4", "output is", 400},
		"video of latents":   {"kind=decode&input=mp4", "input is \"mp4\"", 400},
		"latents as video":   {"kind=encode&output=mp4", "output is \"mp4\"", 400},
		"no shape":           {"input=tensor", "input=tensor without a shape", 400},
		"codes of latents":   {"shape=1,16,1,1,1&dtype=uint8", "a latent of dtype uint8", 400},
		"two clips":          {"shape=2,16,1,1,1&dtype=float32", "expected one clip", 400},
		"moments of frames":  {"moments=true", "moments need kind=encode", 400},
		"more than there is": {"size=2e6", "size is 2e+06", 400},
		"nothing":            {"input=npy", "an empty input", 400},
		"a long query":       {"input=npy&fps=" + strings.Repeat("1", 5000), "a query of", 400},
	} {
		r, text := ask(t, "POST", url+"/v1/jobs?"+c.query, "", nil)
		assert.Equal(t, c.status, r.StatusCode, name)
		assert.Contains(t, strings.ReplaceAll(string(text), `\"`, `"`), c.want, name)
	}
	for _, path := range []string{"/v1/jobs/x", "/v1/jobs/" + newID(), "/v1/jobs/..%2f..%2fx/content", "/v1/jobs/" + newID() + "/events"} {
		r, text := ask(t, "GET", url+path, "", nil)
		assert.Equal(t, http.StatusNotFound, r.StatusCode, "%s: %s", path, text)
	}
	j, status := jobOf(t, "POST", url+"/v1/jobs?input=npy&size=10", nil)
	require.Equal(t, http.StatusCreated, status)
	_, status = jobOf(t, "DELETE", url+"/v1/jobs/"+j.ID, nil)
	assert.Equal(t, http.StatusOK, status)
	bad, _ := jobOf(t, "POST", url+"/v1/jobs?input=npy", []byte("no NumPy file"))
	s := ended(t, url, bad.ID)
	assert.Equal(t, stateFailed, s.State)
	assert.Equal(t, "no_adapter", s.Code)
}

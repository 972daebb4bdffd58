package api

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/media"
	"tessera/tests/testenv"
)

// twoTracks is a video whose second track is its default: 96x64, the first 64x48.
func twoTracks(t *testing.T) []byte {
	t.Helper()
	testenv.Watch()
	if !media.HaveFFmpeg() {
		testenv.Missing(t, "no ffmpeg")
	}
	path := filepath.Join(t.TempDir(), "two.mkv")
	args := strings.Fields("-v error -f lavfi -i testsrc2=s=64x48:r=8:d=0.125 -f lavfi -i testsrc2=s=96x64:r=8:d=0.125 -map 0 -map 1 -c:v ffv1 -pix_fmt yuv420p -disposition:v:0 0 -disposition:v:1 default")
	out, err := exec.Command("ffmpeg", append(args, path)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// A job reads the video track that players show and notes the choice, or reads the
// requested track.
func TestJobTracks(t *testing.T) {
	clip := twoTracks(t)
	_, url := start(t, device(t), Options{Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	jobs := url + "/v1/jobs?kind=encode&input=mkv&output=npy"
	for query, want := range map[string]struct {
		latent []int
		note   string
	}{
		"":         {[]int{16, 1, 8, 12}, "input.mkv: has 2 video tracks: reads track 2 (96x64, ffv1, default), not track 1 (64x48, ffv1); --track chooses another"},
		"&track=1": {[]int{16, 1, 6, 8}, ""},
		"&track=2": {[]int{16, 1, 8, 12}, ""},
	} {
		j, status := jobOf(t, "POST", jobs+query, clip)
		require.Equal(t, http.StatusCreated, status, j.Error)
		s := ended(t, url, j.ID)
		require.Equal(t, stateDone, s.State, s.Error)
		assert.Equal(t, want.latent, s.Result.Latent, query)
		assert.Equal(t, want.note, strings.Join(s.Notes, "\n"), query)
		_, events := ask(t, "GET", url+"/v1/jobs/"+j.ID+"/events", "", nil)
		assert.Equal(t, want.note != "", strings.Contains(string(events), `"notes":["input.mkv: has 2 video tracks`), string(events))
	}
	j, status := jobOf(t, "POST", jobs+"&track=3", clip)
	require.Equal(t, http.StatusCreated, status, j.Error)
	s := ended(t, url, j.ID)
	assert.Equal(t, "bad_input", s.Code)
	assert.Contains(t, s.Error, "input.mkv: has no video track 3, only track 1 (64x48, ffv1), track 2 (96x64, ffv1, default)")
	for query, want := range map[string]string{
		"kind=decode&input=npy&track=1":                   "track is 1, but the input is a latent: only videos have tracks",
		"kind=encode&shape=1,3,1,8,8&dtype=uint8&track=1": "track is 1, but the input is a tensor: only videos have tracks",
		"kind=encode&input=mkv&track=0":                   `track is \"0\", expected 1 to 255`,
	} {
		r, text := ask(t, "POST", url+"/v1/jobs?"+query, "", clip)
		assert.Equal(t, http.StatusBadRequest, r.StatusCode, query)
		assert.Contains(t, string(text), want)
	}
}

// A picture's warnings come with its latent, without the server's paths.
func TestRemotePictureIsWarnedOf(t *testing.T) {
	_, url := start(t, device(t), Options{Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	for alpha, want := range map[uint8][]string{
		255: nil,
		100: {"the picture: transparency is dropped: colours are used as stored, without blending"},
	} {
		img := image.NewNRGBA(image.Rect(0, 0, 16, 16))
		for i := range img.Pix {
			img.Pix[i] = alpha
		}
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		r, text := ask(t, "POST", url+"/v1/encode", "", b.Bytes())
		require.Equal(t, http.StatusOK, r.StatusCode, string(text))
		assert.Equal(t, want, r.Header.Values("Tessera-Warning"))
	}
}

// A checkpoint sent as a latent is identified, in two lines.
func TestModelAsLatent(t *testing.T) {
	model, err := os.ReadFile(seedvr2)
	require.NoError(t, err)
	_, url := start(t, device(t), Options{Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	j, status := jobOf(t, "POST", url+"/v1/jobs?kind=decode&input=safetensors", model)
	require.Equal(t, http.StatusCreated, status, j.Error)
	s := ended(t, url, j.ID)
	assert.Equal(t, "bad_input", s.Code)
	assert.Contains(t, s.Error, " tensors, expected a latent or video\n  give the checkpoint with -m, and the latent or video as the input")
}

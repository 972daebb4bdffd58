package web

import (
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/media"
	"tessera/tests/testenv"
	"tessera/vae"
)

var update = flag.Bool("update", false, "write web/recorded (decoding the demo clip takes minutes), web/share.jpg and web/icons again")

const recorded = root + "/web/recorded/"

// recordedQuality is web/recorded/quality.json, of the frames before compression.
type recordedQuality struct {
	Frames []recordedFrame `json:"frames"`
	Clip   recordedFrame   `json:"clip"`
}

type recordedFrame struct {
	PSNR float64 `json:"psnr"`
	SSIM float64 `json:"ssim"`
}

// strip is a stack of pictures, [17, 256, 256, 4].
type strip []byte

// originals returns the demo clip's frames.
func originals(t *testing.T) strip {
	t.Helper()
	var all strip
	for i := range 17 {
		all = append(all, readPNG(t, filepath.Join(root, "assets/demo", fmt.Sprintf("frame_%04d.png", i))).Pix...)
	}
	return all
}

// measureStrip returns the quality of each frame of a strip, and of all together.
func measureStrip(got, want strip) recordedQuality {
	const size = 256 * 256
	a, b := make([]float32, 3*size), make([]float32, 3*size)
	q := media.NewQuality(256, 256, 3)
	for i := range 17 {
		media.FromRGBA(a, want[4*size*i:], 3)
		media.FromRGBA(b, got[4*size*i:], 3)
		q.Add(a, b)
	}
	round := func(f media.FrameQuality) recordedFrame {
		return recordedFrame{math.Round(100*f.PSNR) / 100, math.Round(1000*f.SSIM) / 1000}
	}
	var all recordedQuality
	for _, f := range q.Frames() {
		all.Frames = append(all.Frames, round(f))
	}
	all.Clip = round(q.Overall())
	return all
}

// decodeDemo decodes the whole demo clip on this machine's device.
func decodeDemo(t *testing.T) strip {
	t.Helper()
	z, err := media.ReadLatent(filepath.Join(root, "web/demo/latent.safetensors"), 16)
	require.NoError(t, err)
	var all strip
	for _, f := range decoded(t, z, vae.Options{}) {
		all = append(all, f...)
	}
	return all
}

// writeRecorded writes the recording that the page shows before any job.
func writeRecorded(t *testing.T) {
	t.Helper()
	result, input := decodeDemo(t), originals(t)
	text, err := json.Marshal(measureStrip(result, input))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(recorded, 0o777))
	require.NoError(t, os.WriteFile(recorded+"quality.json", append(text, '\n'), 0o666))
	for name, s := range map[string]strip{"decoded.webp": result, "original.webp": input, "poster.webp": result[:4*256*256]} {
		picture := filepath.Join(t.TempDir(), "strip.png")
		writePNG(t, picture, &image.NRGBA{Pix: s, Stride: 4 * 256, Rect: image.Rect(0, 0, 256, len(s)/4/256)})
		said, err := exec.Command("ffmpeg", "-v", "error", "-y", "-i", picture, "-c:v", "libwebp", "-quality", "84", "-compression_level", "6",
			recorded+name).CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
}

// readStrip reads pictures of web/recorded.
func readStrip(t *testing.T, name string) strip {
	t.Helper()
	rgba, err := exec.Command("ffmpeg", "-v", "error", "-i", recorded+name, "-f", "rawvideo", "-pix_fmt", "rgba", "-").Output()
	require.NoError(t, err)
	require.Len(t, rgba, 17*256*256*4, name)
	return rgba
}

// TestRecorded: the page's recording equals the engine's decode of the demo clip, and
// is small.
func TestRecorded(t *testing.T) {
	if !media.HaveFFmpeg() {
		testenv.Missing(t, "no ffmpeg: tools/deps.sh --test installs it")
	}
	if *update {
		writeRecorded(t)
	}
	bytes := int64(0)
	files, err := os.ReadDir(recorded)
	require.NoError(t, err)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		bytes += info.Size()
	}
	assert.LessOrEqual(t, bytes, int64(300_000), "bytes of web/recorded")
	var told recordedQuality
	text, err := os.ReadFile(recorded + "quality.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &told))
	got, want := readStrip(t, "decoded.webp"), originals(t)
	assert.GreaterOrEqual(t, measureStrip(readStrip(t, "original.webp"), want).Clip.PSNR, 33.0, "PSNR of the originals")
	assert.InDelta(t, told.Clip.PSNR, measureStrip(got, want).Clip.PSNR, 0.7, "PSNR of the recorded frames")
	if testenv.Short(t) { // it decodes the clip
		return
	}
	now := decodeDemo(t)
	assert.Equal(t, measureStrip(now, want).Clip, told.Clip, "quality.json; -update writes it again")
	assert.GreaterOrEqual(t, measureStrip(got, now).Clip.PSNR, 33.0, "PSNR of the recorded frames against the engine's; -update writes them again")
}

package web

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/media"
	"tessera/tests/testenv"
)

// TestVideoTags saves frames of one colour: the video declares its colour space, like
// the program's videos, and its colours match the declaration.
func TestVideoTags(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	if !media.HaveFFmpeg() {
		testenv.Missing(t, "no ffmpeg: tools/deps.sh --test installs it")
	}
	v := newSite(t)
	v.open("", "")
	for _, kind := range []string{"mp4", "webm"} {
		text := eval[string](t, v.tab, `(async () => {
			const save = await import('./save.js');
			const get = async () => new Uint8ClampedArray(4 * 65 * 49).map((_, i) => [200, 60, 40, 255][i % 4]);
			const blob = await save.video({ count: 4, width: 65, height: 49, fps: 12, get }, $, () => {});
			return new Uint8Array(await blob.arrayBuffer()).toBase64?.() ?? btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
		})()`, kind)
		data, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "red."+kind)
		require.NoError(t, os.WriteFile(path, data, 0o666))
		told, err := exec.Command("ffprobe", "-v", "error", "-show_entries", "stream=color_range,color_space,color_primaries,color_transfer",
			"-of", "default=nk=0:nw=1", path).CombinedOutput()
		require.NoError(t, err, "%s", told)
		assert.Equal(t, []string{"color_range=tv", "color_space=bt709", "color_transfer=bt709", "color_primaries=bt709"},
			strings.Fields(string(told)), kind)
		rgb, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-vf", "crop=2:2:20:20,format=rgb24", "-frames:v", "1", "-f", "rawvideo", "-").Output()
		require.NoError(t, err)
		for i, want := range []byte{200, 60, 40} {
			assert.InDelta(t, want, rgb[i], 4, "%s: channel %d", kind, i)
		}
	}
}

// TestLeftOutOfVideos: the page says which parts of an input video it ignores, and what
// its own videos can't contain.
func TestLeftOutOfVideos(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	if !media.HaveFFmpeg() {
		testenv.Missing(t, "no ffmpeg: tools/deps.sh --test installs it")
	}
	path := filepath.Join(t.TempDir(), "loud.webm")
	said, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=40x26:rate=12:duration=0.25", "-f", "lavfi", "-i", "sine=duration=0.25",
		"-vf", "scale=39:25,setsar=1", "-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p10le", "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-colorspace", "bt2020nc",
		"-c:a", "libopus", path).CombinedOutput()
	require.NoError(t, err, "%s", said)
	v := small(t)
	v.pick("input-file", path)
	v.named("input-name", "loud.webm")
	v.ready()
	assert.Regexp(t, `^3 frames of 39 × 25 pixels · .* · its sound is left out · HDR, which the browser converts to SDR$`, v.text("input-facts"))
	v.click("input[name=engine][value=native]") // it is faster
	v.ready()
	v.run()
	v.click("#save-webm")
	v.wait("the video", time.Minute, `document.getElementById('save-state').textContent.startsWith('Saved loud.webm')`)
	assert.Contains(t, v.text("save-state"), " · cut to 38 × 24 pixels: videos have even sizes")
}

// TestCutVideos: a truncated video is not mistaken for a shorter one.
func TestCutVideos(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	if !media.HaveFFmpeg() {
		testenv.Missing(t, "no ffmpeg: tools/deps.sh --test installs it")
	}
	v := small(t)
	dir := t.TempDir()
	for _, flags := range [][]string{
		{"whole.mp4"}, {"whole.webm"}, {"whole.mkv"},
		{"-movflags", "+faststart", "front.mp4"}, {"-movflags", "frag_keyframe+empty_moov", "parts.mp4"}, {"-live", "1", "stream.webm"},
	} {
		name := flags[len(flags)-1]
		path := filepath.Join(dir, name)
		said, err := exec.Command("ffmpeg", append(append([]string{"-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=12:duration=1"},
			flags[:len(flags)-1]...), path)...).CombinedOutput()
		require.NoError(t, err, "%s", said)
		v.pick("input-file", path)
		v.named("input-name", name)
		assert.False(t, v.visible("notice"), "%s: %s", name, v.text("notice-title"))
		if strings.HasPrefix(name, "stream") {
			continue // it has no length
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		cut := filepath.Join(dir, "cut-"+name)
		require.NoError(t, os.WriteFile(cut, data[:len(data)*9/10], 0o666))
		v.pick("input-file", cut)
		v.wait("a word on "+name, time.Minute, `document.getElementById('notice-title').textContent === $`, "cut-"+name+" is cut short")
		assert.Equal(t, name, v.text("input-name"))
	}
}

// TestVideoCodeIsLazy: the code for videos, 0.7 MB, is downloaded with the first video.
func TestVideoCodeIsLazy(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := newSite(t)
	v.open("", "")
	fetched := func() bool {
		return eval[bool](t, v.tab, `performance.getEntriesByType('resource').some((e) => e.name.includes('mediabunny'))`)
	}
	v.wait("the page", time.Minute, `document.readyState === 'complete'`)
	require.False(t, fetched())
	eval[bool](t, v.tab, `import('./clips.js').then((c) => c.openClip([new File(['?'], 'x.mp4')])).then(() => true, () => true)`)
	require.True(t, fetched())
}

package web

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// demoPart returns the part of the demo's latent that ?demo=2x6x6 shows, computed
// independently: rows 7 to 13 and columns 6 to 12 of cells.
func demoPart(t *testing.T) latent.Latent {
	t.Helper()
	all, err := media.ReadLatent(filepath.Join(root, "web/demo/latent.safetensors"), 16)
	require.NoError(t, err)
	part := latent.Latent{Channels: 16, Frames: 2, Height: 6, Width: 6}
	for c := range 16 {
		for f := range 2 {
			for y := 7; y < 13; y++ {
				row := all.Data[((c*all.Frames+f)*all.Height+y)*all.Width:]
				part.Data = append(part.Data, row[6:12]...)
			}
		}
	}
	return part
}

// ramp returns a latent of 21 frames of 32x32 pixels, and a file of it.
func ramp(t *testing.T, name string) (latent.Latent, string) {
	t.Helper()
	return latentFile(t, name, 16, 6, 4, 4)
}

// latentFile returns a latent of this many channels, frames, rows and columns, and a
// file of it.
func latentFile(t *testing.T, name string, c, frames, h, w int) (latent.Latent, string) {
	t.Helper()
	l := latent.Latent{Channels: c, Frames: frames, Height: h, Width: w, Data: make([]float32, c*frames*h*w)}
	for i := range l.Data {
		l.Data[i] = float32(i%41)/20 - 1
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, media.WriteLatent(path, l))
	return l, path
}

// decoded returns a latent's frames from this machine's engine.
func decoded(t *testing.T, z latent.Latent, o vae.Options) [][]byte {
	t.Helper()
	return decodedBy(t, model, z, o)
}

// decodedBy returns a latent's frames by a checkpoint.
func decodedBy(t *testing.T, checkpoint string, z latent.Latent, o vae.Options) [][]byte {
	t.Helper()
	m, err := vae.Open(gputest.Open(t), checkpoint, vae.Settings{Precision: vae.F32})
	require.NoError(t, err)
	var frames [][]byte
	for f, err := range m.Decode(t.Context(), z, vae.DecodeOptions{Options: o, RGBA8: true}) {
		require.NoError(t, err)
		frames = append(frames, bytes.Clone(f.RGBA))
	}
	return frames
}

// sees compares the canvas with frames of this machine's engine.
func (v *visit) sees(want [][]byte) {
	v.t.Helper()
	for i, w := range want {
		alike(v.t, i, v.frame(i), w)
	}
}

// alike compares frame i with this machine's. Two drivers may round a value between two
// codes differently.
func alike(t *testing.T, i int, got, want []byte) {
	t.Helper()
	most, count, err := differ(got, want)
	require.NoError(t, err)
	assert.LessOrEqual(t, most, 1, "frame %d: difference of a value", i)
	assert.LessOrEqual(t, count, len(want)/100, "frame %d: values that differ, of %d", i, len(want))
}

// TestVisitor visits the page of the program and switches to the program's engine.
// TestSlowLink covers the rest, and Firefox everything.
func TestVisitor(t *testing.T) {
	t.Parallel()
	v := newVisit(t, "")
	v.screen(1280, 900, 1, false, "light")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	v.steps("views", "link", "broken file", "cancel", "Turkish")
}

// steps is a visit from the first look to the last saved file, without some steps.
func (v *visit) steps(without ...string) {
	v.t.Helper()
	z, latentFile := ramp(v.t, "ramp.npy")
	for _, step := range []struct {
		name string
		do   func(*visit)
	}{
		{"demo", visitDemo},
		{"save", visitSave},
		{"views", visitViews},
		{"link", visitLink},
		{"broken file", visitBroken},
		{"own files", func(v *visit) { visitOwnFiles(v, latentFile) }},
		{"cancel", func(v *visit) { visitCancel(v, z) }},
		{"native engine", func(v *visit) { visitNative(v, z) }},
		{"round trip", visitRoundtrip},
		{"video", visitVideo},
		{"Turkish", visitTurkish},
	} {
		if slices.Contains(without, step.name) {
			continue
		}
		ok := v.t.Run(step.name, func(t *testing.T) {
			now := *v
			now.t = t
			step.do(&now)
		})
		if !ok {
			return // later steps depend on it
		}
	}
}

// watch records from now on what the page draws, the time between two frames while a
// job runs, and the longest time that its own scripts kept it busy.
const watch = `(() => {
	Object.assign(window, { gap: 0, busy: 0, pictures: new Set() });
	const running = () => document.getElementById('stage').dataset.state === 'running';
	let last = performance.now();
	requestAnimationFrame(function tick(now) {
		if (running()) gap = Math.max(gap, now - last);
		last = now;
		requestAnimationFrame(tick);
	});
	new PerformanceObserver((list) => { for (const e of list.getEntries()) if (running()) busy = Math.max(busy, e.duration); }).observe({ type: 'longtask' });
	const draw = CanvasRenderingContext2D.prototype.putImageData;
	CanvasRenderingContext2D.prototype.putImageData = function (image, ...at) {
		if (running()) pictures.add(image.data.reduce((sum, x) => (sum * 31 + x) % 1000003, 0));
		return draw.call(this, image, ...at);
	};
	return true;
})()`

// visitDemo runs the demo and checks its picture. It prints how long the page stood
// still, without a limit: other programs may use the processor that stands in for a GPU
// here.
func visitDemo(v *visit) {
	eval[bool](v.t, v.tab, watch)
	v.click("#demo")
	v.ended("done", 4*time.Minute)
	v.t.Logf("between two frames of the page at most %.0f ms, its scripts at once %.0f ms",
		eval[float64](v.t, v.tab, `gap`), eval[float64](v.t, v.tab, `busy`))
	v.ready()
	assert.GreaterOrEqual(v.t, eval[int](v.t, v.tab, `pictures.size`), 12, "pictures drawn while it ran: those of 4 tiles of 5 frames, and 5 frames")
	v.sees(decoded(v.t, demoPart(v.t), smallTiles))
	v.wait("the quality of the clip", 30*time.Second, `document.getElementById('quality-note').textContent.includes('clip')`)
	psnr, err := strconv.ParseFloat(strings.TrimSuffix(v.text("psnr"), " dB"), 64)
	require.NoError(v.t, err)
	assert.GreaterOrEqual(v.t, psnr, 18.0, "PSNR, about 25")
	assert.LessOrEqual(v.t, psnr, 45.0, "PSNR, about 25")
	assert.Contains(v.t, v.text("timing-bars"), "conv3d", "times by operation")
}

// visitSave saves the demo's frames and reads the files.
func visitSave(v *visit) {
	want := v.frame(2)
	v.click("#save-png")
	f, err := os.Open(v.download("demo-0003.png"))
	require.NoError(v.t, err)
	defer f.Close()
	picture, err := png.Decode(f)
	require.NoError(v.t, err)
	rgba := image.NewNRGBA(picture.Bounds())
	for y := range rgba.Rect.Dy() {
		for x := range rgba.Rect.Dx() {
			rgba.Set(x, y, color.NRGBAModel.Convert(picture.At(x, y)))
		}
	}
	require.True(v.t, bytes.Equal(want, rgba.Pix), "the saved picture is not the one shown")
	frames := [][]byte{v.frame(0), v.frame(1), v.frame(2), v.frame(3), v.frame(4)}
	for _, kind := range []string{"mp4", "webm"} {
		v.click("#save-" + kind)
		v.wait("the "+kind, time.Minute, `document.getElementById('save-state').textContent.includes($)`, "demo."+kind)
		checkVideo(v.t, v.download("demo."+kind), kind, frames)
	}
}

// checkVideo compares a lossy video with its source frames.
func checkVideo(t *testing.T, path, kind string, want [][]byte) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	head := make([]byte, 12)
	_, err = f.Read(head)
	f.Close()
	require.NoError(t, err)
	magic := map[string]string{"mp4": "ftyp", "webm": "\x1a\x45\xdf\xa3"}[kind]
	require.Contains(t, string(head), magic)
	if !media.HaveFFmpeg() {
		t.Log("no ffmpeg: the frames of the video are not compared")
		return
	}
	clip, err := media.Open(t.Context(), path, 3)
	require.NoError(t, err)
	defer clip.Close()
	h, w := clip.Size()
	require.Equal(t, [3]int{len(want), 48, 48}, [3]int{clip.Frames(), h, w}, "%s: frames, height and width", kind)
	require.InDelta(t, 12, clip.FPS().Float(), 0.01, kind)
	got, original := make([]float32, 3*h*w), make([]float32, 3*h*w)
	q := media.NewQuality(h, w, 3)
	for i, frame := range want {
		require.NoError(t, clip.ReadFrame(i, got))
		media.FromRGBA(original, frame, 3)
		q.Add(original, got)
	}
	assert.GreaterOrEqual(t, q.Overall().PSNR, 28.0, "%s: PSNR against the frames it was made of", kind)
}

// visitViews looks at the comparison and the difference, and steps with keys.
func visitViews(v *visit) {
	result := v.frame(1)
	v.click("input[name=view][value=compare]")
	beside := v.frame(1)
	left, right := 0, 0
	for i := range result {
		if result[i] != beside[i] {
			if i/4%48 < 24 {
				left++
			} else {
				right++
			}
		}
	}
	assert.GreaterOrEqual(v.t, left, 1000, "comparing: values left of the middle that are not the result's")
	assert.Zero(v.t, right, "comparing: values right of the middle that are not the result's")
	v.click("input[name=view][value=difference]")
	difference := v.frame(1)
	sum := 0
	for i, x := range difference {
		if i%4 != 3 {
			sum += int(x)
		}
	}
	mean := float64(sum) / float64(48*48*3)
	assert.InDelta(v.t, 128, mean, 28, "difference: mean")
	v.click("input[name=view][value=result]")
	eval[bool](v.t, v.tab, `(document.getElementById('stage').focus(), true)`)
	for range 2 {
		if v.firefox != nil {
			v.firefox.press(v.t, "\ue014")
		} else {
			v.do(chromedp.KeyEvent(kb.ArrowRight))
		}
	}
	require.Equal(v.t, "4 / 5", v.text("at"), "two keys after frame 2 of 5")
}

// visitLink changes a setting and finds it again in the address.
func visitLink(v *visit) {
	v.set("tile", "off")
	v.ready()
	hash := eval[string](v.t, v.tab, `location.hash`)
	assert.Contains(v.t, hash, "tile=off")
	assert.Contains(v.t, hash, "precision=f32")
	assert.NotContains(v.t, hash, "token")
	assert.Contains(v.t, v.text("plans"), "one tile")
}

// visitBroken picks damaged files and reads the errors.
func visitBroken(v *visit) {
	dir := v.t.TempDir()
	for _, c := range []struct {
		input, name string
		data        []byte
		title       string // the engine's sentence, if it has one
		engine      string // a complete part of its message
	}{
		{"model-file", "cut.safetensors", []byte{200, 0, 0, 0, 0, 0, 0, 0, '{', '"'}, "cut.safetensors: header length 200, but only 2 bytes follow: truncated, or not a safetensors file", ""},
		{"input-file", "noise.npy", []byte("not numbers"), "noise.npy: 11 bytes are too few for a .npy header", ""},
		{"input-file", "noise.mp4", []byte("not a video"), "This browser can’t read noise.mp4", ""},
		{"input-file", "notes.docx", []byte("?"), "What is notes.docx?", ""},
	} {
		path := filepath.Join(dir, c.name)
		require.NoError(v.t, os.WriteFile(path, c.data, 0o666))
		eval[bool](v.t, v.tab, `(document.getElementById('notice').hidden = true)`)
		v.pick(c.input, path)
		v.wait("a message about "+c.name, 30*time.Second, `!document.getElementById('notice').hidden`)
		assert.Equal(v.t, c.title, v.text("notice-title"), c.name)
		assert.Contains(v.t, v.text("notice-detail"), c.engine, "%s: the engine's words", c.name)
	}
	require.Equal(v.t, "tiny-seedvr2", v.text("model-name"), "the checkpoint after a broken one was picked")
	v.ready() // the page continues with the previous files
}

// visitOwnFiles picks a checkpoint and a latent; the checkpoint is remembered.
func visitOwnFiles(v *visit, latent string) {
	data, err := os.ReadFile(model)
	require.NoError(v.t, err)
	own := filepath.Join(v.t.TempDir(), "mine.safetensors")
	require.NoError(v.t, os.WriteFile(own, data, 0o666))
	v.takes(own)
	v.asked()
	v.click("#keep-yes")
	v.picks(latent)
	v.ready()
	assert.Contains(v.t, v.text("input-facts"), "21 frames of 32 × 32")
	v.wait("a copy in the browser", time.Minute, `(async () => {
		const dir = await (await navigator.storage.getDirectory()).getDirectoryHandle('checkpoints', {create: true});
		try { return (await (await dir.getFileHandle('mine.safetensors')).getFile()).size === $; } catch { return false; }
	})()`, len(data))
	// The built-in checkpoint, and the copy again.
	v.click("#kept button.link")
	v.named("model-name", "tiny-seedvr2")
	v.wait("the copy in the list", time.Minute, `document.getElementById('kept').textContent.includes('mine.safetensors4.89 MiB')`)
	v.ready()
	v.click("#kept button.link")
	v.named("model-name", "mine")
	v.ready()
}

// visitCancel cancels a job in its middle and then runs it to its end.
func visitCancel(v *visit, z latent.Latent) {
	v.click("#run")
	v.wait("the middle of the job", 2*time.Minute, `document.getElementById('progress-text').textContent.includes('frame')`)
	v.click("#cancel")
	v.ended("stopped", time.Minute)
	assert.Regexp(v.t, `^Cancelled|^Stopped: \d+ of 21 frames are finished`, v.text("progress-text"))
	v.ready()
	v.run()
	v.sees(decoded(v.t, z, vae.Options{}))
}

// visitNative runs the same job on the server's engine, and removes the copy of the
// checkpoint.
func visitNative(v *visit, z latent.Latent) {
	v.click("input[name=engine][value=native]")
	v.ready()
	assert.Regexp(v.t, "vulkan|d3d12|metal", v.text("device-rows"), "the native engine's device")
	v.run()
	v.sees(decoded(v.t, z, vae.Options{}))
	v.click("#kept button.link")
	v.named("model-name", "tiny-seedvr2")
	v.click("#kept button.quiet")
	v.wait("an empty list", time.Minute, `document.getElementById('kept').children.length === 0`)
}

// visitRoundtrip encodes two pictures, decodes them and saves the latent.
func visitRoundtrip(v *visit) {
	_, files, _ := pictures(v.t, 2)
	slices.Reverse(files) // their names determine the order
	v.pick("input-file", files...)
	v.wait("the pictures", time.Minute, `document.getElementById('input-facts').textContent.startsWith('2 frames of 40 × 24')`)
	v.ready()
	assert.Equal(v.t, "roundtrip", eval[string](v.t, v.tab, `document.querySelector('input[name=task]:checked').value`))
	v.run()
	assert.Regexp(v.t, " dB$", v.text("psnr"))
	v.click("#save-latent")
	l, err := media.ReadLatent(v.download("picture0.safetensors"), 16)
	require.NoError(v.t, err)
	assert.Equal(v.t, []int{16, 2, 3, 5}, l.Shape())
	assert.Equal(v.t, "2", l.Meta[latent.MetaFrames])
}

// visitVideo encodes the video saved earlier.
func visitVideo(v *visit) {
	v.pick("input-file", v.download("demo.mp4"))
	v.wait("the video", time.Minute, `document.getElementById('input-facts').textContent === '5 frames of 48 × 48 pixels · 12 frames/s'`)
	v.click("input[name=task][value=encode]")
	v.ready()
	v.run()
	assert.Regexp(v.t, "^Latent of 16 × 2 × 6 × 6 in ", v.text("progress-text"))
}

func visitTurkish(v *visit) {
	eval[bool](v.t, v.tab, `(() => { const f = document.getElementById('language'); f.value = 'tr'; f.dispatchEvent(new Event('change')); return true; })()`)
	assert.Equal(v.t, "Kodla", v.text("run"))
	assert.Equal(v.t, "tr", eval[string](v.t, v.tab, `document.documentElement.lang`), "the page's language")
	missing := eval[[]string](v.t, v.tab, `[...document.querySelectorAll('button, input, select, canvas[role=img]')].filter((e) =>
		!e.closest('[hidden]') && !(e.textContent.trim() || e.getAttribute('aria-label') || e.closest('label')?.textContent.trim())).map((e) => e.outerHTML)`)
	assert.Empty(v.t, missing, "without a name")
}

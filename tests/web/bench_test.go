package web

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// small visits a demo of 5 frames of 48x48 pixels in four tiles.
func small(t *testing.T) *visit {
	t.Helper()
	v := newVisit(t, "")
	v.screen(1280, 900, 1, false, "light")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	return v
}

// visible reports whether an element can be seen.
func (v *visit) visible(id string) bool {
	v.t.Helper()
	return eval[bool](v.t, v.tab, `document.getElementById($).checkVisibility()`, id)
}

// pixels returns the current pixels of the canvas.
func (v *visit) pixels() (rgba []byte, height, width int) {
	v.t.Helper()
	p := eval[struct {
		H, W int
		RGBA []int
	}](v.t, v.tab, `(() => {
		const c = document.getElementById('picture');
		return { H: c.height, W: c.width, RGBA: [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data] };
	})()`)
	for _, x := range p.RGBA {
		rgba = append(rgba, byte(x))
	}
	return rgba, p.H, p.W
}

// pictures creates files of this many frames of 40x24 pixels.
func pictures(t *testing.T, n int) (dir string, files []string, rgba [][]byte) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		picture := image.NewNRGBA(image.Rect(0, 0, 40, 24))
		for y := range 24 {
			for x := range 40 {
				picture.SetNRGBA(x, y, color.NRGBA{uint8(6 * x), uint8(10 * y), uint8(90 + 30*i), 255})
			}
		}
		path := filepath.Join(dir, "picture"+strconv.Itoa(i)+".png")
		writePNG(t, path, picture)
		files, rgba = append(files, path), append(rgba, picture.Pix)
	}
	return dir, files, rgba
}

// writePNG writes a picture into a file.
func writePNG(t *testing.T, path string, picture image.Image) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, png.Encode(f, picture))
	require.NoError(t, f.Close())
}

// copyOf copies the built-in checkpoint to another name.
func copyOf(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(model)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o666))
	return path
}

// The demo is one choice among others: choosing it keeps the previous checkpoint and
// input available.
func TestDemoThrowsNothingAway(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	assert.True(t, v.visible("demo"), "the button on the picture")
	v.pick("model-file", copyOf(t, "mine.safetensors"))
	v.named("model-name", "mine")
	_, file := ramp(t, "ramp.npy")
	v.pick("input-file", file)
	v.named("input-name", "ramp.npy")
	v.ready()
	assert.False(t, v.visible("demo"), "a button for the demo, with another input on the bench")
	v.click("#demo-pick")
	v.named("input-name", "Demo clip")
	v.ready()
	assert.Equal(t, "mine", v.text("model-name"))
	v.run()
	assert.Contains(t, v.text("progress-text"), "5 frames")
	v.click("#inputs button")
	v.named("input-name", "ramp.npy")
	v.ready()
	assert.Contains(t, v.text("inputs"), "Demo clip")
	assert.NotContains(t, v.text("inputs"), "ramp.npy")
}

// An animated picture is a clip of all its frames at its own rate.
func TestAnimatedPictures(t *testing.T) {
	testenv.Long(t)
	if !media.HaveFFmpeg() {
		testenv.Missing(t, "no ffmpeg: tools/deps.sh --test installs it")
	}
	t.Parallel()
	dir, _, rgba := pictures(t, 5)
	v := small(t)
	for name, args := range map[string][]string{
		"moves.png":  {"-f", "apng", "-plays", "0"},
		"moves.webp": {"-c:v", "libwebp_anim", "-lossless", "1"},
		"moves.gif":  nil,
	} {
		path := filepath.Join(t.TempDir(), name)
		args = append([]string{"-v", "error", "-framerate", "10", "-i", filepath.Join(dir, "picture%d.png")}, args...)
		said, err := exec.Command("ffmpeg", append(args, path)...).CombinedOutput()
		require.NoError(t, err, "%s", said)
		v.pick("input-file", path)
		v.named("input-name", name)
		v.ready()
		assert.Equal(t, "5 frames of 40 × 24 pixels · 10 frames/s", v.text("input-facts"), name)
		for _, i := range []int{4, 1} {
			if frame := v.frame(i); name != "moves.gif" { // it has 256 colours
				assert.Equal(t, rgba[i], frame, "%s, frame %d", name, i)
			}
		}
	}
	opened := eval[string](t, v.tab, `(async () => {
		const canvas = new OffscreenCanvas(4, 3);
		canvas.getContext('2d');
		const picture = await canvas.convertToBlob();
		const clip = await (await import(new URL('clips.js', document.baseURI))).openClip([new File([await picture.arrayBuffer()], 'still.png')]);
		return clip.frames + ' of ' + clip.width + 'x' + clip.height;
	})()`)
	assert.Equal(t, "1 of 4x3", opened, "a picture without a type")
}

// A clip is on the stage once it is open, with its own pixels.
func TestInputsAreShown(t *testing.T) {
	t.Parallel()
	small(t).shownInput()
}

// shownInput opens a clip of two pictures and compares what the stage shows with them.
func (v *visit) shownInput() {
	v.t.Helper()
	_, files, rgba := pictures(v.t, 2)
	eval[bool](v.t, v.tab, `(() => {
		window.early = null;
		new MutationObserver(() => { early ??= document.getElementById('caption').textContent === 'Input: picture0.png … picture1.png' ? document.body.dataset.ready : null; })
			.observe(document.getElementById('caption'), { childList: true });
		return true;
	})()`)
	v.pick("input-file", files...)
	v.wait("the clip", time.Minute, `early !== null`)
	assert.Equal(v.t, "false", eval[string](v.t, v.tab, `early`), "ready when the clip was shown")
	v.ready()
	got, h, w := v.pixels()
	require.Equal(v.t, [2]int{24, 40}, [2]int{h, w})
	assert.Equal(v.t, rgba[0], got, "the first frame")
	assert.Equal(v.t, rgba[1], v.frame(1), "the second frame")
	for _, id := range []string{"save-mp4", "save-png", "save-latent"} {
		assert.True(v.t, eval[bool](v.t, v.tab, `document.getElementById($).disabled`, id), "%s: nothing was made", id)
	}
}

// A latent is shown as its channels. Encoding shows the resulting latent, not the clip
// again.
func TestInputsAndLatentsAreShown(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	v.shownInput()
	v.click("input[name=task][value=encode]")
	v.ready()
	v.run()
	assert.Equal(t, "Latent: 16 channels of 5 × 3 cells, 2 in time", v.text("caption"))
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('save-mp4').disabled`), "a video of a latent")
	v.click("#save-latent")
	path := v.download("picture0.safetensors")
	z, err := media.ReadLatent(path, 16)
	require.NoError(t, err)
	checkChannels(v, z)
	v.click("#save-png")
	assert.Equal(t, "picture0-latent-0001.png", filepath.Base(v.download("picture0-latent-0001.png")))
	v.click("input[name=view][value=input]")
	v.wait("the clip again", time.Minute, `document.getElementById('picture').width === 40`)

	v.pick("input-file", path)
	v.named("input-name", "picture0.safetensors")
	v.ready()
	assert.Equal(t, "Latent: 16 channels of 5 × 3 cells, 2 in time", v.text("caption"))
	checkChannels(v, z)
}

// checkChannels compares the grays of the first frame's cells.
func checkChannels(v *visit, z latent.Latent) {
	v.t.Helper()
	v.frame(0)
	rgba, _, width := v.pixels()
	const columns, scale, gap = 4, 25, 2 // for 16 channels of 3x5 cells
	for c := range z.Channels {
		values := z.Data[c*z.Frames*15:][:z.Frames*15]
		var sum, squares float64
		for _, x := range values {
			sum += float64(x)
			squares += float64(x) * float64(x)
		}
		n := float64(len(values))
		deviation := math.Sqrt(squares/n - sum/n*sum/n)
		for i := range 15 {
			y, x := c/columns*(3*scale+gap)+i/5*scale+1, c%columns*(5*scale+gap)+i%5*scale+1
			want := 128 + 127*(float64(values[i])-sum/n)/(3*deviation)
			assert.InDelta(v.t, want, float64(rgba[4*(y*width+x)]), 1, "channel %d, cell %d", c, i)
		}
	}
}

// Cancelling a job restores the last result and keeps the partial one. Both are saved
// under their own names, whatever is on the bench.
func TestCancelKeeps(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	v.run()
	result := v.frame(1)
	_, file := ramp(t, "ramp.npy")
	v.pick("input-file", file)
	v.named("input-name", "ramp.npy")
	v.ready()
	v.click("input[name=view][value=result]")
	assert.Equal(t, result, v.frame(1), "the last result, with another input on the bench")
	v.click("#save-png")
	v.download("demo-0002.png")

	v.click("#run")
	v.cancelledAtOnce(`await new Promise((five) => {
		const at = document.getElementById('at');
		new MutationObserver(() => at.textContent === '5 / 21' && five()).observe(at, { childList: true });
	});`)
	assert.Equal(t, result, v.frame(1), "the last result, after a cancel")
	assert.Equal(t, "Stopped: 5 of 21 frames are finished and can be saved", v.text("progress-text"))
	assert.Contains(t, v.text("quality-note"), "clip", "the last result's quality")
	require.Equal(t, "Show the partial result", v.text("other"))
	v.click("#other")
	assert.Equal(t, "Not finished: partial result · tiny demo model, 2.6 M of 250 M numbers", v.text("caption"))
	frames := eval[int](t, v.tab, `1 + Number(document.getElementById('scrub').max)`)
	assert.Equal(t, 5, frames)
	v.click("#save-png")
	v.download("ramp-partial-0001.png")
	v.click("#save-webm")
	path := v.download("ramp-partial.webm")
	if media.HaveFFmpeg() {
		v.wait("the video", time.Minute, `document.getElementById('save-state').textContent.includes('webm')`)
		clip, err := media.Open(t.Context(), path, 3)
		require.NoError(t, err)
		defer clip.Close()
		assert.Equal(t, frames, clip.Frames())
	}
	require.Equal(t, "Back to the last result", v.text("other"))
	v.click("#other")
	assert.Equal(t, result, v.frame(1), "the last result, once more")

	// Also before anything has started.
	v.cancelledAtOnce(`document.getElementById('run').click();`)
	assert.Equal(t, "Cancelled", v.text("progress-text"))
	v.ready()
	v.run()
	assert.Contains(t, v.text("progress-text"), "21 frames")
}

// drop drops files and folders of this machine on the page.
func (v *visit) drop(paths ...string) {
	v.t.Helper()
	_, err := chromedp.Run(v.tab, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
			_, err := chromedp.Call(ctx, input.DispatchDragEvent, input.DispatchDragEventParams{
				Type: kind, X: 400, Y: 300, Data: &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: 1},
			})
			if err != nil {
				return chromedp.Void{}, err
			}
		}
		return chromedp.Void{}, nil
	})
	require.NoError(v.t, err)
}

// Files may come in any order, several at once, in folders, and while a job runs.
func TestAnyOrder(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	checkpoint := wan(t, "layered.safetensors", synthetic.WanConfig{Latent: 4, Channels: 4})
	narrow := filepath.Join(t.TempDir(), "narrow.npy")
	require.NoError(t, media.WriteLatent(narrow, latent.Latent{Channels: 4, Frames: 2, Height: 3, Width: 5, Data: make([]float32, 4*2*3*5)}))

	// A latent before its checkpoint.
	v.pick("input-file", narrow)
	v.named("input-name", "narrow.npy")
	assert.Contains(t, v.text("notice-title"), "narrow.npy")
	assert.Contains(t, v.text("notice-text"), "choose the checkpoint")
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('run').disabled`))
	v.pick("model-file", checkpoint)
	v.named("model-name", "layered")
	v.ready()
	assert.Equal(t, "narrow.npy", v.text("input-name"))
	assert.False(t, v.visible("notice"))

	// Both at once, the latent first, and two other latents.
	_, one := ramp(t, "one.npy")
	_, two := ramp(t, "two.npy")
	v.drop(one, two, copyOf(t, "mine.safetensors"))
	v.named("model-name", "mine")
	v.named("input-name", "one.npy")
	v.ready()
	assert.Equal(t, "2 inputs: using one.npy", v.text("notice-title"))
	for _, name := range []string{"two.npy", "narrow.npy", "Demo clip"} {
		assert.Contains(t, v.text("inputs"), name)
	}

	// A folder of frames, with another file in it.
	dir, _, rgba := pictures(t, 3)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".DS_Store"), []byte("x"), 0o666))
	v.drop(dir)
	v.wait("the frames", time.Minute, `document.getElementById('input-facts').textContent.startsWith('3 frames of 40 × 24')`)
	v.ready()
	assert.Equal(t, rgba[2], v.frame(2))

	// The same folder through a button, for phones and keyboards.
	v.click("#demo-pick")
	v.ready()
	assert.True(t, v.visible("frames-pick"), "no button for a folder")
	v.pick("frames-file", dir)
	v.wait("the frames", time.Minute, `document.getElementById('input-facts').textContent.startsWith('3 frames of 40 × 24')`)
	v.ready()
	assert.Equal(t, rgba[1], v.frame(1))
	assert.False(t, v.visible("notice"), "what of .DS_Store")

	// While a job runs.
	v.click("#run")
	v.drop(two)
	v.wait("a word", time.Minute, `document.getElementById('later').textContent === 'After this job: two.npy'`)
	assert.NotEqual(t, "two.npy", v.text("input-name"))
	v.ended("done", 4*time.Minute)
	v.named("input-name", "two.npy")
	v.ready()
	assert.Empty(t, v.text("later"))
	assert.Equal(t, "result", eval[string](t, v.tab, `document.querySelector('input[name=view]:checked').value`), "the result stays")
}

// Combinations that don't fit are not offered; the engine's message explains them, and
// does not call them damaged.
func TestWords(t *testing.T) {
	t.Parallel()
	v := newVisit(t, "")
	v.open("?demo=2x6x6", "&tile=64&overlap=128&precision=f32")
	v.ready()
	assert.Equal(t, "The link asks for an overlap of 128 pixels", v.text("notice-title"))
	enabled := func(tile string) []string {
		return eval[[]string](t, v.tab, `(() => {
			const [tile, overlap] = ['tile', 'overlap'].map((n) => document.querySelector('select[name=' + n + ']'));
			tile.value = $;
			tile.dispatchEvent(new Event('change', { bubbles: true }));
			return [...overlap.options].filter((o) => !o.disabled).map((o) => o.value);
		})()`, tile)
	}
	for tile, want := range map[string]string{
		"64": "recommended 0 16 32", "96": "recommended 0 16 32 64", "512": "recommended 0 16 32 64 96 128", "recommended": "recommended 0 16 32 64 96",
	} {
		assert.Equal(t, want, strings.Join(enabled(tile), " "), "overlaps with a tile of %s", tile)
	}
	v.ready()
	eval[bool](t, v.tab, `(() => { // as a menu of another time might
		const field = document.querySelector('select[name=overlap]');
		field.add(new Option('5')); field.value = '5'; field.dispatchEvent(new Event('change', { bubbles: true })); return true;
	})()`)
	assert.Contains(t, v.problem(), "Overlap 5x5: unusable overlap", "the engine's words")
	assert.NotContains(t, v.text("notice"), "damaged")
	assert.Contains(t, v.text("notice-text"), "in the settings")
}

// Latents of other programs: a torch.save file is read, even if its name is like a
// checkpoint's. A file that only the program reads is described so, not as damaged.
func TestLatentsOfOthers(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	written, err := filepath.Abs(root + "/media/testdata/latents")
	require.NoError(t, err)
	v.pick("input-file", filepath.Join(written, "cached.pth"))
	v.named("input-name", "cached.pth")
	v.ready()
	assert.Equal(t, "latent, 5 frames of 24 × 16 pixels", v.text("input-facts"))
	assert.Equal(t, "tiny-seedvr2", v.text("model-name"))

	batch := filepath.Join(t.TempDir(), "two.npy")
	require.NoError(t, media.WriteLatent(batch, latent.Latent{Batch: 2, Channels: 16, Frames: 2, Height: 3, Width: 5, Data: make([]float32, 2*16*2*3*5)}))
	for file, want := range map[string]string{
		batch:                                "two.npy: a batch of 2 clips, expected one: `tessera decode` decodes them all",
		filepath.Join(written, "packed.npz"): "packed.npz: .npz is read by the program only, expected .npy, .safetensors, .latent or .pt",
	} {
		v.pick("input-file", file)
		v.wait("a word", time.Minute, `document.getElementById('notice-title').textContent === $`, want)
		assert.Contains(t, v.text("notice-text"), "The tessera program can.")
		v.ready()
		assert.Equal(t, "cached.pth", v.text("input-name"))
	}
}

// If a picture of a clip can't be read, the page names it when it reaches it.
func TestBrokenFrameIsNamed(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	_, files, _ := pictures(t, 3)
	require.NoError(t, os.WriteFile(files[1], []byte("no picture"), 0o666))
	v.pick("input-file", files...)
	v.wait("the clip", time.Minute, `document.getElementById('input-facts').textContent.startsWith('3 ')`)
	v.ready()
	v.click("#run")
	v.ended("stopped", 4*time.Minute)
	assert.Contains(t, v.problem(), "picture1.png: ")
	assert.False(t, v.visible("other"), "something to show of a job that made nothing")
}

// A cancelled job in tiles leaves parts of all frames.
func TestCancelledTiles(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	v.click("#run")
	v.wait("the second tile", 2*time.Minute, `document.getElementById('progress-text').textContent.includes('tile 2')`)
	v.do(chromedp.KeyEvent(kb.Escape))
	v.ended("stopped", time.Minute)
	assert.Equal(t, "Stopped: no frame is finished, but the partial result can be saved", v.text("progress-text"))
	assert.Equal(t, "Not finished: partial result · tiny demo model, 2.6 M of 250 M numbers", v.text("caption"))
	assert.False(t, v.visible("demo"), "a button over the picture")
	want := v.frame(2)
	v.click("#save-png")
	assert.Equal(t, want, readPNG(t, v.download("demo-partial-0003.png")).Pix)
	v.run()
	assert.Equal(t, "Tiny demo model, 2.6 M of 250 M numbers", v.text("caption"))
	assert.False(t, v.visible("other"))
}

// The native engine needs the token of the program that serves the page. A link without
// one uses the browser's engine and says so, and links never request the native one.
func TestEngineIsNotShared(t *testing.T) {
	t.Parallel()
	v := newVisit(t, "")
	token := v.url
	v.url = v.url[:strings.Index(v.url, "#")] + "#engine=native"
	v.open("?demo=2x6x6", "&precision=f32")
	v.ready()
	assert.Equal(t, "The native engine is not running here", v.text("notice-title"))
	engine := func() string {
		return eval[string](t, v.tab, `document.querySelector('input[name=engine]:checked').value`)
	}
	assert.Equal(t, "browser", engine())
	assert.False(t, v.visible("engines"), "a choice of one")
	v.url = token
	v.do(chromedp.Navigate("about:blank"))
	v.open("?demo=2x6x6", "&precision=f32")
	v.ready()
	assert.True(t, v.visible("engines"))
	v.click("input[name=engine][value=native]")
	v.ready()
	assert.Regexp(t, "vulkan|d3d12|metal", v.text("device-rows"))
	assert.Equal(t, "#precision=f32", eval[string](t, v.tab, `location.hash`))
	v.do(chromedp.Reload())
	v.ready()
	assert.Equal(t, "native", engine(), "after a reload")
	assert.Regexp(t, "vulkan|d3d12|metal", v.text("device-rows"))
}

// cancelledAtOnce presses Cancel, after a script, and checks that the page ends the job
// without waiting for the engine, which is busy for many iterations of the page's event
// loop.
func (v *visit) cancelledAtOnce(before string) {
	v.t.Helper()
	turns := eval[int](v.t, v.tab, `(async () => {
		`+before+`
		let turns = 0;
		document.getElementById('cancel').click();
		while (document.getElementById('stage').dataset.state === 'running') turns += await new Promise((r) => setTimeout(r, 1, 1));
		return turns;
	})()`)
	assert.LessOrEqual(v.t, turns, 2, "turns of the event loop until the page answered")
}

package web

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// stored returns all files in the browser's folder of checkpoints, with their sizes.
func (v *visit) stored() map[string]int {
	v.t.Helper()
	return eval[map[string]int](v.t, v.tab, `(async () => {
		const dir = await (await navigator.storage.getDirectory()).getDirectoryHandle('checkpoints', {create: true});
		const all = {};
		for await (const [name, file] of dir.entries()) all[name] = (await file.getFile()).size;
		return all;
	})()`)
}

// reload loads the page again.
func (v *visit) reload() {
	v.t.Helper()
	v.do(chromedp.Reload())
	v.ready()
}

// own picks one of the user's checkpoints.
func (v *visit) own(file, name string) {
	v.t.Helper()
	v.pick("model-file", copyOf(v.t, file))
	v.named("model-name", name)
}

// asked waits for the question.
func (v *visit) asked() {
	v.t.Helper()
	v.wait("a question", time.Minute, `!!document.getElementById('keep-yes') && !!document.getElementById('keep-no')`)
}

// kept answers the question with yes and waits for the copy.
func (v *visit) kept(name string) {
	v.t.Helper()
	v.asked()
	v.click("#keep-yes")
	v.wait("the copy", time.Minute, `document.getElementById('kept').textContent.includes($)`, name)
}

// slow makes files' streams stop after their first piece, until hurry() is called.
const slow = `(() => {
	const stream = Blob.prototype.stream;
	const hurried = new Promise((done) => { window.hurry = done; });
	let pieces = 0;
	Blob.prototype.stream = function () {
		return stream.call(this).pipeThrough(new TransformStream({
			async transform(piece, to) { if (pieces++) await hurried; to.enqueue(piece); },
		}));
	};
	return true;
})()`

// begun waits until the copy has started, and is stuck.
func (v *visit) begun() {
	v.t.Helper()
	v.wait("progress", time.Minute, `document.querySelector('#keeping progress')?.value > 0`)
}

// TestKeptIsAsked: a checkpoint is stored if the user agrees; a no is remembered and
// can be undone; the question does not disturb a job.
func TestKeptIsAsked(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	v.own("mine.safetensors", "mine")
	v.asked()
	assert.Equal(t, "Keep mine.safetensors (4.89 MiB) in this browser for next time?", v.text("keep-text"))
	assert.Empty(t, v.stored(), "kept before anybody said so")
	v.ready()
	v.run()
	v.asked()
	v.click("#keep-no")
	v.wait("no question", time.Minute, `document.getElementById('keep-text').textContent === ''`)
	assert.Empty(t, v.stored())
	v.reload()
	assert.Equal(t, "tiny-seedvr2", v.text("model-name"))
	v.own("mine.safetensors", "mine")
	v.wait("an offer", time.Minute, `!!document.getElementById('keep-yes')`)
	assert.Empty(t, v.text("keep-text"), "asked again")
	assert.False(t, eval[bool](t, v.tab, `!!document.getElementById('keep-no')`), "asked again")
	v.click("#keep-yes")
	v.wait("the copy", time.Minute, `document.getElementById('kept').textContent.includes('mine.safetensors4.89 MiB')`)
	info, err := os.Stat(model)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"mine.safetensors": int(info.Size())}, v.stored())
}

// TestKeptIsTakenUp: after a reload, the user's last checkpoint is used again, until
// another is chosen or it is removed.
func TestKeptIsTakenUp(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	v.own("mine.safetensors", "mine")
	v.kept("mine.safetensors")
	v.reload()
	assert.Equal(t, "mine", v.text("model-name"))
	v.click("#kept button.link")
	v.named("model-name", "tiny-seedvr2")
	v.reload()
	assert.Equal(t, "tiny-seedvr2", v.text("model-name"))
}

// TestUnfinishedIsNotKept: a copy shows its progress. A copy that was interrupted by a
// reload or cancelled is neither listed nor left behind. Another tab does not touch it
// while it is written.
func TestUnfinishedIsNotKept(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	begin := func() {
		eval[bool](t, v.tab, slow)
		v.own("mine.safetensors", "mine")
		v.wait("an offer", time.Minute, `!!document.getElementById('keep-yes')`)
		v.click("#keep-yes")
		v.begun()
		require.Contains(t, v.stored(), "mine.safetensors", "what this test is about")
	}
	begin()
	assert.Regexp(t, `^Keeping mine.safetensors: [\d.]+ .iB of 4.89 MiB`, v.text("keeping"))
	assert.Less(t, eval[float64](t, v.tab, `document.querySelector('#keeping progress').position`), 1.0)
	assert.NotContains(t, v.text("kept"), "mine")
	v.reload()
	assert.Equal(t, "tiny-seedvr2", v.text("model-name"))
	assert.NotContains(t, v.text("kept"), "mine")
	assert.Empty(t, v.stored(), "left by a reload")

	begin()
	v.click("#keeping button")
	v.wait("no progress", time.Minute, `document.getElementById('keeping').textContent === ''`)
	assert.Empty(t, v.stored(), "left of one that was stopped")
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('notice').hidden`), "stopping is no trouble")

	// The files that a killed browser leaves.
	eval[bool](t, v.tab, `(async () => {
		const dir = await (await navigator.storage.getDirectory()).getDirectoryHandle('checkpoints');
		for (const end of ['', '.part', '.crswap']) await dir.getFileHandle('gone.safetensors' + end, {create: true});
		return true;
	})()`)
	v.reload()
	assert.Empty(t, v.stored(), "left by a browser that was killed")
	begin()
	beside, closeTab := chromedp.NewContext(v.tab)
	t.Cleanup(closeTab)
	other := *v
	other.tab = beside
	other.open("?demo=2x6x6", "")
	other.ready()
	assert.NotContains(t, other.text("kept"), "mine", "another tab lists what is being written")
	assert.Contains(t, other.stored(), "mine.safetensors", "another tab removed what is being written")
	eval[bool](t, v.tab, `(window.hurry(), true)`)
	v.wait("the copy", time.Minute, `document.getElementById('kept').textContent.includes('mine.safetensors4.89 MiB')`)
	other.reload()
	assert.Equal(t, "mine", other.text("model-name"))
}

// TestKeptIsRemoved: each copy can be removed, and all at once; if one was in use, the
// built-in checkpoint replaces it.
func TestKeptIsRemoved(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	for _, name := range []string{"a", "b", "c"} {
		v.own(name+".safetensors", name)
		v.kept(name + ".safetensors")
	}
	require.Len(t, v.stored(), 3)
	assert.Equal(t, "Remove all from this browser (14.7 MiB)", v.text("kept-clear"))
	v.click(`#kept button[aria-label="Remove b.safetensors from this browser"]`)
	v.wait("the removal", time.Minute, `!document.getElementById('kept').textContent.includes('b.safetensors')`)
	assert.Len(t, v.stored(), 2)
	v.reload()
	require.Equal(t, "c", v.text("model-name"))
	v.click("#kept-clear")
	v.named("model-name", "tiny-seedvr2")
	v.wait("no button", time.Minute, `document.getElementById('kept-clear').hidden`)
	assert.Empty(t, v.stored())
	assert.Empty(t, v.text("kept"))
	v.run()
}

// TestNoRoomToKeep: if space is short, the page says so instead of asking. Chromium
// usually reports 10 GiB, so a copy that fails at the end must leave no file.
func TestNoRoomToKeep(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, told := range []bool{true, false} {
		v := newVisit(t, "")
		if told {
			allocator, stop := chromedp.NewExecAllocator(t.Context(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
				chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox,
				chromedp.Flag("disable-quic", true), chromedp.Flag("enable-unsafe-webgpu", true),
				chromedp.Flag("disable-features", "StaticStorageQuota"))...)
			t.Cleanup(stop)
			v.tab, stop = chromedp.NewContext(allocator)
			t.Cleanup(stop)
		}
		v.open("?demo=2x6x6", smallPart)
		v.ready()
		v.quota(2 << 20)
		v.own("mine.safetensors", "mine")
		if told {
			v.wait("the word", time.Minute, `document.getElementById('keep-text').textContent !== ''`)
			assert.Regexp(t, `^mine.safetensors \(4.89 MiB\) can’t be kept in this browser, which has [12][\d.]* MiB of space\.$`, v.text("keep-text"))
			assert.False(t, eval[bool](t, v.tab, `!!document.getElementById('keep-yes')`))
		} else {
			v.asked()
			v.click("#keep-yes")
			assert.Equal(t, "Could not be kept", v.problem())
		}
		assert.Empty(t, v.stored())
	}
}

// quota limits the page's storage.
func (v *visit) quota(bytes float64) {
	v.t.Helper()
	origin := eval[string](v.t, v.tab, `location.origin`)
	_, err := chromedp.Run(v.tab, func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, storage.OverrideQuotaForOrigin, storage.OverrideQuotaForOriginParams{Origin: origin, QuotaSize: &bytes})
		return chromedp.Void{}, err
	})
	require.NoError(v.t, err)
}

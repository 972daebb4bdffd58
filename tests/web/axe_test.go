package web

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// axe returns the script that finds accessibility problems; npm installs it for tests.
func axe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(root, "web/node_modules/axe-core/axe.min.js"))
	if os.IsNotExist(err) && !testenv.Required() {
		t.Skip("no axe-core: run `make web`")
	}
	require.NoError(t, err)
	return string(script)
}

// accessible runs axe on the page in both languages, light and dark.
func (v *visit) accessible(state, script string) {
	v.t.Helper()
	if !eval[bool](v.t, v.tab, `'axe' in window`) {
		_, err := chromedp.Run(v.tab, chromedp.Evaluate[any](script))
		require.NoError(v.t, err)
	}
	for _, scheme := range []string{"light", "dark"} {
		v.screen(1280, 900, 1, false, scheme)
		for _, language := range []string{"tr", "en"} {
			found := eval[[]string](v.t, v.tab, `(async () => {
				const f = document.getElementById('language');
				f.value = $;
				f.dispatchEvent(new Event('change'));
				// In details that are closed none is ever finished.
				const seen = document.getAnimations().filter((a) => a.effect.target.checkVisibility());
				await Promise.all(seen.map((a) => a.finished.catch(() => {})));
				await new Promise((r) => setTimeout(r, 100));
				const { violations } = await axe.run(document, { resultTypes: ['violations'] });
				return violations.flatMap((v) => v.nodes.map((n) => v.id + ': ' + n.html + ' ' + n.failureSummary));
			})()`, language)
			assert.Empty(v.t, found, "%s, %s, %s", state, scheme, language)
		}
	}
}

// axe finds no problem in any state of the page.
func TestAxe(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	script := axe(t)
	v := newVisit(t, "")
	v.open("?demo=2x32x32", "&tile=64&precision=f32")
	v.ready()
	v.accessible("start", script)
	eval[bool](t, v.tab, `(document.querySelectorAll('details:not(#notice-more)').forEach((d) => { d.open = true; }), true)`)
	v.accessible("addresses", script)
	v.click("#run")
	v.wait("the first tile", 4*time.Minute, `document.getElementById('progress-text').textContent.includes('tile 1')`)
	v.accessible("running", script)
	v.click("#cancel")
	v.ended("stopped", time.Minute)
	_, files, _ := pictures(t, 2)
	v.pick("input-file", files...)
	v.wait("the pictures", time.Minute, `document.getElementById('input-facts').textContent.startsWith('2 ')`)
	v.ready()
	v.accessible("files on the bench", script)
	v.run()
	v.wait("the quality", time.Minute, `document.getElementById('quality-note').textContent.includes('clip')`)
	v.click("input[name=view][value=compare]")
	v.accessible("done", script)
	eval[bool](t, v.tab, slow)
	v.own("mine.safetensors", "mine")
	v.asked()
	v.ready()
	v.accessible("asked", script)
	v.click("#keep-yes")
	v.begun()
	v.accessible("keeping", script)
	eval[bool](t, v.tab, `(window.hurry(), true)`)
	v.wait("the copy", time.Minute, `document.getElementById('kept').textContent.includes('mine')`)
	v.accessible("kept", script)
	v.pick("input-file", copyOf(t, "cut.npy"))
	v.notice()
	v.ready()
	v.accessible("error", script)
}

// axe finds no problem without a GPU.
func TestAxeWithoutGPU(t *testing.T) {
	t.Parallel()
	script := axe(t)
	v := newVisit(t, "")
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(chromium(t)),
		chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-gpu", true))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	v.tab, stop = chromedp.NewContext(allocator)
	t.Cleanup(stop)
	v.open("", "")
	v.notice()
	v.accessible("no GPU", script)
}

package web

import (
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
	"tessera/tiling"
	"tessera/vae"
)

const smallPart = "&tile=32&overlap=16&precision=f32"

// smallTiles are the tiles that smallPart selects.
var smallTiles = vae.Options{Tile: tiling.Choice{Tile: tiling.Square(32)}, Overlap: tiling.Square(16)}

// again opens the page again, as after its tab was closed.
func (v *visit) again() {
	v.t.Helper()
	v.do(chromedp.Navigate("about:blank"))
	v.open("?demo=2x6x6", smallPart)
}

// isKept waits until the page says that it works without a network.
func (v *visit) isKept() {
	v.t.Helper()
	v.wait("the page to be kept", time.Minute, `document.getElementById('offline')?.checkVisibility()`)
}

// copied copies the built folder, for changes.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(built(t))))
	return dir
}

// edit changes a file of a folder.
func edit(t *testing.T, path string, change func(text string) string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	text := change(string(data))
	require.NotEqual(t, string(data), text, path)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
}

// TestOffline: after one visit the page opens and runs its demo without its host; it
// stored its files after it was ready.
func TestOffline(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	url, log, stop := host(t, built(t), "")
	v := newVisitAt(t, url+"#")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	assert.Zero(t, sent(t, log, "sw.js"), "kept before the page was ready")
	v.isKept()
	assert.Positive(t, sent(t, log, "mediabunny"), "what only videos need is kept, too")
	assert.Zero(t, sent(t, log, "share.jpg"), "what no visitor needs")
	stop()
	v.again()
	v.recording()
	v.ready()
	v.click("#demo")
	v.ended("done", 4*time.Minute)
	v.sees(decoded(t, demoPart(t), smallTiles))
}

// TestNewBuild: while a newer build is downloaded, an open page stays as it is,
// including what it loads later, and so does a second tab. The new build takes over
// once both are closed.
func TestNewBuild(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	dir := copied(t)
	url, log := hosted(t, dir, "")
	v := newVisitAt(t, url+"#")
	v.open("?demo=2x6x6", smallPart)
	v.isKept()
	model := sent(t, log, "tiny-seedvr2")
	edit(t, filepath.Join(dir, "strings/en.js"), func(s string) string { return strings.ReplaceAll(s, "Files stay on this computer", "A newer build") })
	edit(t, filepath.Join(dir, "sw.js"), func(string) string {
		text, err := os.ReadFile(root + "/web/sw.js")
		require.NoError(t, err)
		return string(text)
	})
	said, err := exec.Command("node", root+"/tools/offline.js", dir).CombinedOutput()
	require.NoError(t, err, "%s", said)

	assert.False(t, v.visible("newer"))
	v.again()
	v.wait("the newer build", time.Minute, `navigator.serviceWorker.getRegistration().then((r) => !!r.waiting)`)
	assert.Equal(t, model, sent(t, log, "tiny-seedvr2"), "what has not changed was fetched again")
	v.wait("a word about it", 10*time.Second, `document.getElementById('newer').checkVisibility()`)
	foot := `document.querySelector('footer').textContent`
	assert.Contains(t, eval[string](t, v.tab, foot), "Files stay")
	assert.Contains(t, eval[string](t, v.tab, `fetch('strings/en.js').then((r) => r.text())`), "Files stay", "half old, half new")

	other, closeTab := chromedp.NewContext(v.tab)
	w := visitIn(t, other, url+"#")
	w.open("", "")
	w.recording()
	assert.Contains(t, eval[string](t, w.tab, foot), "Files stay", "the newer build beside the older one")
	closeTab()
	for end := time.Now().Add(time.Minute); ; {
		v.do(chromedp.Navigate("about:blank"))
		time.Sleep(time.Second) // the browser counts closed pages for a moment
		v.open("?demo=2x6x6", smallPart)
		v.recording()
		if strings.Contains(eval[string](t, v.tab, foot), "A newer build") {
			assert.False(t, v.visible("newer"), "it is here")
			break
		}
		require.True(t, time.Now().Before(end), "the older build is still there")
	}
	assert.Equal(t, 0, eval[int](t, v.tab, `(async () => {
		const keys = await (await caches.open((await caches.keys())[0])).keys();
		const paths = keys.map(({ url }) => url.split('?')[0]);
		return paths.length - new Set(paths).size;
	})()`), "files of the older build are left")
}

// TestDamagedIsNotKept: bytes with a wrong hash are not stored, and the page does not
// claim to work offline. Once the host is repaired, the rest is downloaded.
func TestDamagedIsNotKept(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	dir := copied(t)
	url, log := hosted(t, dir, "")
	picture := filepath.Join(dir, "demo/frame_0003.png")
	flip := func(s string) string { return s[:5000] + string(s[5000]^1) + s[5001:] }
	edit(t, picture, flip)
	v := newVisitAt(t, url+"#")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	for end := time.Now().Add(time.Minute); sent(t, log, "frame_0003") == 0; time.Sleep(100 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "nothing was fetched to be kept")
	}
	v.wait("the worker to give up", 30*time.Second, `navigator.serviceWorker.getRegistration().then((r) => !r)`)
	kept := eval[[]string](t, v.tab, `(async () => (await (await caches.open((await caches.keys())[0])).keys()).map((r) => r.url))()`)
	assert.NotContains(t, strings.Join(kept, " "), "frame_0003")
	assert.Contains(t, strings.Join(kept, " "), "frame_0002")
	assert.False(t, v.visible("offline"))
	edit(t, picture, flip)
	before := sent(t, log, "frame_0002")
	v.again()
	v.isKept()
	assert.Equal(t, before, sent(t, log, "frame_0002"), "what was kept is fetched again")
}

// TestNotKeptWithToken: the page of the native program is not stored, and a stored page
// at its address is removed.
func TestNotKeptWithToken(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := newSite(t)
	v.open("?demo=2x6x6", smallPart)
	v.isKept()
	v.do(chromedp.Navigate("about:blank"))
	v.open("?demo=2x6x6", smallPart+"&token=abc")
	v.ready()
	v.wait("the worker to go", 30*time.Second, `navigator.serviceWorker.getRegistration().then((r) => !r)`)
	time.Sleep(5 * time.Second) // longer than the page would wait to store itself
	assert.True(t, eval[bool](t, v.tab, `navigator.serviceWorker.getRegistration().then((r) => !r)`))
}

// TestWorkerOfTheSite: the page does not count a surrounding site's worker as its own,
// and does not remove it.
func TestWorkerOfTheSite(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	dir := copied(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other.js"), nil, 0o666))
	url, _ := hosted(t, dir, "add_header Service-Worker-Allowed /;")
	v := newVisitAt(t, url+"#")
	v.open("", "")
	v.recording()
	eval[bool](t, v.tab, `navigator.serviceWorker.register('other.js', { scope: '/try/' }).then(() => true)`)
	v.wait("the site's worker", 30*time.Second, `navigator.serviceWorker.getRegistration('/try/').then((r) => !!r?.active)`)
	v.do(chromedp.Navigate("about:blank"))
	v.open("", "&token=abc")
	v.ready()
	assert.True(t, eval[bool](t, v.tab, `navigator.serviceWorker.getRegistration('/try/').then((r) => !!r?.active)`), "removed")
	eval[bool](t, v.tab, `(sessionStorage.clear(), true)`)
	v.do(chromedp.Reload())
	v.recording()
	assert.False(t, v.visible("offline"), "said to be kept")
}

// TestUnpackedIsKept: a host that unpacks packed files sends bytes that are accepted
// for storage.
func TestUnpackedIsKept(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	url, _ := hosted(t, built(t), "location ~ wasm.gz$ { add_header Content-Encoding gzip; }")
	v := newVisitAt(t, url+"#")
	v.open("?demo=2x6x6", smallPart)
	v.isKept()
}

// TestInstall: Chromium accepts the page for installation, and a button offers it.
func TestInstall(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	if *update {
		writeIcons(t)
	}
	v := newSite(t)
	v.open("?demo=2x6x6", smallPart)
	v.recording()
	missing, err := chromedp.Run(v.tab, func(ctx context.Context, _ *chromedp.Target) (page.GetInstallabilityErrorsResult, error) {
		return chromedp.Call(ctx, page.GetInstallabilityErrors, cdp.Empty{})
	})
	require.NoError(t, err)
	for _, e := range missing.InstallabilityErrors {
		assert.Equal(t, "in-incognito", e.ErrorID, "%v", e.ErrorArguments)
	}
	manifest, err := chromedp.Run(v.tab, func(ctx context.Context, _ *chromedp.Target) (page.GetAppManifestResult, error) {
		return chromedp.Call(ctx, page.GetAppManifest, page.GetAppManifestParams{})
	})
	require.NoError(t, err)
	assert.Empty(t, manifest.Errors)
	assert.True(t, strings.HasSuffix(manifest.URL, "/try/tessera/manifest.json"), manifest.URL)
	for name, size := range icons {
		f, err := os.Open(filepath.Join(built(t), "icons", name+".png"))
		require.NoError(t, err)
		picture, _, err := image.DecodeConfig(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		assert.Equal(t, [2]int{size, size}, [2]int{picture.Width, picture.Height}, name)
	}
	v.wait("Chromium's offer", 30*time.Second, `document.getElementById('install').checkVisibility()`)
	v.isKept()
	v.accessible("kept, and can be installed", axe(t))
	v.click("#install")
	assert.False(t, v.visible("install"))
}

// icons are the pictures of web/icons and their sizes.
var icons = map[string]int{"192": 192, "512": 512, "maskable-512": 512, "apple": 180}

// writeIcons draws web/icons from web/icon.svg; icons that systems crop have a
// background and a margin.
func writeIcons(t *testing.T) {
	t.Helper()
	svg, err := os.ReadFile(root + "/web/icon.svg")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(root+"/web/icons", 0o777))
	v := newVisitAt(t, "")
	for name, size := range icons {
		cut := name == "apple" || strings.HasPrefix(name, "maskable")
		text, margin := string(svg), 0
		if cut {
			text, margin = strings.ReplaceAll(text, "#0f766e", "#2dd4bf"), size/4
		}
		text = strings.Replace(text, "<svg ", fmt.Sprintf(`<svg width="%[1]d" height="%[1]d" `, size-2*margin), 1)
		data := eval[string](t, v.tab, `(async () => {
			const image = new Image();
			image.src = 'data:image/svg+xml,' + encodeURIComponent($);
			await image.decode();
			const canvas = document.createElement('canvas');
			canvas.width = canvas.height = $;
			const context = canvas.getContext('2d'), margin = $;
			context.fillStyle = '#0d1211';
			if (margin) context.fillRect(0, 0, canvas.width, canvas.height);
			context.drawImage(image, margin, margin);
			return canvas.toDataURL('image/png').split(',')[1];
		})()`, text, size, margin)
		picture, err := base64.StdEncoding.DecodeString(data)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(fmt.Sprintf("%s/web/icons/%s.png", root, name), picture, 0o666))
	}
}

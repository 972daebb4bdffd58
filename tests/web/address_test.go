package web

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/known"
	"tessera/tests/testenv"
	page "tessera/web"
)

// another is a foreign site, with possible restrictions.
type another struct {
	*httptest.Server
	host   string
	cors   bool
	ranges bool

	mu    sync.Mutex
	asked []string // requested ranges, "" for a whole file
}

// newAnother serves files by their names.
func newAnother(t *testing.T, cors, ranges bool, files ...string) *another {
	t.Helper()
	a := &another{cors: cors, ranges: ranges}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.cors {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Access-Control-Allow-Headers", "Range")
		}
		if r.Method == http.MethodOptions {
			return
		}
		a.mu.Lock()
		a.asked = append(a.asked, r.Header.Get("Range"))
		a.mu.Unlock()
		if !a.ranges {
			r.Header.Del("Range")
		}
		for _, file := range files {
			if r.URL.Path == "/"+filepath.Base(file) {
				http.ServeFile(w, r, file)
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(a.Close)
	a.host = strings.TrimPrefix(a.URL, "http://")
	return a
}

// requests returns the requests so far.
func (a *another) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.asked...)
}

// plain visits the page on a host that sets no policy.
func plain(t *testing.T) *visit {
	t.Helper()
	built(t)
	files, err := page.Page()
	require.NoError(t, err)
	s := httptest.NewServer(http.FileServerFS(files))
	t.Cleanup(s.Close)
	v := newVisitAt(t, s.URL+"/#")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	return v
}

// address opens an address in a field, "model" or "latent".
func (v *visit) address(field, text string) {
	v.t.Helper()
	v.wait("the field", time.Minute, `!document.getElementById($ + '-address').matches(':disabled')`, field)
	eval[bool](v.t, v.tab, `(() => {
		document.getElementById($ + '-address').value = $;
		document.getElementById($ + '-address-form').requestSubmit();
		return true;
	})()`, field, text, field)
}

// sparse creates a file of this many bytes; the last one is 7.
func sparse(t *testing.T, name string, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte{7}, size-1)
	require.NoError(t, err)
	return path
}

// A site with ranges is asked for the needed parts of a large file. If a site lacks
// ranges, or lets no other page read, the page names it and says what to do.
func TestSitesByWhatTheyLack(t *testing.T) {
	t.Parallel()
	const size = 40 << 20
	large, few := sparse(t, "large.safetensors", size), sparse(t, "few.npy", 100_000)
	v := plain(t)
	read := func(url string, offset, length int) string {
		return eval[string](t, v.tab, `(async () => {
			const { openSource } = await import('./source.js');
			const source = await openSource($);
			return source.name + ' ' + source.size + ': ' + new Uint8Array(await source.read($, $));
		})().catch((e) => e.message)`, url, offset, length)
	}

	both := newAnother(t, true, true, large, few)
	assert.Equal(t, "large.safetensors 41943040: 0,7", read(both.URL+"/large.safetensors", size-2, 2))
	assert.Equal(t, []string{"bytes=0-65535", "", "bytes=41943038-41943039"}, both.requests(), "the size is asked for, since it is not told other pages")
	assert.Equal(t, "few.npy 100000: 0,7", read(both.URL+"/few.npy", 99_998, 2))
	assert.Equal(t, both.URL+"/none.npy: 404 Not Found", read(both.URL+"/none.npy", 0, 1))
	eval[bool](t, v.tab, `import('./source.js').then(async (m) => (window.opened = await m.openSource($), true))`, both.URL+"/large.safetensors")
	require.NoError(t, os.Truncate(large, size-1))
	assert.Equal(t, both.URL+"/large.safetensors: 1 bytes from 41943038 on, expected 2: the file has changed or the line broke",
		eval[string](t, v.tab, `opened.read(opened.size - 2, 2).catch((e) => e.message)`))

	whole := newAnother(t, true, false, large, few)
	assert.Equal(t, "few.npy 100000: 0,7", read(whole.URL+"/few.npy", 99_998, 2))
	assert.Equal(t, whole.URL+"/large.safetensors: "+whole.host+" sends large files only whole, expected ranges: download it and choose the file",
		read(whole.URL+"/large.safetensors", 0, 1))

	shut := newAnother(t, false, true, few)
	assert.Equal(t, shut.URL+"/few.npy: "+shut.host+" is not there, or does not allow other pages to read (CORS): download it and choose the file",
		read(shut.URL+"/few.npy", 0, 1))
}

// A checkpoint and a latent at addresses work like files. An invalid address, or one of
// an unreadable site, leaves the bench unchanged.
func TestAddresses(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	checkpoint := copyOf(t, "mine.safetensors")
	_, latent := ramp(t, "ramp.npy")
	v := plain(t)
	for text, want := range map[string]string{
		"":                         `"": expected an address that begins with https:// or http://`,
		"mine.safetensors":         "mine.safetensors: expected an address that begins with https:// or http://",
		"file:///etc/hostname":     "file:///etc/hostname: expected an address that begins with https:// or http://",
		"javascript:alert(1)":      "javascript:alert(1): expected an address that begins with https:// or http://",
		"https://a:b@example.com/": "Example.com: the address holds a user name or a password, and browsers read no such address",
	} {
		v.address("model", text)
		assert.Equal(t, strings.ToLower(want), strings.ToLower(v.problem()), text)
		v.click("#notice-close")
		v.ready()
	}
	shut := newAnother(t, false, true, checkpoint)
	v.address("model", shut.URL+"/mine.safetensors")
	assert.Contains(t, v.problem(), shut.host+" is not there, or does not allow other pages to read")
	v.ready()
	assert.Equal(t, "tiny-seedvr2", v.text("model-name"))

	site := newAnother(t, true, true, checkpoint, latent)
	v.address("model", site.URL+"/mine.safetensors")
	v.named("model-name", "mine")
	v.ready()
	v.address("latent", site.URL+"/mine.pth")
	assert.Contains(t, v.problem(), "404")
	v.address("latent", site.URL+"/ramp.npy#part")
	v.named("input-name", "ramp.npy")
	v.ready()
	v.run()
	assert.Contains(t, v.text("progress-text"), "21 frames")
	v.frame(0)
	v.click("#save-png")
	v.download("ramp-0001.png")
}

// A large checkpoint is read by range and never requested whole: here one whose header
// ends in 32 MiB of spaces.
func TestLargeCheckpointIsReadByRange(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	data, err := os.ReadFile(model)
	require.NoError(t, err)
	end := 8 + binary.LittleEndian.Uint64(data)
	spaces := bytes.Repeat([]byte(" "), 32<<20)
	binary.LittleEndian.PutUint64(data, end-8+uint64(len(spaces)))
	path := filepath.Join(t.TempDir(), "large.safetensors")
	require.NoError(t, os.WriteFile(path, slices.Concat(data[:end], spaces, data[end:]), 0o666))

	site := newAnother(t, true, true, path)
	v := plain(t)
	v.address("model", site.URL+"/large.safetensors")
	v.wait("the checkpoint", time.Minute, `location.hash.includes('large')`)
	v.ready()
	v.run()
	requests := site.requests()
	require.Greater(t, len(requests), 3)
	assert.Empty(t, requests[1], "the size")
	for _, r := range slices.Delete(requests, 1, 2) {
		assert.Regexp(t, `^bytes=\d+-\d+$`, r)
	}
}

// The page of `tessera serve` reads other sites only over https, and says so.
func TestPolicyIsNamed(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	_, latent := ramp(t, "ramp.npy")
	site := newAnother(t, true, true, latent)
	v := small(t)
	v.address("latent", site.URL+"/ramp.npy")
	assert.Equal(t, site.URL+"/ramp.npy: this page may not read http:, expected https: download it and choose the file", v.problem())
	assert.Empty(t, site.requests())
}

// A copied link has the settings and the addresses, but never a token, the engine or a
// possible key. The page asks its user before it contacts another site.
func TestCopiedLink(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	checkpoint := copyOf(t, "mine.safetensors")
	_, latent := ramp(t, "ramp.npy")
	site := newAnother(t, true, true, checkpoint, latent)
	v := plain(t)
	for _, name := range []string{"clipboard-write", "clipboard-read"} {
		_, err := chromedp.CallBrowser(v.tab, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
		})
		require.NoError(t, err)
	}
	_, err := chromedp.Run(v.tab, func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return chromedp.Void{}, err
	})
	require.NoError(t, err)
	copied := func() string {
		v.ready()
		eval[bool](t, v.tab, `(document.getElementById('settings-box').open = true)`)
		v.do(chromedp.Click("#copy-link"))
		v.wait("the copy", time.Minute, `document.getElementById('copied').textContent === 'Copied'`)
		return eval[string](t, v.tab, `navigator.clipboard.readText()`)
	}
	host, _, _ := strings.Cut(v.url, "#")
	eval[bool](t, v.tab, `(sessionStorage.setItem('token', 'secret'), sessionStorage.setItem('engine', 'native'), true)`)
	assert.Equal(t, host+"#tile=32&overlap=16&precision=f32", copied())
	v.address("model", site.URL+"/mine.safetensors?key=mine")
	v.named("model-name", "mine")
	v.ready()
	assert.Equal(t, host+"#tile=32&overlap=16&precision=f32", copied())
	assert.Equal(t, "The link omits an address", v.problem())
	v.address("model", site.URL+"/mine.safetensors")
	v.wait("the address", time.Minute, `location.hash.includes('mine.safetensors')`)
	v.ready()
	v.address("latent", site.URL+"/ramp.npy")
	v.named("input-name", "ramp.npy")
	v.ready()
	link := copied()
	assert.Contains(t, link, "mine.safetensors")
	assert.Contains(t, link, "ramp.npy")
	assert.NotContains(t, link, "secret")
	assert.NotContains(t, link, "native")

	eval[bool](t, v.tab, `(sessionStorage.clear(), localStorage.clear(), true)`)
	asked := len(site.requests())
	v.do(chromedp.Navigate("about:blank"))
	v.do(chromedp.Navigate(link))
	assert.Equal(t, "This link names files at "+site.host, v.problem())
	v.ready()
	assert.Equal(t, "This link names files at "+site.host, v.problem(), "still asked")
	assert.Equal(t, "Demo clip", v.text("input-name"))
	assert.Len(t, site.requests(), asked, "fetched without being asked for")
	assert.Equal(t, link, eval[string](t, v.tab, `location.href`), "a reload asks again")
	v.click("#notice-action")
	v.named("model-name", "mine")
	v.named("input-name", "ramp.npy")
	v.ready()
	assert.Equal(t, "32", eval[string](t, v.tab, `document.querySelector('select[name=tile]').value`))
	assert.Equal(t, link, eval[string](t, v.tab, `location.href`))
	v.click("#demo-pick")
	v.named("input-name", "Demo clip")
	v.wait("the address without the latent", time.Minute, `!location.hash.includes('ramp')`)

	v.do(chromedp.Navigate("about:blank"))
	v.do(chromedp.Navigate(host + "#model=" + "javascript:alert(1)"))
	assert.Equal(t, "javascript:alert(1): expected an address that begins with https:// or http://", strings.ToLower(v.problem()[:1])+v.problem()[1:])
	assert.Empty(t, eval[string](t, v.tab, `location.hash`))
}

// An encoded latent is decoded with two clicks, and saved under the clip's name.
func TestDecodeWhatWasEncoded(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	_, files, _ := pictures(t, 5)
	v.pick("input-file", files...)
	v.wait("the clip", time.Minute, `document.getElementById('input-facts').textContent.startsWith('5 ')`)
	v.ready()
	assert.False(t, v.visible("decode-encoded"))
	v.click("input[name=task][value=encode]")
	v.ready()
	v.run()
	assert.True(t, v.visible("decode-encoded"))
	v.click("#decode-encoded")
	v.named("input-name", "picture0.safetensors")
	v.ready()
	assert.Equal(t, "Decode", v.text("run"))
	assert.Contains(t, v.text("caption"), "16 channels", "the latent is what there is to see")
	assert.False(t, v.visible("decode-encoded"))
	v.run()
	assert.Contains(t, v.text("progress-text"), "5 frames")
	assert.False(t, v.visible("decode-encoded"), "of a decode")
	v.frame(0)
	v.click("#save-png")
	v.download("picture0-0001.png")
	assert.Contains(t, v.text("inputs"), "picture0.png … picture4.png")
}

// A published checkpoint's button fills the field with its address, and downloads
// nothing.
func TestPublishedAddress(t *testing.T) {
	t.Parallel()
	url, log, _ := host(t, built(t), "")
	v := newVisitAt(t, url+"#")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	eval[bool](t, v.tab, `(() => {
		document.querySelector('.places').open = true;
		document.querySelector('#places li button').click();
		return true;
	})()`)
	field := eval[string](t, v.tab, `document.getElementById('model-address').value`)
	assert.Equal(t, known.Checkpoints[0].Address(known.Hub), field)
	assert.True(t, v.visible("model-address"), "the field")
	assert.Equal(t, "tiny-seedvr2", v.text("model-name"))
	assert.Zero(t, fetches(t, log, "huggingface"))
}

package web

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	server "tessera/app/serve"
	"tessera/gpu"
	"tessera/tests/testenv"
	page "tessera/web"
)

// visit is a user's tab with the page of `tessera serve`.
type visit struct {
	t         *testing.T
	tab       context.Context
	url       string // of the page, with the token
	downloads string
	firefox   *firefox // nil in Chromium
}

// newVisit serves the built page and opens an empty tab. folder is the native engine's
// folder.
func newVisit(t *testing.T, folder string) *visit {
	t.Helper()
	return newVisitAt(t, servePage(t, folder))
}

// servePage serves the built page like `tessera serve`, and returns its address.
func servePage(t *testing.T, folder string) string {
	t.Helper()
	files, err := page.Page()
	if errors.Is(err, page.ErrNotBuilt) && !testenv.Required() {
		t.Skip(err)
	}
	require.NoError(t, err)
	s, err := server.New("127.0.0.1:0", server.Options{
		Page: files, Folder: folder, Device: gpu.Options{Adapter: -1}, Log: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		assert.NoError(t, s.Close())
		assert.NoError(t, <-served)
	})
	return s.URL()
}

// newVisitAt opens an empty tab for a page that is served elsewhere; its address ends
// with #.
func newVisitAt(t *testing.T, url string) *visit {
	t.Helper()
	return visitIn(t, tab(t, "about:blank"), url)
}

// visitIn is a visit in an existing tab.
func visitIn(t *testing.T, tab context.Context, url string) *visit {
	t.Helper()
	v := &visit{t: t, tab: tab, url: url, downloads: t.TempDir()}
	_, err := chromedp.CallBrowser(v.tab, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: v.downloads,
	})
	require.NoError(t, err)
	return v
}

// do runs actions; one that fails ends the test.
func (v *visit) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	require.NoError(v.t, chromedp.Do(v.tab, actions...))
}

// open goes to the page; query is for example "?demo=2x8x8", and more is appended after
// #, for example "&tile=64".
func (v *visit) open(query, more string) {
	v.t.Helper()
	url := strings.Replace(v.url, "/#", "/"+query+"#", 1) + more
	if v.firefox != nil {
		v.firefox.open(v.t, url)
		return
	}
	v.do(chromedp.Navigate(url))
}

// text returns an element's text.
func (v *visit) text(id string) string {
	v.t.Helper()
	return eval[string](v.t, v.tab, `document.getElementById($).textContent`, id)
}

// click clicks an element once it can be clicked.
func (v *visit) click(selector string) {
	v.t.Helper()
	v.wait("a "+selector+" that can be clicked", 30*time.Second, `!document.querySelector($)?.matches(':disabled')`, selector)
	eval[bool](v.t, v.tab, `(document.querySelector($).click(), true)`, selector)
}

// wait waits until a script's value is true.
func (v *visit) wait(what string, limit time.Duration, script string, args ...any) {
	v.t.Helper()
	limit *= 3 // for an idle machine; elsewhere other programs use the processor that stands in for a GPU
	for end := time.Now().Add(limit); !eval[bool](v.t, v.tab, script, args...); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			require.Fail(v.t, what, "not within %v; the page says:\n%s", limit, eval[string](v.t, v.tab, "document.body.innerText"))
		}
	}
}

// ready waits until the page knows what its job will need; a loading page has no body
// at first.
func (v *visit) ready() {
	v.t.Helper()
	v.wait("a plan", 2*time.Minute, `document.body?.dataset.ready === 'true'`)
}

// ended waits until a job has ended in a state, such as "done".
func (v *visit) ended(as string, limit time.Duration) {
	v.t.Helper()
	v.wait("the job's end", limit, `document.getElementById('stage').dataset.state !== 'running'`)
	got := eval[string](v.t, v.tab, `document.getElementById('stage').dataset.state`)
	if got != as {
		require.Equal(v.t, as, got, "how the job ended; the page says:\n%s", eval[string](v.t, v.tab, "document.body.innerText"))
	}
}

// pick puts files into one of the page's file inputs.
func (v *visit) pick(id string, files ...string) {
	v.t.Helper()
	if v.firefox != nil {
		v.firefox.pick(v.t, id, files)
		return
	}
	v.do(chromedp.SetUploadFiles("#"+id, files))
}

// named waits until an element shows a name on the bench.
func (v *visit) named(id, name string) {
	v.t.Helper()
	v.wait(name+" as "+id, time.Minute, `document.getElementById($).textContent === $`, id, name)
}

// takes picks a checkpoint and waits until it is open.
func (v *visit) takes(checkpoint string) {
	v.t.Helper()
	v.pick("model-file", checkpoint)
	v.named("model-name", strings.TrimSuffix(filepath.Base(checkpoint), filepath.Ext(checkpoint)))
	v.ready()
}

// picks puts an input on the bench.
func (v *visit) picks(file string) {
	v.t.Helper()
	v.pick("input-file", file)
	v.named("input-name", filepath.Base(file))
}

// set changes a setting like a user.
func (v *visit) set(name, value string) {
	v.t.Helper()
	eval[bool](v.t, v.tab, `(() => { const f = document.querySelector('#settings [name=' + $ + ']'); f.value = $; f.dispatchEvent(new Event('change', {bubbles: true})); return true; })()`, name, value)
}

// run runs a job to its end.
func (v *visit) run() {
	v.t.Helper()
	v.click("#run")
	v.ended("done", 4*time.Minute)
}

// notice waits for a message and returns its kind.
func (v *visit) notice() string {
	v.t.Helper()
	v.wait("a message", time.Minute, `!document.getElementById('notice').hidden`)
	return eval[string](v.t, v.tab, `document.getElementById('notice').dataset.kind`)
}

// problem waits for a message and returns its title.
func (v *visit) problem() string {
	v.t.Helper()
	v.notice()
	return v.text("notice-title")
}

// frame returns frame i as the canvas shows it, [H, W, 4].
func (v *visit) frame(i int) []byte {
	v.t.Helper()
	text := eval[string](v.t, v.tab, `(async () => {
		const scrub = document.getElementById('scrub'), canvas = document.getElementById('picture');
		scrub.value = $;
		scrub.dispatchEvent(new Event('input'));
		do await new Promise((r) => setTimeout(r, 20)); while (canvas.ariaBusy === 'true');
		const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
		return data.toBase64?.() ?? btoa(Array.from(data, (x) => String.fromCharCode(x)).join(''));
	})()`, i)
	pixels, err := base64.StdEncoding.DecodeString(text)
	require.NoError(v.t, err)
	return pixels
}

// download waits for a file in the user's downloads and returns its path.
func (v *visit) download(name string) string {
	v.t.Helper()
	path := filepath.Join(v.downloads, name)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return path
		}
	}
	all, _ := os.ReadDir(v.downloads)
	require.Fail(v.t, name+" was not saved", "there is %v", all)
	return ""
}

// screen sets the window's size and the system's colour scheme.
func (v *visit) screen(width, height int64, scale float64, phone bool, scheme string) {
	v.t.Helper()
	_, err := chromedp.Run(v.tab, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: scale, Mobile: phone,
		})
		if err == nil {
			_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
		}
		return chromedp.Void{}, err
	})
	require.NoError(v.t, err)
}

// shot writes a screenshot of the window.
func (v *visit) shot(path string) {
	v.t.Helper()
	picture, err := chromedp.Run(v.tab, chromedp.CaptureScreenshot())
	require.NoError(v.t, err)
	require.NoError(v.t, os.WriteFile(path, picture, 0o666))
}

// differ returns how two frames differ: the largest difference of a value, and the
// number of differing values.
func differ(a, b []byte) (most, count int, err error) {
	if len(a) != len(b) {
		return 0, 0, fmt.Errorf("%d and %d values", len(a), len(b))
	}
	for i := range a {
		d := int(a[i]) - int(b[i])
		if d < 0 {
			d = -d
		}
		most = max(most, d)
		if d > 0 {
			count++
		}
	}
	return most, count, nil
}

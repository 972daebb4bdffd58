package web

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// sent adds up the bytes that nginx has sent for paths that contain part.
func sent(t *testing.T, log, part string) int {
	t.Helper()
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	sum := 0
	for line := range strings.Lines(string(data)) {
		var path string
		var n int
		_, err := fmt.Sscan(line, &path, &n)
		require.NoError(t, err, line)
		if strings.Contains(path, part) {
			sum += n
		}
	}
	return sum
}

// recording waits until the recording of the demo is on the stage.
func (v *visit) recording() {
	v.t.Helper()
	v.wait("the recording", 30*time.Second, `document.getElementById('stage').dataset.state === 'recorded'`)
}

// TestFirstBytes counts the bytes of a visit before any job, on a host that compresses
// only HTML.
func TestFirstBytes(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	url, log := hosted(t, built(t), "")
	v := newVisitAt(t, url+"#")
	v.open("", "")
	v.recording()
	early := sent(t, log, "") - sent(t, log, ".wasm")
	v.ready()
	v.wait("an estimate, which wants the device measured", time.Minute, `document.getElementById('estimate').textContent !== ''`)
	all, engine := sent(t, log, ""), sent(t, log, ".wasm")
	t.Logf("the page with its recording: %d bytes; with the engine and a plan: %d, the engine %d", early, all, engine)
	assert.LessOrEqual(t, all, 2_400_000, "bytes until the page is ready")
	assert.LessOrEqual(t, all-engine, 650_000, "bytes beside the engine")
	assert.LessOrEqual(t, sent(t, log, "tiny-seedvr2"), 100_000, "bytes of the model, of which a header will do")
	assert.Zero(t, sent(t, log, "mediabunny"))
	assert.Zero(t, sent(t, log, "latent.safetensors"))
	assert.Zero(t, sent(t, log, "/frame_"), "the demo's originals")
}

// TestSlowLink visits a plain nginx over a slow line, which does not know .mjs,
// compresses only HTML and has the page below a path. The recording appears early;
// pressing the button before the engine has loaded starts the job later; and the visit
// continues to the last saved file.
func TestSlowLink(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	url, _ := hosted(t, built(t), "limit_rate 300k;")
	v := newVisitAt(t, url+"#")
	v.throttle(150*time.Millisecond, 300<<10)
	v.open("?demo=2x6x6", smallPart)
	v.wait("the poster", 5*time.Second, `document.querySelector('.poster')?.complete`)
	v.recording()
	assert.NotEqual(t, "true", eval[string](t, v.tab, `document.body.dataset.ready ?? ''`), "the recording came after the engine")
	v.click("#demo")
	v.ended("done", 4*time.Minute)
	v.sees(decoded(t, demoPart(t), smallTiles))
	v.ready()
	v.steps("demo", "native engine")
}

// conditions are the parameters of Network.emulateNetworkConditions.
type conditions struct {
	Offline    bool    `json:"offline"`
	Latency    float64 `json:"latency"` // ms
	Download   float64 `json:"downloadThroughput"`
	Upload     float64 `json:"uploadThroughput"` // bytes per second; -1: unlimited
	Connection string  `json:"connectionType,omitempty"`
}

// throttle slows the tab's line. It does not affect its workers' downloads: the host
// limits those.
func (v *visit) throttle(latency time.Duration, bytesPerSecond float64) {
	v.t.Helper()
	emulate := cdp.Command[conditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"}
	_, err := chromedp.Run(v.tab, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
		if err == nil {
			_, err = chromedp.Call(ctx, emulate, conditions{
				Latency: float64(latency.Milliseconds()), Download: bytesPerSecond, Upload: bytesPerSecond,
			})
		}
		return chromedp.Void{}, err
	})
	require.NoError(v.t, err)
}

// bareTab opens a browser with default flags, which offers no adapter without a GPU.
func bareTab(t *testing.T) context.Context {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(chromium(t)),
		chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-gpu", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	return ctx
}

// TestWithoutGPU visits with a browser without a GPU: the recording is there with all
// its controls, the page gives advice, it downloads nothing unusable and no button is
// dead.
func TestWithoutGPU(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	url, log := hosted(t, built(t), "")
	v := visitIn(t, bareTab(t), url+"#")
	v.open("", "")
	v.recording()
	v.wait("what to do", 30*time.Second, `!document.getElementById('nogpu').hidden`)
	assert.Equal(t, "false", eval[string](t, v.tab, `String(document.getElementById('split').hidden)`), "the slider is not there")
	assert.Contains(t, v.text("nogpu-list"), "Firefox")
	assert.Contains(t, eval[string](t, v.tab, `document.querySelector('#nogpu-list [aria-current]').textContent`), "Linux")
	assert.Contains(t, v.text("nogpu-list"), "Safari")
	assert.Zero(t, sent(t, log, ".wasm"), "the engine was fetched")
	dead := eval[[]string](t, v.tab, `[...document.querySelectorAll('button, select, input')].filter((e) =>
		e.checkVisibility() && e.matches(':disabled')).map((e) => e.id || e.name || e.textContent)`)
	assert.Empty(t, dead, "shown, but can't be used")
	eval[bool](t, v.tab, `(() => { const s = document.getElementById('split-at'); s.value = 900; s.dispatchEvent(new Event('input')); return true; })()`)
	compared := v.frame(16)
	v.click("input[name=view][value=result]")
	require.NotEqual(t, compared, v.frame(16))
	assert.Equal(t, "17 / 17", v.text("at"))
	v.click("#save-png")
	assert.Positive(t, len(readPNG(t, v.download("demo-recorded-0017.png")).Pix))
}

// TestWithoutScripts: a page without scripts, or opened as a file, says so.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	v := &visit{t: t, tab: bareTab(t)}
	v.do(chromedp.Navigate("file://" + built(t) + "/index.html"))
	seen := eval[string](t, v.tab, `document.body.innerText`)
	assert.Contains(t, seen, "opened as a file")
	assert.NotContains(t, seen, "Checkpoint", "what can't work is shown")
	data, err := os.ReadFile(built(t) + "/index.html")
	require.NoError(t, err)
	assert.Contains(t, string(data), "<noscript><p")
}

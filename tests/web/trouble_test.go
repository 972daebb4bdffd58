package web

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"tessera/tiling"
	"tessera/vae"
)

// TestDeviceLost crashes the browser's GPU process in the middle of a decode:
// the page says so, offers to resume, and then shows the right frames.
func TestDeviceLost(t *testing.T) {
	v := newVisit(t, "")
	v.open("?demo=2x6x6&autoplay", "&tile=32&overlap=16&precision=f32")
	v.wait("the middle of the job", time.Minute, `document.getElementById('progress-text').textContent.includes('tile')`) // it began by itself
	if _, err := chromedp.CallBrowser(v.tab, browser.CrashGPUProcess, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	v.wait("a message", time.Minute, `!document.getElementById('notice').hidden`)
	if title, action := v.text("notice-title"), v.text("notice-action"); title != "The GPU was lost" || action != "Open it again and resume" {
		t.Fatalf("the page says %q and offers %q", title, action)
	}
	if detail := v.text("notice-detail"); !strings.Contains(detail, "device lost") {
		t.Errorf("the engine's words are %q", detail)
	}
	v.click("#notice-action")
	v.wait("the job", time.Minute, `document.getElementById('stage').dataset.state === 'running'`)
	v.ended("done", 4*time.Minute)
	v.sees(decoded(t, demoPart(t), vae.Options{Tile: tiling.Choice{Tile: tiling.Square(32)}, Overlap: tiling.Square(16)}))
}

// TestTooLarge asks for more than the budget: the plan says so before anything
// runs, and offers what fits.
func TestTooLarge(t *testing.T) {
	v := newVisit(t, "")
	v.open("?demo=2x32x32", "&tile=off&memory=24&precision=f32")
	v.wait("the plan", 2*time.Minute, `document.querySelector('#plans [data-fits=false]') !== null`)
	if !eval[bool](t, v.tab, `document.getElementById('run').disabled`) {
		t.Error("it can be run all the same")
	}
	offer := v.text("plans")
	if !strings.Contains(offer, "This does not fit the device.") || !strings.Contains(offer, "Use tiles of ") {
		t.Fatalf("the plan says %q", offer)
	}
	v.click("#plans button")
	v.ready()
	if plan := v.text("plans"); !strings.Contains(plan, "of 24.0 MiB") || !strings.Contains(plan, "tiles of") {
		t.Errorf("the plan is %q", plan)
	}
	if hash := eval[string](t, v.tab, `location.hash`); strings.Contains(hash, "tile=off") || !strings.Contains(hash, "tile=") {
		t.Errorf("the address ends with %q", hash)
	}
}

// TestNoAdapter visits with a browser that has no GPU to offer.
func TestNoAdapter(t *testing.T) {
	v := newVisit(t, "")
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(chromium(t)),
		chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-gpu", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	v.tab = ctx
	v.open("", "")
	v.wait("a message", time.Minute, `!document.getElementById('notice').hidden`)
	if got := v.text("notice-title"); got != "No GPU was found" && got != "This browser has no WebGPU" {
		t.Errorf("the page says %q", got)
	}
	if got := v.text("notice-text"); len(got) < 60 {
		t.Errorf("and explains: %q", got)
	}
}

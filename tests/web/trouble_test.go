package web

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// TestDeviceLost crashes the browser's GPU process in the middle of a decode: the page
// reports it, offers to resume, and then shows the right frames.
func TestDeviceLost(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := newVisit(t, "")
	v.open("?demo=2x6x6&autoplay", smallPart)
	v.wait("the middle of the job", time.Minute, `document.getElementById('progress-text').textContent.includes('tile')`) // it started automatically
	_, err := chromedp.CallBrowser(v.tab, browser.CrashGPUProcess, cdp.Empty{})
	require.NoError(t, err)
	require.Equal(t, "The GPU was lost", v.problem())
	require.Equal(t, "Open it again and resume", v.text("notice-action"))
	assert.Contains(t, v.text("notice-detail"), "device lost")
	v.click("#notice-action")
	v.wait("the job", time.Minute, `document.getElementById('stage').dataset.state === 'running'`)
	v.ended("done", 4*time.Minute)
	v.sees(decoded(t, demoPart(t), smallTiles))
}

// TestTooLarge requests more than the budget: the plan says so before the job runs, and
// offers what fits.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	v := newVisit(t, "")
	v.open("?demo=2x32x32", "&tile=off&memory=24&precision=f32")
	v.wait("the plan", 2*time.Minute, `document.querySelector('#plans [data-fits=false]') !== null`)
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('run').disabled`), "it can be run all the same")
	offer := v.text("plans")
	require.Contains(t, offer, "This does not fit the device.")
	require.Contains(t, offer, "Use tiles of ")
	v.click("#plans button")
	v.ready()
	plan := v.text("plans")
	require.Contains(t, plan, "of 24.0 MiB")
	require.Contains(t, plan, "tiles of")
	hash := eval[string](t, v.tab, `location.hash`)
	require.Contains(t, hash, "tile=")
	require.NotContains(t, hash, "tile=off")
}

// TestNoAdapter visits with a browser without a GPU.
func TestNoAdapter(t *testing.T) {
	t.Parallel()
	v := newVisit(t, "")
	v.tab = bareTab(t)
	v.open("", "")
	v.notice()
	assert.Contains(t, []string{"No GPU was found", "This browser has no WebGPU"}, v.text("notice-title"))
	assert.GreaterOrEqual(t, len(v.text("notice-text")), 60, "and explains: %q", v.text("notice-text"))
}

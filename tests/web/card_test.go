package web

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// TestSpeedCard: after a job the page offers a picture of its speed and device, to save
// and to copy, but not before a job, and not for the recording.
func TestSpeedCard(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := newSite(t)
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	hidden := func() bool { return eval[bool](t, v.tab, `document.getElementById('save-card').hidden`) }
	assert.True(t, hidden(), "a card of the recording")
	v.click("#demo")
	v.ended("done", 4*time.Minute)
	require.False(t, hidden())
	v.click("#save-card")
	label := eval[string](t, v.tab, `document.getElementById('card-picture').getAttribute('aria-label')`)
	assert.Contains(t, label, v.text("device-name"))
	assert.Contains(t, label, "5 frames of 48 × 48 pixels")
	assert.Contains(t, label, "tiny demo model, 2.6 M of 250 M numbers")
	found := regexp.MustCompile(`, ([\d.]+) frames/s, ([\d.]+) megapixels/s, .* in ((?:\d+ min )?[\d.]+) s`).FindStringSubmatch(label)
	require.NotNil(t, found, label)
	var n [2]float64
	for i := range n {
		var err error
		n[i], err = strconv.ParseFloat(found[i+1], 64)
		require.NoError(t, err)
	}
	took, err := time.ParseDuration(strings.Replace(found[3], " min ", "m", 1) + "s")
	require.NoError(t, err)
	assert.InEpsilon(t, 5/took.Seconds(), n[0], 0.1)
	assert.InEpsilon(t, n[0]*48*48/1e6, n[1], 0.01)
	for _, rate := range found[1:3] {
		assert.Len(t, strings.TrimLeft(strings.Replace(rate, ".", "", 1), "0"), 3, "the figures of %s", rate)
	}

	v.click("#card-save")
	picture := readPNG(t, v.download("tessera-speed.png"))
	assert.Equal(t, "(1200,630)", picture.Bounds().Size().String())
	colours := map[any]bool{}
	for i := 0; i+4 <= len(picture.Pix); i += 4 {
		colours[[4]byte(picture.Pix[i:i+4])] = true
	}
	assert.Greater(t, len(colours), 500, "text and a picture")

	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(v.tab, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
		})
		require.NoError(t, err)
	}
	_, err = chromedp.Run(v.tab, func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, page.BringToFront, cdp.Empty{})
		return chromedp.Void{}, err
	})
	require.NoError(t, err)
	v.click("#card-copy")
	v.wait("the copy", 10*time.Second, `document.getElementById('card-state').textContent.includes('Copied')`)
	size := eval[float64](t, v.tab, `navigator.clipboard.read().then(([item]) => item.getType('image/png')).then((b) => b.size)`)
	assert.Greater(t, size, 10_000.0)
	v.click("#card-close")
	assert.False(t, eval[bool](t, v.tab, `document.getElementById('card').open`))

	v.screen(700, 320, 1, false, "light")
	v.click("#save-card")
	assert.Equal(t, "card-title", v.focused())
	assert.Zero(t, eval[float64](t, v.tab, `document.getElementById('card').scrollTop`), "the card's top is cut off")
	if *shots != "" {
		v.screen(1440, 940, 1, false, "light")
		taker(v)("card")
	}
	v.accessible("card", axe(t))
}

package web

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordedSite is a visit up to the recording, in a window of a size.
func recordedSite(t *testing.T, width, height int64, scale float64, phone bool) *visit {
	t.Helper()
	url, _ := hosted(t, built(t), "")
	v := visitIn(t, bareTab(t), url+"#")
	v.screen(width, height, scale, phone, "light")
	v.open("", "")
	v.recording()
	v.wait("what to do", 30*time.Second, `!document.getElementById('nogpu').hidden`)
	return v
}

// key presses a key on the picture.
func (v *visit) key(key string, shift bool) {
	v.t.Helper()
	eval[bool](v.t, v.tab, `(() => {
		const s = document.getElementById('stage');
		s.focus();
		s.dispatchEvent(new KeyboardEvent('keydown', { key: $, shiftKey: $, bubbles: true, cancelable: true }));
		return true;
	})()`, key, shift)
}

// picture returns the picture's position in the window, in screen pixels, and its
// scale.
func (v *visit) picture() (r struct{ X, Y, Width, Height, Scale float64 }) {
	v.t.Helper()
	return eval[struct{ X, Y, Width, Height, Scale float64 }](v.t, v.tab, `(() => {
		const c = document.getElementById('picture'), r = c.getBoundingClientRect(), d = devicePixelRatio;
		return { X: r.x * d, Y: r.y * d, Width: r.width * d, Height: r.height * d, Scale: r.width * d / c.width };
	})()`)
}

// mouse sends a mouse event at a point of the window.
func (v *visit) mouse(p input.DispatchMouseEventParams) {
	v.t.Helper()
	_, err := chromedp.Run(v.tab, func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, input.DispatchMouseEvent, p)
		return chromedp.Void{}, err
	})
	require.NoError(v.t, err)
}

// drag drags with the mouse.
func (v *visit) drag(x, y, toX, toY float64) {
	v.t.Helper()
	for _, p := range []input.DispatchMouseEventParams{
		{Type: "mousePressed", X: x, Y: y, Button: "left", ClickCount: 1},
		{Type: "mouseMoved", X: (x + toX) / 2, Y: (y + toY) / 2, Button: "left"},
		{Type: "mouseMoved", X: toX, Y: toY, Button: "left"},
		{Type: "mouseReleased", X: toX, Y: toY, Button: "left", ClickCount: 1},
	} {
		v.mouse(p)
	}
}

// TestOneToOne: at 1:1 a picture pixel is one screen pixel, aligned to the raster, at
// any screen density; keys, buttons and double clicks switch to it and back.
func TestOneToOne(t *testing.T) {
	t.Parallel()
	v := recordedSite(t, 1280, 900, 1.5, false)
	fit := v.picture()
	require.Greater(t, fit.Scale, 2.0)
	whole := func(how string) {
		v.t.Helper()
		p := v.picture()
		assert.InDelta(t, 1, p.Scale, 1e-3, how)
		assert.InDelta(t, 0, p.X-float64(int(p.X+0.5)), 0.02, "%s: x is %v", how, p.X)
		assert.InDelta(t, 0, p.Y-float64(int(p.Y+0.5)), 0.02, "%s: y is %v", how, p.Y)
	}
	v.key("1", false)
	whole("the key")
	assert.Contains(t, v.text("zoom-at"), "100")
	v.key("0", false)
	assert.Equal(t, fit, v.picture())
	v.click("#zoom-one")
	whole("the button")
	v.click("#zoom-fit")
	assert.Equal(t, fit, v.picture())
	for range 2 {
		for n := range int64(2) {
			v.mouse(input.DispatchMouseEventParams{Type: "mousePressed", X: 300, Y: 400, Button: "left", ClickCount: n + 1})
			v.mouse(input.DispatchMouseEventParams{Type: "mouseReleased", X: 300, Y: 400, Button: "left", ClickCount: n + 1})
		}
		if eval[bool](t, v.tab, `document.getElementById('stage').dataset.zoomed === 'true'`) {
			whole("a double click")
		}
	}
	assert.Equal(t, fit, v.picture())
}

// TestZoomAndPan: the wheel zooms at its point, keys and drags move the picture no
// further than its edges, and plain arrows still step frames.
func TestZoomAndPan(t *testing.T) {
	t.Parallel()
	v := recordedSite(t, 1280, 900, 1, false)
	v.click("input[name=view][value=result]")
	fit := v.picture()
	v.mouse(input.DispatchMouseEventParams{Type: "mouseWheel", X: 300, Y: 300, DeltaX: 0.01, DeltaY: -400})
	time.Sleep(300 * time.Millisecond)
	assert.InDelta(t, fit.Width, v.picture().Width, 0.5, "the page scrolls with the wheel")
	eval[bool](t, v.tab, `(scrollTo(0, 0), true)`)
	v.mouse(input.DispatchMouseEventParams{Type: "mouseWheel", X: 300, Y: 300, DeltaX: 0.01, DeltaY: -600, Modifiers: 2})
	v.wait("a larger picture", 5*time.Second, `document.getElementById('stage').dataset.zoomed === 'true'`)
	near := v.picture()
	require.Greater(t, near.Width, 1.5*fit.Width)
	assert.InDelta(t, (300-fit.X)/fit.Width, (300-near.X)/near.Width, 0.01, "what is under the mouse stays there")
	v.drag(500, 400, 440, 370)
	assert.InDelta(t, near.X-60, v.picture().X, 1)
	assert.InDelta(t, near.Y-30, v.picture().Y, 1)
	v.click("#play") // playing would show another frame
	v.wait("a pause", 5*time.Second, `document.getElementById('play').dataset.playing === 'false'`)
	frame := v.text("at")
	v.key("ArrowRight", true)
	assert.InDelta(t, near.X-120, v.picture().X, 1, "Shift and an arrow")
	assert.Equal(t, frame, v.text("at"))
	v.key("ArrowRight", false)
	assert.NotEqual(t, frame, v.text("at"), "an arrow steps")
	for range 60 {
		v.key("ArrowLeft", true)
		v.key("ArrowUp", true)
	}
	inside := eval[bool](t, v.tab, `(() => {
		const p = document.getElementById('picture').getBoundingClientRect(), s = document.getElementById('stage').getBoundingClientRect();
		return Math.abs(p.left - s.left) <= 1 && Math.abs(p.top - s.top) <= 1;
	})()`)
	assert.True(t, inside, "the picture's corner is in the stage's")
}

// TestSliderWhenZoomed: dragging near the boundary between original and result moves
// it, dragging elsewhere moves the picture, and the slider's keys still work.
func TestSliderWhenZoomed(t *testing.T) {
	t.Parallel()
	v := recordedSite(t, 1280, 900, 1, false)
	v.click("input[name=view][value=compare]")
	for range 3 { // beyond the stage's sides
		v.key("+", false)
	}
	before := v.picture()
	value := func() float64 { return eval[float64](t, v.tab, `document.getElementById('split-at').valueAsNumber`) }
	x := before.X + before.Width/2
	v.drag(x, 300, x+100, 300)
	assert.InDelta(t, 500+1000*100/before.Width, value(), 3)
	assert.Equal(t, before, v.picture(), "the picture stays")
	seen := eval[float64](t, v.tab, `(() => {
		const s = document.getElementById('split');
		return s.getBoundingClientRect().x + parseFloat(getComputedStyle(s, '::before').left);
	})()`)
	assert.InDelta(t, x+100, seen, 3, "the line is where the mouse has put it")
	v.drag(x-150, 300, x-190, 300)
	assert.InDelta(t, before.X-40, v.picture().X, 1)
	at := value()
	eval[bool](t, v.tab, `(document.getElementById('split-at').focus(), true)`)
	for _, kind := range []input.DispatchKeyEventType{"keyDown", "keyUp"} {
		_, err := chromedp.Run(v.tab, func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
			_, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{
				Type: kind, Key: "ArrowRight", Code: "ArrowRight", WindowsVirtualKeyCode: 39,
			})
			return chromedp.Void{}, err
		})
		require.NoError(t, err)
	}
	assert.Equal(t, at+1, value())
}

// TestPinch zooms a phone's picture with two fingers.
func TestPinch(t *testing.T) {
	t.Parallel()
	v := recordedSite(t, 390, 844, 2, true)
	v.click("input[name=view][value=result]")
	fit := v.picture()
	y := fit.Y/2 + fit.Height/4
	touch := func(kind input.DispatchTouchEventType, points ...*input.TouchPoint) {
		_, err := chromedp.Run(v.tab, func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
			_, err := chromedp.Call(ctx, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: append([]*input.TouchPoint{}, points...)})
			return chromedp.Void{}, err
		})
		require.NoError(t, err)
	}
	at := func(apart float64) []*input.TouchPoint {
		return []*input.TouchPoint{{X: 195 - apart/2, Y: y, ID: new(1.0)}, {X: 195 + apart/2, Y: y, ID: new(2.0)}}
	}
	touch("touchStart", at(80)...)
	for apart := 90.0; apart <= 160; apart += 10 {
		touch("touchMove", at(apart)...)
	}
	touch("touchEnd")
	p := v.picture()
	assert.InDelta(t, 2, p.Width/fit.Width, 0.25)
	assert.InDelta(t, 390, p.X+p.Width/2, 20, "about the middle of the fingers")
}

// TestFullScreen fills the screen with the picture and its player, and returns.
func TestFullScreen(t *testing.T) {
	t.Parallel()
	v := recordedSite(t, 1280, 900, 1, false)
	_, err := chromedp.Run(v.tab, chromedp.Evaluate[bool](`(document.getElementById('zoom-full').click(), true)`, func(p *runtime.EvaluateParams) { p.UserGesture = new(true) }))
	require.NoError(t, err)
	v.wait("the whole screen", 10*time.Second, `document.fullscreenElement?.id === 'work'`)
	v.wait("the larger picture", 10*time.Second, `document.getElementById('stage').clientWidth === innerWidth`)
	seen := eval[string](t, v.tab, `['play', 'scrub', 'save-png'].filter((id) => {
		const r = document.getElementById(id).getBoundingClientRect();
		return r.height > 0 && r.bottom <= innerHeight;
	}).join()`)
	assert.Equal(t, "play,scrub,save-png", seen)
	fits := eval[bool](t, v.tab, `(() => {
		const p = document.getElementById('picture').getBoundingClientRect(), s = document.getElementById('stage').getBoundingClientRect();
		return Math.abs(p.height - s.height) < 1.5;
	})()`)
	assert.True(t, fits, "as high as the screen has room")
	v.wait("the pressed button", 10*time.Second, `document.getElementById('zoom-full').getAttribute('aria-pressed') === 'true'`)
	v.click("#zoom-full")
	v.wait("the page", 10*time.Second, `!document.fullscreenElement`)
}

// TestShotsZoom takes pictures of the zoomed picture.
func TestShotsZoom(t *testing.T) {
	if *shots == "" {
		t.Skip("no -shots")
	}
	v := recordedSite(t, 1280, 900, 1, false)
	take := taker(v)
	v.click("input[name=view][value=compare]")
	take("zoom-fit")
	for range 4 {
		v.key("+", false)
	}
	take("zoom-near")
	v.click("#zoom-one")
	take("zoom-one")
	v.click("#zoom-fit")
	v.screen(390, 844, 2, true, "dark")
	take("zoom-phone")
}

package web

import (
	"context"
	"flag"
	"path/filepath"
	"testing"
	"time"

	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

var shots = flag.String("shots", "", "folder for screenshots of the page: docs/web (slow)")

// TestShots takes the pictures of docs/web.
func TestShots(t *testing.T) {
	testenv.Long(t)
	if *shots == "" {
		t.Skip("no -shots")
	}
	v := newVisit(t, "")
	take := taker(v)
	desktop := func(scheme string) { v.screen(1440, 940, 1, false, scheme) }
	phone := func(scheme string) { v.screen(390, 844, 2, true, scheme) }

	desktop("light")
	v.open("?demo=2x32x32", "")
	v.ready()
	take("desktop-idle")
	phone("dark")
	take("phone-idle")
	desktop("dark")
	v.click("#demo")
	v.wait("some tiles", 15*time.Minute, `document.getElementById('progress-text').textContent.includes('tile 6')`)
	take("desktop-running")
	phone("light")
	take("phone-running")
	v.ended("done", 15*time.Minute)
	v.wait("quality", time.Minute, `document.getElementById('quality-note').textContent.includes('clip')`)
	v.click("#play")
	take("phone-done")
	desktop("light")
	v.click("input[name=view][value=compare]")
	take("desktop-done")
	v.screen(1440, 1240, 1, false, "dark")
	v.click("input[name=view][value=difference]")
	take("desktop-difference")
}

// taker takes a picture of the window under a name.
func taker(v *visit) func(name string) {
	return func(name string) {
		v.t.Helper()
		time.Sleep(400 * time.Millisecond) // transitions
		v.shot(filepath.Join(root, *shots, name+".png"))
	}
}

// TestShotsModels takes pictures with other models, of weights that were never
// trained: to look at, not for docs/web.
func TestShotsModels(t *testing.T) {
	testenv.Long(t)
	if *shots == "" {
		t.Skip("no -shots")
	}
	v := newVisit(t, "")
	take := taker(v)
	v.screen(1440, 1300, 1, false, "light")
	v.open("?demo=2x16x16", "&tile=64")
	v.ready()
	v.takes(asPTH(t, wan(t, "wan.safetensors", synthetic.WanConfig{}), "Wan2.1_VAE.pth"))
	take("wan-idle")
	v.click("#demo")
	v.ended("done", 4*time.Minute)
	take("wan-done")
	v.pick("model-file", flat(t, wan(t, "wan.safetensors", synthetic.WanConfig{})))
	v.notice()
	v.ready()
	take("wan-flat")
	v.pick("model-file", wan(t, "layered.safetensors", synthetic.WanConfig{Latent: 4, Channels: 4}))
	v.named("model-name", "layered")
	v.picks(glassFile(t))
	v.ready()
	v.run()
	v.click("input[name=view][value=compare]")
	v.screen(1440, 1300, 1, false, "dark")
	take("alpha-done")
	v.screen(390, 844, 2, true, "light")
	v.click("input[name=view][value=result]")
	take("alpha-phone")
}

// TestShotsFirst takes pictures of the first look, with and without a GPU.
func TestShotsFirst(t *testing.T) {
	testenv.Long(t)
	if *shots == "" {
		t.Skip("no -shots")
	}
	url, _ := hosted(t, built(t), "")
	for kind, tab := range map[string]context.Context{"first": tab(t, "about:blank"), "no-gpu": bareTab(t)} {
		v := visitIn(t, tab, url+"#")
		take := taker(v)
		v.screen(1440, 940, 1, false, "light")
		v.open("", "")
		v.recording()
		v.wait("the GPU, or what to do", time.Minute, `document.body.dataset.ready === 'true' || !document.getElementById('nogpu').hidden`)
		take("desktop-" + kind)
		v.screen(390, 844, 2, true, "dark")
		take("phone-" + kind)
	}
}

package web

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

var shots = flag.String("shots", "", "folder for screenshots of the page: docs/guides/web for TestShots, another for the others (slow)")

// TestShots takes the pictures of docs/guides/web.
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

// taker returns a function that saves a picture of the window under a name.
func taker(v *visit) func(name string) {
	return func(name string) {
		v.t.Helper()
		time.Sleep(400 * time.Millisecond) // transitions
		path := *shots
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		v.shot(filepath.Join(path, name+".png"))
	}
}

// TestShotsModels takes pictures with other models with random weights: for review, not
// for docs/guides/web.
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

// screens are the window sizes for review.
var screens = []struct {
	name          string
	width, height int64
	phone         bool
	scheme        string
	language      string
}{
	{"1366", 1366, 768, false, "light", "en"},
	{"1366-tr", 1366, 768, false, "dark", "tr"},
	{"1440", 1440, 900, false, "dark", "en"},
	{"tablet", 820, 1180, true, "light", "en"},
	{"phone", 390, 844, true, "dark", "en"},
	{"phone-tr", 390, 844, true, "light", "tr"},
}

// speak chooses the page's language.
func (v *visit) speak(language string) {
	v.t.Helper()
	eval[bool](v.t, v.tab, `(() => { const f = document.getElementById('language'); f.value = $; f.dispatchEvent(new Event('change')); return true; })()`, language)
}

// everywhere takes a picture of a state in each of screens.
func (v *visit) everywhere(state string) {
	v.t.Helper()
	take := taker(v)
	for _, s := range screens {
		v.screen(s.width, s.height, 1, s.phone, s.scheme)
		v.speak(s.language)
		take(state + "-" + s.name)
	}
	v.speak("en")
}

// TestShotsEvery takes pictures of the states of the page in all screens, light and
// dark, in English and Turkish: for review, not for docs/guides/web.
func TestShotsEvery(t *testing.T) {
	testenv.Long(t)
	if *shots == "" {
		t.Skip("no -shots")
	}
	bare, _ := hosted(t, built(t), "")
	v := visitIn(t, bareTab(t), bare+"#")
	v.open("", "")
	v.recording()
	v.wait("what to do", time.Minute, `!document.getElementById('nogpu').hidden`)
	v.everywhere("no-gpu")

	v = newSite(t)
	v.open("", "")
	v.recording()
	v.wait("an estimate", 3*time.Minute, `document.getElementById('estimate').textContent !== ''`)
	v.everywhere("first")
	v.click("#demo")
	v.wait("a tile", 5*time.Minute, `/tile [2-9]|frame /.test(document.getElementById('progress-text').textContent)`)
	v.everywhere("running")
	v.ended("done", 15*time.Minute)
	v.everywhere("done")
	for _, view := range []string{"compare", "difference"} {
		v.click("input[name=view][value=" + view + "]")
		v.everywhere(view)
	}
	v.click("#exact")
	v.wait("the second job", 15*time.Minute, `document.getElementById('caption').textContent.includes('against')`)
	v.everywhere("exact")
	_, file := latentFile(t, "clip.npy", 16, 6, 5, 7)
	v.picks(file)
	v.ready()
	v.everywhere("own-latent")
	v.pick("model-file", kl(t, "sd_vae.safetensors", synthetic.KLConfig{Quant: true, Latent: 4}))
	v.notice()
	v.everywhere("misfit")
	v.pick("input-file", copyOf(t, "cut.npy"))
	v.wait("the error", time.Minute, `document.getElementById('notice').textContent.includes('cut.npy')`)
	v.everywhere("error")
}

package web

import (
	"flag"
	"path/filepath"
	"testing"
	"time"
)

var shots = flag.String("shots", "", "folder for screenshots of the page: docs/web (slow)")

// TestShots takes the pictures of docs/web.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("no -shots")
	}
	v := newVisit(t, "")
	take := func(name string) {
		t.Helper()
		time.Sleep(400 * time.Millisecond) // transitions
		v.shot(filepath.Join(root, *shots, name+".png"))
	}
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

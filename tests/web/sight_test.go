package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"tessera/tests/synthetic"
)

// covered are the controls in the window that another element covers, and those cut off
// at the window's left or right.
const covered = `[...document.querySelectorAll('button, select, summary, input:not([type=file]), a[href], .item > .strong')].filter((e) => {
	const r = e.getBoundingClientRect();
	const box = e.closest('.chosen')?.getBoundingClientRect(); // which scrolls
	const x = r.x + r.width / 2, y = r.y + r.height / 2;
	if (!e.checkVisibility({ visibilityProperty: true }) || r.width < 2 || y < 0 || y > innerHeight || box && (y < box.top || y > box.bottom)) return false;
	if (e.id === 'split-at' || e.matches('.skip')) return false; // as large as the picture; above the window
	const top = document.elementFromPoint(x, y);
	return x < 0 || x > innerWidth || !(top && (e.contains(top) || e.closest('label')?.contains(top)));
}).map((e) => e.id || e.name || e.textContent)`

// TestNothingCovered: in every window, no control is covered, the settings are folded,
// and without an input of the user's own everything except them is visible at once.
func TestNothingCovered(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	v.open("", "")
	v.recording()
	v.wait("an estimate", 2*time.Minute, `document.getElementById('estimate').textContent !== ''`)
	for _, s := range screens {
		v.screen(s.width, s.height, 1, s.phone, s.scheme)
		v.speak(s.language)
		for _, to := range []string{"0", "300", "document.body.scrollHeight"} {
			assert.Empty(t, eval[[]string](t, v.tab, `(scrollTo(0, `+to+`), `+covered+`)`), "%s, scrolled to %s", s.name, to)
		}
		eval[bool](t, v.tab, `(scrollTo(0, 0), true)`)
		assert.False(t, eval[bool](t, v.tab, `document.getElementById('settings-box').open`))
		inView := []string{"demo", "picture"}
		if !s.phone {
			inView = append(inView, "model-name", "model-pick", "input-name", "input-pick", "tasks", "settings-title", "run")
		}
		for _, id := range inView {
			assert.True(t, eval[bool](t, v.tab, `(() => {
				const e = document.getElementById($), r = e.getBoundingClientRect(), box = e.closest('.chosen')?.getBoundingClientRect();
				return r.height > 0 && r.top >= 0 && r.bottom <= Math.min(innerHeight, box?.bottom ?? Infinity) + 1;
			})()`, id), "%s: %s is not in view", s.name, id)
		}
	}
}

// TestFirstSight: the page says what it is, in three steps, also without a GPU.
func TestFirstSight(t *testing.T) {
	t.Parallel()
	v := recordedSite(t, 390, 844, 2, true)
	for _, language := range []string{"tr", "en"} {
		v.speak(language)
		for _, what := range []string{".intro", ".steps li:nth-child(1)", ".steps li:nth-child(3)", "#caption"} {
			assert.True(t, eval[bool](t, v.tab, `(({ top, bottom, height }) => height > 0 && top >= 0 && bottom <= innerHeight)(document.querySelector($).getBoundingClientRect())`, what), "%s: %s", language, what)
		}
	}
	assert.Contains(t, eval[string](t, v.tab, `document.querySelector('.intro').textContent`), "latents")
	assert.Equal(t, "Recording · tiny demo model, 2.6 M of 250 M numbers", v.text("caption"))
	assert.Empty(t, eval[[]string](t, v.tab, covered))
}

// TestExactAgainstTiles: the button decodes exactly and in blended tiles, shows the
// amplified difference with its numbers, and leaves the settings unchanged. The result
// is visible, its details disappear with it, and a checkpoint that does not match the
// input is reported.
func TestExactAgainstTiles(t *testing.T) {
	t.Parallel()
	v := newSite(t)
	v.screen(390, 844, 1, true, "light")
	v.open("?demo=1x8x8", "&tile=48&overlap=16&precision=f32")
	v.ready()
	eval[bool](t, v.tab, `(document.getElementById('exact').scrollIntoView(), true)`)
	v.click("#exact")
	v.wait("the comparison", 4*time.Minute, `document.getElementById('caption').textContent.includes('values differ')`)
	assert.Regexp(t, `^Blended tiles of 32 × 32 against one tile, difference × \d+: at most \d+ of 255, [\d.]+ % of values differ · tiny demo model`, v.text("caption"))
	assert.True(t, eval[bool](t, v.tab, `(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.getElementById('stage').getBoundingClientRect())`), "the result is not in view")
	v.wait("the settings", time.Minute, `location.hash.includes('tile=48')`)
	v.click("input[name=view][value=compare]")
	assert.Equal(t, "one tile", v.text("tag-left"))
	v.ready()
	v.run()
	v.wait("the quality", time.Minute, `document.getElementById('quality-note').textContent !== '' && document.getElementById('psnr').textContent !== '–'`)
	assert.Equal(t, "Tiny demo model, 2.6 M of 250 M numbers", v.text("caption"))

	v.pick("model-file", kl(t, "sd_vae.safetensors", synthetic.KLConfig{Quant: true, Latent: 4}))
	v.named("model-name", "sd_vae")
	v.wait("the caption", time.Minute, `document.getElementById('caption').textContent.startsWith('Earlier result: Demo clip, tiny-seedvr2')`)
	_, file := latentFile(t, "clip.npy", 16, 6, 5, 7)
	v.picks(file)
	assert.Equal(t, "wrong_model", v.notice())
	v.wait("what does not fit", time.Minute, `document.getElementById('plans').textContent.includes('clip.npy does not suit sd_vae.safetensors')`)
	v.pick("input-file", copyOf(t, "cut.npy"))
	v.wait("the newer message", time.Minute, `document.getElementById('notice').textContent.includes('cut.npy')`)
}

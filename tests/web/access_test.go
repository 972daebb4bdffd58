package web

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// focused returns the id of the focused element.
func (v *visit) focused() string {
	v.t.Helper()
	return eval[string](v.t, v.tab, `document.activeElement.id`)
}

// The focus moves from the button that starts a job to the one that ends it and back,
// and Escape cancels from anywhere.
func TestFocusIsKept(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	eval[bool](t, v.tab, `(document.getElementById('run').focus(), true)`)
	v.do(chromedp.KeyEvent(kb.Enter))
	v.wait("the job", time.Minute, `document.getElementById('stage').dataset.state === 'running'`)
	assert.Equal(t, "cancel", v.focused(), "while the job runs")
	v.do(chromedp.KeyEvent(kb.Enter))
	v.ended("stopped", time.Minute)
	time.Sleep(200 * time.Millisecond)
	assert.Equal(t, "run", v.focused(), "after a cancel")
	v.do(chromedp.KeyEvent(kb.Enter))
	v.wait("the job", time.Minute, `document.getElementById('stage').dataset.state === 'running'`)
	eval[bool](t, v.tab, `(document.querySelector('#language').focus(), true)`)
	v.do(chromedp.KeyEvent(kb.Escape))
	v.ended("stopped", time.Minute)
	assert.Equal(t, "language", v.focused(), "what had it keeps it")
	v.run()
}

// Screen readers hear the start and the end of a job, but not playback or every step.
func TestAnnouncements(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	eval[bool](t, v.tab, `(() => {
		window.said = [];
		const live = [...document.querySelectorAll('[role=status], [role=alert], [aria-live], output')];
		for (const e of live) {
			new MutationObserver(() => said.push(e.id + ': ' + e.textContent)).observe(e, { childList: true, characterData: true, subtree: true });
		}
		return true;
	})()`)
	v.run()
	said := eval[[]string](t, v.tab, `said.filter((s) => s.startsWith('announce'))`)
	require.Len(t, said, 2, "%v", said)
	assert.Equal(t, "announce: The job runs. Escape cancels it.", said[0])
	assert.Regexp(t, `^announce: 5 frames in `, said[1])
	assert.Empty(t, eval[[]string](t, v.tab, `said.filter((s) => s.startsWith('progress'))`))
	v.wait("playback", time.Minute, `document.getElementById('play').dataset.playing === 'true'`)
	v.wait("the quality", time.Minute, `document.getElementById('quality-note').textContent.includes('clip')`)
	time.Sleep(500 * time.Millisecond)
	eval[bool](t, v.tab, `(said.length = 0, true)`)
	time.Sleep(1500 * time.Millisecond)
	assert.Empty(t, eval[[]string](t, v.tab, `said`), "announced while it plays")
}

// The button that runs the job is visible, even if the panel is longer than the window.
func TestRunIsInSight(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	_, files, _ := pictures(t, 2)
	v.pick("input-file", files...)
	v.wait("the pictures", time.Minute, `document.getElementById('input-facts').textContent.startsWith('2 ')`)
	v.ready()
	for _, to := range []string{"0", "document.body.scrollHeight"} {
		assert.True(t, eval[bool](t, v.tab, `(scrollTo(0, `+to+`), (() => {
			const r = document.getElementById('run').getBoundingClientRect();
			return r.top >= 0 && r.bottom <= innerHeight && document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)?.id === 'run';
		})())`), "scrolled to %s", to)
	}
}

// On a phone the progress and the cancel button are visible while a job runs, wherever
// the page is scrolled to, and the start button is hidden.
func TestProgressOnAPhone(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	v.screen(390, 844, 2, true, "light")
	eval[bool](t, v.tab, `(document.getElementById('run').scrollIntoView(), document.getElementById('run').focus(), true)`)
	v.click("#run")
	for _, to := range []string{"0", "document.body.scrollHeight / 2", "document.body.scrollHeight"} {
		v.wait("the progress in sight", 10*time.Second, `(scrollTo(0, `+to+`), ['progress', 'cancel'].every((id) => {
			const r = document.getElementById(id).getBoundingClientRect();
			const e = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
			return r.height > 0 && r.top >= 0 && r.bottom <= innerHeight && e?.closest('#status');
		}))`)
	}
	require.Equal(t, "running", eval[string](t, v.tab, `document.getElementById('stage').dataset.state`))
	v.ended("done", 4*time.Minute)
}

// Both file buttons say which files they take.
func TestNamesOfFileButtons(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	for language, want := range map[string][2]string{"en": {"Choose a model…", "Choose files…"}, "tr": {"Model seç…", "Dosya seç…"}} {
		eval[bool](t, v.tab, `(() => { const f = document.getElementById('language'); f.value = $; f.dispatchEvent(new Event('change')); return true; })()`, language)
		assert.Equal(t, want, [2]string{v.text("model-pick"), v.text("input-pick")})
	}
}

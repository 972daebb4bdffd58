package web

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// choice is a row of the table of choices.
type choice struct {
	Cells               []string
	Fits, Can, IsChosen bool
}

// choices opens the table, and reads it.
func (v *visit) choices() []choice {
	v.t.Helper()
	eval[bool](v.t, v.tab, `(document.getElementById('choices-open').focus(), true)`)
	v.do(chromedp.KeyEvent(kb.Enter))
	v.wait("the choices", time.Minute, `document.querySelectorAll('#choices-table tbody tr').length > 0`)
	return eval[[]choice](v.t, v.tab, `[...document.querySelectorAll('#choices-table tbody tr')].map((tr) => {
		const button = tr.querySelector('button');
		return {
			Cells: [...tr.cells].map((c) => c.textContent), Fits: tr.dataset.fits === 'true', Can: !button.disabled,
			IsChosen: button.getAttribute('aria-pressed') === 'true',
		};
	})`)
}

// TestChoices: the table compares one tile with tiles, including what does not fit, and
// the chosen row takes effect.
func TestChoices(t *testing.T) {
	t.Parallel()
	v := newVisit(t, "")
	v.open("?demo=2x32x32", "&tile=64&overlap=16&memory=24&precision=f32")
	v.wait("an estimate", time.Minute, `document.getElementById('estimate').textContent !== ''`)
	all := v.choices()
	head := eval[[]string](t, v.tab, `[...document.querySelectorAll('#choices-table thead th')].map((th) => th.textContent)`)
	require.Equal(t, []string{"Tiles", "Device memory", "Work", "Time", "Result"}, head, "a browser moves nothing to the machine's memory")
	require.GreaterOrEqual(t, len(all), 3)
	one := all[0]
	assert.Equal(t, "One tilemore than the budget", one.Cells[0])
	assert.Equal(t, "exact", one.Cells[4])
	assert.False(t, one.Fits || one.Can || one.IsChosen, "%+v", one)
	var largest string
	for i, c := range all {
		assert.Regexp(t, `^[\d.]+ MiB$`, c.Cells[1])
		assert.Regexp(t, `^[\d.]+ [MGT]MAC$`, c.Cells[2])
		assert.Regexp(t, ` (s|min)$`, c.Cells[3])
		if i > 0 {
			assert.Regexp(t, `^\d+ tiles of \d+ × \d+`, c.Cells[0])
			assert.Equal(t, "blended", c.Cells[4])
			assert.True(t, c.Fits && c.Can, "%+v", c)
		}
		if strings.Contains(c.Cells[0], "Largest that fits") {
			largest, _, _ = strings.Cut(c.Cells[0], "Largest")
		}
		assert.Equal(t, strings.HasPrefix(c.Cells[0], "25 tiles of 64"), c.IsChosen, "%+v", c)
		if c.IsChosen {
			assert.Contains(t, v.text("plans"), c.Cells[1]+" of 24.0 MiB")
		}
	}
	require.NotEmpty(t, largest, "%+v", all)
	v.accessible("choices", axe(t))
	v.screen(390, 800, 2, true, "light")
	for _, id := range []string{"choices-table", "choices-close"} {
		assert.True(t, eval[bool](t, v.tab, `(({left, right}) => left >= 0 && right <= innerWidth)(document.getElementById($).getBoundingClientRect())`, id), "%s is cut off on a phone", id)
	}
	if *shots != "" {
		taker(v)("choices-phone")
		v.screen(1440, 940, 1, false, "light")
		taker(v)("choices")
	}

	eval[bool](t, v.tab, `([...document.querySelectorAll('#choices-table button')].find((b) => b.nextSibling.textContent.includes('Largest')).click(), true)`)
	assert.False(t, eval[bool](t, v.tab, `document.getElementById('choices').open`))
	v.ready()
	assert.Equal(t, "choices-open", v.focused())
	assert.Contains(t, v.text("plans"), largest)
	assert.Contains(t, eval[string](t, v.tab, `location.hash`), "tile=auto")
}

package web

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"tessera/tests/testenv"
)

// The page shows a remaining time only after 2 seconds and 3 % of the job. After a tenth
// of the job each one is right within a factor of three.
func TestTimeIsHonest(t *testing.T) {
	testenv.Long(t)
	v := newVisit(t, "")
	v.open("?demo=2x32x32", "")
	v.ready()
	eval[bool](t, v.tab, `(() => {
		const text = document.getElementById('progress-text'), bar = document.getElementById('progress');
		window.told = [];
		new MutationObserver(() => told.push({ At: performance.now() / 1000, Done: bar.value, Text: text.textContent }))
			.observe(text, { childList: true, characterData: true, subtree: true });
		return true;
	})()`)
	v.click("#demo")
	v.ended("done", 15*time.Minute)
	told := eval[[]struct {
		At, Done float64
		Text     string
	}](t, v.tab, `told`)
	left := regexp.MustCompile(`(\d+) (s|min) left`)
	end, checked := told[len(told)-1].At, 0
	for _, e := range told {
		m := left.FindStringSubmatch(e.Text)
		if m == nil {
			continue
		}
		assert.GreaterOrEqual(t, e.Done, 0.03, e.Text)
		if e.Done < 0.1 {
			continue
		}
		seconds, _ := strconv.ParseFloat(m[1], 64)
		if m[2] == "min" {
			seconds *= 60
		}
		checked++
		t.Logf("%.0f %%: %q, %.1f s", 100*e.Done, e.Text, end-e.At)
		assert.Less(t, seconds, 3*(end-e.At)+2, "%q with %.1f s left", e.Text, end-e.At)
		assert.Greater(t, 3*seconds+2, end-e.At, "%q with %.1f s left", e.Text, end-e.At)
	}
	assert.NotZero(t, checked)
}

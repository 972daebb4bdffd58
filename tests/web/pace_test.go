package web

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// moves records how the bar and the line under the picture move while a job runs: the
// longest time that both stood still, and the bar's values.
const moves = `(() => {
	const bar = document.getElementById('progress'), text = document.getElementById('progress-text');
	Object.assign(window, { still: 0, shares: [], texts: new Set() });
	let last = 0;
	const running = () => document.getElementById('stage').dataset.state === 'running';
	const look = () => {
		const now = performance.now();
		if (running() && last) still = Math.max(still, now - last);
		last = running() ? now : 0;
		texts.add(text.textContent);
		if (running() && bar.hasAttribute('value') && bar.value !== shares.at(-1)) shares.push(bar.value);
	};
	const observer = new MutationObserver(look);
	observer.observe(bar, { attributes: true });
	observer.observe(text, { attributes: true, childList: true, characterData: true, subtree: true });
	return true;
})()`

// One tile of one slice is one step of the network. The bar moves within it, with the
// device's progress, and the line changes every second.
func TestProgressMovesWithinATile(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := newVisit(t, "")
	v.open("?demo=1x16x16", "&tile=off&precision=f32")
	v.ready()
	eval[bool](t, v.tab, moves)
	v.run()
	shares := eval[[]float64](t, v.tab, `shares`)
	require.GreaterOrEqual(t, len(shares), 10, "steps of the bar")
	for i := 1; i < len(shares); i++ {
		assert.GreaterOrEqual(t, shares[i], shares[i-1], "step %d", i)
	}
	t.Logf("%d steps; nothing moved for %.0f ms at most", len(shares), eval[float64](t, v.tab, `still`))
	assert.Regexp(t, ` left|Decode: \d+%`, eval[string](t, v.tab, `[...texts].join('\n')`), "no time is shown before two seconds")
}

// The page estimates a job's duration before it starts: for a new adapter from a
// measurement, then from the previous job; minutes get a warning.
func TestEstimate(t *testing.T) {
	testenv.Long(t)
	v := newVisit(t, "")
	v.open("?demo=2x6x6", "&tile=off&precision=f32")
	v.wait("an estimate", time.Minute, `document.getElementById('estimate').textContent !== ''`)
	assert.Regexp(t, `^About \d+ s on this adapter\.$`, v.text("estimate"))
	speeds := func() []float64 {
		return eval[[]float64](t, v.tab, `Object.values(JSON.parse(localStorage.getItem('speeds'))).map((s) => s.flops)`)
	}
	measured := speeds()
	require.Len(t, measured, 1)
	for range 2 { // the first one is less predictable because its shaders are compiled meanwhile
		eval[bool](t, v.tab, `(document.getElementById('stage').dataset.state = 'running') !== ''`)
		v.run()
	}
	learnt := speeds()
	require.Len(t, learnt, 2, "of the adapter, and of this network on it")
	t.Logf("%.3g FLOP/s measured, %.3g in a job", learnt[0], learnt[1])
	assert.Less(t, learnt[0]/learnt[1], 10.0)
	assert.Less(t, learnt[1]/learnt[0], 10.0)

	eval[bool](t, v.tab, `(() => {
		const all = JSON.parse(localStorage.getItem('speeds'));
		for (const s of Object.values(all)) s.flops = 1e7;
		localStorage.setItem('speeds', JSON.stringify(all));
		return true;
	})()`)
	v.do(chromedp.Reload())
	v.wait("a warning", time.Minute, `document.getElementById('estimate').dataset.long === 'true'`)
	assert.Regexp(t, `^This will take long: about \d+ min on this adapter\.$`, v.text("estimate"))

	told := eval[[]string](t, v.tab, `import(new URL('i18n.js', location)).then(({ duration, roughly }) =>
		[...[59.4, 59.7, 119.7].map(duration), ...[3599, 7190].map(roughly)])`)
	assert.Equal(t, []string{"59 s", "1 min 0 s", "2 min 0 s", "1 h 0 min", "2 h 0 min"}, told)
}

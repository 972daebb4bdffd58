package gpu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
)

// spans returns spans in whole milliseconds, far from the clock's start.
func spans(ms ...uint64) []driver.Span {
	const start, unit = 1 << 40, uint64(time.Millisecond)
	list := make([]driver.Span, len(ms)/2)
	for i := range list {
		list[i] = driver.Span{Begin: start + ms[2*i]*unit, End: start + ms[2*i+1]*unit}
	}
	return list
}

// The times of a command's parts add up, over submissions too, and overlap counts once.
func TestTimerAddsUp(t *testing.T) {
	w := &timer{commands: make([]time.Duration, 3)}
	w.add(spans(0, 5, 3, 10, 10, 10), []int{0, 1, 1})
	w.add(spans(9, 30, 40, 41), []int{1, 2})
	got := w.timing(50 * time.Millisecond)
	require.Equal(t, Timing{
		Total: 50 * time.Millisecond, Queried: true,
		Commands: []time.Duration{5 * time.Millisecond, 25 * time.Millisecond, time.Millisecond},
	}, got)
}

// An implausible clock is ignored; the total stays.
func TestTimerDisbelieves(t *testing.T) {
	const total = 50 * time.Millisecond
	for name, s := range map[string][]driver.Span{
		"backwards":    spans(5, 4),
		"never set":    {{}},
		"begin unset":  {{End: 1 << 40}},
		"stands still": spans(7, 7),
		"runs away":    spans(0, 60),
	} {
		t.Run(name, func(t *testing.T) {
			w := &timer{commands: make([]time.Duration, 1)}
			w.add(s, []int{0})
			require.Equal(t, Timing{Total: total}, w.timing(total))
		})
	}
	t.Run("no timestamps", func(t *testing.T) {
		require.Equal(t, Timing{Total: total}, (*timer)(nil).timing(total))
	})
	t.Run("coarse", func(t *testing.T) { // commands too short for the clock are plausible
		w := &timer{commands: make([]time.Duration, 1)}
		w.add(spans(7, 7), []int{0})
		require.True(t, w.timing(10*time.Millisecond).Queried)
	})
}

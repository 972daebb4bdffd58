package gpu

import (
	"context"
	"errors"
	"time"

	"tessera/gpu/internal/driver"
)

// Timing is how long a batch took.
type Timing struct {
	// Total is from its first submission until it was known to be done, by this
	// machine's clock: with the processor's part and the way to the device.
	Total time.Duration

	// Queried says that the device timed the commands itself.
	Queried bool

	// Commands are the batch's, by the device's clock; nil unless Queried. What
	// two commands overlap counts for the first, so their sum is no more than
	// Total, and less by the gaps between them.
	Commands []time.Duration
}

// Time runs a batch as Submit does, cut in the same places, and waits for its
// end; it measures what was done instead of what Stats estimates. Other work is
// waited for first, and programs are compiled before the clock starts; but some
// drivers compile in a program's first dispatch, so the second run of a batch
// tells more.
//
// Each dispatch is in a pass of its own, with timestamps where the adapter has
// them (Info.Timestamps) and they make sense; the pieces of one that is cut are
// added up. Natively they are as fine as the driver's. A browser rounds them,
// Chromium to 0.1 ms unless it runs with --enable-webgpu-developer-features:
// there a command that is shorter needs to be recorded many times.
//
// When ctx ends, what runs is drained and the context's error comes back.
func (d *Device) Time(ctx context.Context, b *Batch) (Timing, error) {
	if err := d.Wait(ctx); err != nil {
		return Timing{}, err
	}
	if err := d.Prepare(b); err != nil {
		return Timing{}, err
	}
	t, err := d.newTimer(len(b.Commands))
	if err != nil {
		return Timing{}, err
	}
	defer t.release()
	start := time.Now()
	if err = d.submit(ctx, b, t); err == nil {
		err = d.Wait(ctx)
	}
	total := time.Since(start)
	if err != nil {
		_ = d.Wait(context.Background()) // the stopwatches are in use until then
		return Timing{}, err
	}
	return t.timing(total), nil
}

// timer takes the times of one batch's submissions. Nil takes none.
type timer struct {
	watches  [inFlight]driver.Stopwatch // in turn
	turn     int
	take     func(context.Context, *timed) error // adds the times of a submission that is done
	commands []time.Duration
	first    uint64 // when the batch began,
	last     uint64 // and when the last command known of ended; device's clock
	nonsense bool
}

// newTimer is nil where the device has no timestamps.
func (d *Device) newTimer(commands int) (*timer, error) {
	if !d.info.Timestamps {
		return nil, nil
	}
	t := &timer{commands: make([]time.Duration, commands)}
	t.take = func(ctx context.Context, p *timed) error { // so that the linker drops it where nobody calls Time
		spans, err := d.drv.Times(ctx, p.watch)
		if err != nil {
			return d.note(err)
		}
		t.add(spans, p.of)
		return nil
	}
	for i := range t.watches {
		w, err := d.drv.NewStopwatch()
		if errors.Is(err, ErrDeviceLost) {
			return nil, d.note(err)
		}
		if err != nil { // it has them by name only
			t.release()
			return nil, nil
		}
		t.watches[i] = w
	}
	return t, nil
}

func (t *timer) release() {
	if t == nil {
		return
	}
	for _, w := range t.watches {
		if w != nil {
			w.Release()
		}
	}
}

// next is the stopwatch for a submission: no more are on their way than there
// are stopwatches.
func (t *timer) next() driver.Stopwatch {
	w := t.watches[t.turn]
	t.turn = (t.turn + 1) % len(t.watches)
	return w
}

// timed is a submission that is timed.
type timed struct {
	timer *timer
	watch driver.Stopwatch
	of    []int // indices of the batch's commands, by the submission's
}

// add adds the times of a submission's commands. Submissions come in order.
func (t *timer) add(spans []driver.Span, of []int) {
	for i, s := range spans {
		if s.Begin == 0 || s.End < s.Begin {
			t.nonsense = true
			return
		}
		if t.first == 0 {
			t.first, t.last = s.Begin, s.Begin
		}
		if begin := max(s.Begin, t.last); s.End > begin {
			t.commands[of[i]] += time.Duration(s.End - begin)
			t.last = s.End
		}
	}
}

// A clock is believed that stood still for a time this long at most, as those
// of browsers do, and that ran ahead of this machine's by no more than this.
const clockError = 2 * time.Millisecond

// timing is what was taken, without the commands' where a clock that stood
// still, ran backwards or ran away says nothing of them.
func (t *timer) timing(total time.Duration) Timing {
	if t == nil {
		return Timing{Total: total}
	}
	var sum time.Duration
	for _, c := range t.commands {
		sum += c
	}
	if t.nonsense || sum > total+total/16+clockError || sum == 0 && t.first != 0 && total > 10*clockError {
		return Timing{Total: total}
	}
	return Timing{Total: total, Queried: true, Commands: t.commands}
}

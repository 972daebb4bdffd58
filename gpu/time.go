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
	t, err := d.newTimer()
	if err != nil {
		return Timing{}, err
	}
	defer t.release()
	if t != nil {
		t.commands = make([]time.Duration, len(b.Commands))
		t.take = func(ctx context.Context, p *timed) error {
			spans, err := p.spans(ctx, d)
			if err == nil {
				t.add(spans, p.of)
			}
			return err
		}
	}
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

// timer takes the times of submissions. Nil takes none.
type timer struct {
	watches  [maxInFlight]driver.Stopwatch // in turn; nil where the device has no timestamps
	turn     int
	take     func(context.Context, *timed) error // of a submission that is done; a variable, so that the linker drops what nobody calls
	commands []time.Duration                     // of the batch that is timed
	clock
}

// newTimer is nil where the device has no timestamps.
func (d *Device) newTimer() (*timer, error) {
	if !d.info.Timestamps {
		return nil, nil
	}
	t := &timer{}
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
	timer  *timer
	watch  driver.Stopwatch // nil where the device has no timestamps
	batch  *Batch
	of     []int     // indices of the batch's commands, by the submission's
	shares []float64 // of each command, that are in the submission
	at     time.Time // when it was sent,
	done   time.Time // and known to be done; this machine's clock
}

// spans are when the commands of a submission that is done ran.
func (p *timed) spans(ctx context.Context, d *Device) ([]driver.Span, error) {
	spans, err := d.drv.Times(ctx, p.watch)
	return spans, d.note(err)
}

// clock is a device's, as far as it was read.
type clock struct {
	first    uint64        // when the first command began,
	last     uint64        // and when the last known of ended
	sum      time.Duration // of what was between
	nonsense bool
}

// read is the part of a span after what was read before: what two commands
// overlap counts for the first. Submissions come in order.
func (c *clock) read(s driver.Span) (driver.Span, bool) {
	if c.nonsense = c.nonsense || s.Begin == 0 || s.End < s.Begin; c.nonsense {
		return s, false
	}
	if c.first == 0 {
		c.first, c.last = s.Begin, s.Begin
	}
	s.Begin = max(s.Begin, c.last)
	s.End = max(s.End, s.Begin)
	c.sum += time.Duration(s.End - s.Begin)
	c.last = s.End
	return s, true
}

// add adds the times of a submission's commands.
func (t *timer) add(spans []driver.Span, of []int) {
	for i, s := range spans {
		if s, ok := t.read(s); ok {
			t.commands[of[i]] += time.Duration(s.End - s.Begin)
		}
	}
}

// A clock is believed that stood still for a time this long at most, as those
// of browsers do, and that ran ahead of this machine's by no more than this.
const clockError = 2 * time.Millisecond

// believed says whether the clock tells of work that took so long: one that
// stood still, ran backwards or ran away says nothing of it.
func (c *clock) believed(total time.Duration) bool {
	return !c.nonsense && c.sum <= total+total/16+clockError && (c.sum > 0 || c.first == 0 || total <= 10*clockError)
}

// timing is what was taken, without the commands' where the clock is not
// believed.
func (t *timer) timing(total time.Duration) Timing {
	if t == nil || !t.believed(total) {
		return Timing{Total: total}
	}
	return Timing{Total: total, Queried: true, Commands: t.commands}
}

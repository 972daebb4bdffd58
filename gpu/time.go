package gpu

import (
	"context"
	"errors"
	"time"

	"tessera/gpu/internal/driver"
)

// Timing is how long a batch took.
type Timing struct {
	// Total is the time from the first submission until the batch was known to be done,
	// by this machine's clock. It includes the processor's work and the latency to the
	// device.
	Total time.Duration

	// Queried reports whether the device timed the commands.
	Queried bool

	// Commands are the times of the batch's commands by the device's clock; nil unless
	// Queried. Time when two commands overlap counts for the first, so the sum is at
	// most Total; the gaps between commands are missing from it.
	Commands []time.Duration
}

// Time runs a batch like Submit, cut at the same places, waits for its end and measures
// what Stats only estimates. Before the clock starts, Time waits for other work and
// compiles the programs. Some drivers compile at a program's first dispatch, so prefer
// the second run of a batch.
//
// Each dispatch has a separate pass, with timestamps if the adapter has them
// (Info.Timestamps) and they are plausible. The parts of a cut dispatch are added up.
// Native timestamps have the driver's resolution. A browser rounds them, Chromium to
// 0.1 ms unless it runs with --enable-webgpu-developer-features: record a shorter
// command many times.
//
// If ctx ends, Time waits for what runs and returns the context's error.
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

// timer measures the times of submissions. A nil timer measures nothing.
type timer struct {
	watches  [maxInFlight]driver.Stopwatch // used in turn; nil if the device has no timestamps
	turn     int
	take     func(context.Context, *timed) error // receives a finished submission; a variable, so that the linker drops unused code
	commands []time.Duration                     // of the measured batch
	clock
}

// newTimer returns a timer without stopwatches if the device has no timestamps.
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
		if err != nil { // the device has timestamps in name only
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

// next returns the stopwatch for a submission. There are as many stopwatches as
// submissions can be pending.
func (t *timer) next() driver.Stopwatch {
	w := t.watches[t.turn]
	t.turn = (t.turn + 1) % len(t.watches)
	return w
}

// timed is a submission that is timed.
type timed struct {
	timer  *timer
	watch  driver.Stopwatch // nil if the device has no timestamps
	batch  *Batch
	of     []int     // for each command of the submission, its index in the batch
	shares []float64 // part of each of those commands in this submission
	at     time.Time // when it was sent,
	done   time.Time // and when it was known to be done, by this machine's clock
}

// spans returns when the commands of a finished submission ran.
func (p *timed) spans(ctx context.Context, d *Device) ([]driver.Span, error) {
	spans, err := d.drv.Times(ctx, p.watch)
	return spans, d.note(err)
}

// clock follows a device's clock over the spans that were read.
type clock struct {
	first    uint64        // when the first command began
	last     uint64        // when the last known command ended
	sum      time.Duration // total of the spans between
	nonsense bool
}

// read returns the part of a span after the last one: time when two commands overlap
// counts for the first. Submissions come in order.
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

// clockError is the tolerance for a device clock: it may stand still this long, as in
// browsers, and run ahead of this machine's clock by this much.
const clockError = 2 * time.Millisecond

// believed reports whether the clock is plausible for work of this total time: it must
// not stand still, run backwards or run away.
func (c *clock) believed(total time.Duration) bool {
	return !c.nonsense && c.sum <= total+total/16+clockError && (c.sum > 0 || c.first == 0 || total <= 10*clockError)
}

// timing returns the measured times; it drops those of the commands if the clock is not
// plausible.
func (t *timer) timing(total time.Duration) Timing {
	if t == nil || !t.believed(total) {
		return Timing{Total: total}
	}
	return Timing{Total: total, Queried: true, Commands: t.commands}
}

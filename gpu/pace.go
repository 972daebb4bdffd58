package gpu

import "time"

// A submission is kept near pieceTarget on every adapter: long enough to hide
// its overhead, short enough that no watchdog fires and a cancel is quick.
// Windows resets a driver whose card does not answer for 2 seconds.
const (
	pieceTarget = 60 * time.Millisecond
	inFlight    = 2 // submissions queued before waiting for the oldest

	mostInFlight = 8 // of short ones, which together are no longer than those

	// A pipeline's first piece is a probe. firstRate is the guess for it: the
	// slowest adapter seen (SwiftShader, 1 GFLOP/s). Once something ran for long
	// enough to be measured, no pipeline is taken to be slower than that by more
	// than spread.
	probe     = pieceTarget / 3
	firstRate = 1e-9
	spread    = 64
	measured  = pieceTarget / 6
	maxSlower = 4.0       // a measurement moves a rate up by at most this,
	maxFaster = 1.0 / 8.0 // or down
)

// shape is what a dispatch's speed depends on beside its pipeline: layers that
// share a pipeline differ by ten times in seconds per FLOP on some adapters.
type shape struct {
	groups [3]uint32
	work   float64
}

// rate is the measured speed of one pipeline on one shape: seconds for one unit
// of work.
type rate float64

// rate finds the speed of a shape. One that is new starts from the slowest of
// the pipeline's, or where that has none from the guess.
func (l *pipeline) rate(s shape, guess rate) *rate {
	if r := l.rates[s]; r != nil {
		return r
	}
	r := new(rate)
	for _, other := range l.rates {
		*r = max(*r, *other)
	}
	if *r == 0 {
		*r = guess
	}
	l.rates[s] = r
	return r
}

// piece is one submission on its way.
type piece struct {
	parts  []part
	expect float64 // seconds
	flops  float64
	first  bool // a pipeline runs for the first time; some drivers compile it then
}

// part is one dispatch's share of a piece.
type part struct {
	pipeline *pipeline
	rate     *rate
	unit     rate    // what it was when the part was cut
	seconds  float64 // predicted by that
}

// pacer remembers the pieces that were waited for.
type pacer struct {
	done         time.Time // when the last was known to be done
	took, expect float64   // seconds of all, a piece's share shrinking with each that follows
	fastest      rate      // of those that took long enough to be measured; 0: none
}

// guess is the speed of a pipeline that has not run.
func (p *pacer) guess() rate {
	if p.fastest == 0 {
		return firstRate
	}
	return min(firstRate, spread*p.fastest)
}

// idle says that nothing is on its way: what comes next owes nothing to what
// was seen late before.
func (p *pacer) idle() { p.took, p.expect = 0, 0 }

// fading is what is left of a piece's share after the next one.
const fading = 0.8

// atOnce is how long it takes at most to see that a piece was done before
// anybody waited for it, so that it is not known when.
const atOnce = time.Millisecond

// learn moves the rates of the parts of a piece towards what was measured, each
// by its share. They were cut by what was known then: what others on their way
// have told meanwhile is not told again. When this thread was late to see the end
// of one, the next seem quicker than they were: rates fall by no more than what
// the last few took together. A pipeline's first piece runs alone and took no more
// than was measured: its rate falls to that at once.
//
// What was late to be seen is an upper bound, which raises no rate.
func (d *Device) learn(p piece, took float64, late bool) {
	if p.expect <= 0 {
		return
	}
	d.pace.took = took + fading*d.pace.took
	d.pace.expect = p.expect + fading*d.pace.expect
	ratio := took / p.expect
	if ratio < 1 {
		ratio = min(1, max(ratio, d.pace.took/d.pace.expect))
	} else if late {
		ratio = 1
	}
	least := maxFaster
	if p.first {
		least = 1e-4
	}
	ratio = min(max(ratio, least), maxSlower)
	for _, part := range p.parts {
		unit := part.unit * rate(ratio)
		if late {
			unit = min(unit, *part.rate)
		}
		*part.rate += (unit - *part.rate) * rate(part.seconds/p.expect)
	}
	if took >= measured.Seconds() && len(p.parts) == 1 && (d.pace.fastest == 0 || *p.parts[0].rate < d.pace.fastest) {
		d.pace.fastest = *p.parts[0].rate
	}
}

// account adds a piece's time to that of its programs: where it was late to be
// seen, what was predicted of it at most, since others may have been compiled
// meanwhile.
func (d *Device) account(p piece, took time.Duration, late bool) {
	switch {
	case late:
		took = min(took, time.Duration(p.expect*float64(time.Second)))
	case p.first:
		d.stats.LongestFirst = max(d.stats.LongestFirst, took)
	default:
		d.stats.Longest = max(d.stats.Longest, took)
		d.stats.Warm += took
		d.stats.WarmFLOPs += p.flops
	}
	for _, part := range p.parts {
		u := d.stats.Programs[part.pipeline.label]
		u.Estimate += time.Duration(float64(took) * part.seconds / p.expect)
		u.Dispatches++
		d.stats.Programs[part.pipeline.label] = u
	}
}

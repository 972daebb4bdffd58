package gpu

import "time"

// A submission is kept near pieceTarget on every adapter: long enough to hide
// its overhead, short enough that no watchdog fires and a cancel is quick.
// Windows resets a driver whose card does not answer for 2 seconds.
const (
	pieceTarget = 60 * time.Millisecond
	inFlight    = 2 // submissions queued before waiting for the oldest

	maxInFlight = 8 // of short ones, which together are no longer than those

	// The speed of a shape that is new is guessed, and fills unsure times as much
	// of a piece; nobody waits until it was measured: what is behind keeps the
	// device busy meanwhile. The guess is firstRate, a tenth of what the slowest
	// adapter seen does (SwiftShader's convolutions, 1 GFLOP/s); once pieces took
	// long enough to be measured, no more than spread times as slow as the
	// fastest, and where others of the pipeline have run, no more than kin times
	// as slow as the slowest of these.
	unsure    = 3
	firstRate = 1e-8
	spread    = 32
	kin       = 4
	measured  = time.Millisecond / 4
	maxSlower = 4.0       // a measurement moves a rate up by at most this,
	maxFaster = 1.0 / 8.0 // or down,
	fastest   = 1e-4      // a guess by this
)

// shape is what a dispatch's speed depends on beside its pipeline: layers that
// share a pipeline differ by ten times in seconds per FLOP on some adapters.
type shape struct {
	groups [3]uint32
	work   float64
}

// rate is the speed of one pipeline on one shape.
type rate struct {
	unit  float64 // seconds for one unit of work
	known bool    // measured; else guessed
}

// rate finds the speed of a shape. One that is new is taken to be slower than all
// of the pipeline's, but no slower than the guess unless they are.
func (l *pipeline) rate(s shape, guess float64) *rate {
	if r := l.rates[s]; r != nil {
		return r
	}
	r, slowest := &rate{unit: guess}, 0.0
	for _, other := range l.rates {
		if other.unit > slowest {
			slowest = other.unit
		}
	}
	if slowest > guess {
		r.unit = slowest
	} else if slowest > 0 && kin*slowest < guess {
		r.unit = kin * slowest
	}
	l.rates[s] = r
	return r
}

// piece is one submission on its way.
type piece struct {
	parts  []part
	expect float64 // seconds
	filled float64 // of pieceTarget
	flops  float64
	first  bool // a pipeline runs for the first time; some drivers compile it then
}

// part is one dispatch's share of a piece.
type part struct {
	pipeline *pipeline
	rate     *rate
	unit     float64 // of the rate when it was cut
	seconds  float64 // predicted by that
}

// pacer remembers the pieces that were waited for.
type pacer struct {
	done time.Time // when the last was known to be done
	sums
	fastest float64 // seconds a unit, of several that took long enough to be measured; 0: none
}

// sums are of all pieces, a piece's share shrinking with each that follows.
type sums struct {
	took, expect float64 // seconds
	work         float64
}

// guess is the seconds a unit of a pipeline that has not run, no fewer than are
// likely.
func (p *pacer) guess() float64 {
	if unit := spread * p.fastest; unit > 0 && unit < firstRate {
		return unit
	}
	return firstRate
}

// idle says that nothing is on its way: what comes next owes nothing to what
// was seen late before.
func (p *pacer) idle() { p.sums = sums{} }

// fading is what is left of a piece's share after the next one.
const fading = 0.8

// atOnce is how long it takes at most to see that a piece was done before
// anybody waited for it, so that it is not known when.
const atOnce = time.Millisecond

// learn moves the rates of the parts of a piece towards what was measured, each
// by its share. They were cut by what was known then: what others on their way
// have told meanwhile is not told again. When this thread was late to see the end
// of one, the next seem quicker than they were: rates fall by no more than what
// the last few took together.
//
// What was late to be seen is an upper bound, which raises no rate. A pipeline's
// first piece says nothing of others: it may have been compiled in it.
func (d *Device) learn(p *piece, took float64, late bool) {
	if p.expect <= 0 {
		return
	}
	work := 0.0
	for i := range p.parts {
		work += p.parts[i].seconds / p.parts[i].unit
	}
	all := sums{took + fading*d.pace.took, p.expect + fading*d.pace.expect, work + fading*d.pace.work}
	ratio := took / p.expect
	if ratio < 1 {
		if least := all.took / all.expect; ratio < least {
			ratio = least
		}
		if ratio > 1 {
			ratio = 1
		} else if ratio < fastest { // a clock may stand still
			ratio = fastest
		}
	}
	if late || !p.first {
		d.pace.sums = all
	}
	bound := ratio >= 1 && (late || p.first)
	for i := range p.parts {
		part := &p.parts[i]
		r, share := part.rate, part.seconds/p.expect
		times := ratio
		if times > maxSlower {
			times = maxSlower
		} else if r.known && times < maxFaster {
			times = maxFaster
		}
		if unit := part.unit * times; unit < r.unit || !late {
			r.unit += (unit - r.unit) * share
		}
		if !r.known { // it took no longer than all of the piece
			if most := part.unit * ratio / share; most < r.unit {
				r.unit = most
			}
			r.known = !bound && (share >= 0.5 || ratio <= share)
		}
	}
	if unit := all.took / all.work; all.took >= measured.Seconds() && (d.pace.fastest == 0 || unit < d.pace.fastest) {
		d.pace.fastest = unit
	}
}

// account adds a piece's time to that of its programs: where it was late to be
// seen, what was predicted of it at most, since others may have been compiled
// meanwhile.
func (d *Device) account(p *piece, took time.Duration, late bool) {
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

package gpu

import "time"

// A submission is kept near pieceTarget on every adapter: long enough to hide
// its overhead, short enough that no watchdog fires and a cancel is quick.
// Windows resets a driver whose card does not answer for 2 seconds.
const (
	pieceTarget = 60 * time.Millisecond
	inFlight    = 2 // submissions queued before waiting for the oldest

	maxInFlight = 8 // queued short submissions, whose sum is no longer than inFlight long ones

	// The speed of a new shape is a guess, and its dispatch fills a piece to 1/unsure
	// of the target. No caller waits for the measurement: pieces behind it keep the device
	// busy. The guess is firstRate, a tenth of the slowest adapter seen (SwiftShader's
	// convolutions, 1 GFLOP/s). Once pieces have run long enough to be measured, the
	// guess is at most spread times as slow as the fastest of them. If the pipeline has
	// run other shapes, the guess is at most kin times as slow as the slowest of these.
	unsure    = 3
	firstRate = 1e-8
	spread    = 32
	kin       = 4
	measured  = time.Millisecond / 4
	maxSlower = 4.0       // one measurement raises a rate by at most this factor,
	maxFaster = 1.0 / 8.0 // lowers it by at most this one,
	fastest   = 1e-4      // or, if the rate was a guess, by this one
)

// shape is what a dispatch's speed depends on besides its pipeline. On some adapters,
// layers that share a pipeline differ tenfold in seconds per FLOP.
type shape struct {
	groups [3]uint32
	work   float64
}

// rate is the speed of one pipeline on one shape.
type rate struct {
	unit  float64 // seconds per unit of work
	known bool    // measured, not guessed
}

// rate returns the rate of a shape. A new shape starts at the guess, limited to kin
// times the slowest known shape of this pipeline; if that shape is slower than the
// guess, it starts there.
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

// piece is one submission.
type piece struct {
	parts  []part
	expect float64 // seconds
	filled float64 // share of pieceTarget
	flops  float64
	first  bool // a pipeline runs for the first time; some drivers compile it then
}

// part is one dispatch's share of a piece.
type part struct {
	pipeline *pipeline
	rate     *rate
	unit     float64 // the rate's unit when it was cut
	seconds  float64 // predicted with that unit
}

// pacer remembers the pieces that were waited for.
type pacer struct {
	done time.Time // when the last one was known to be done
	sums
	fastest float64 // lowest seconds per unit over enough pieces to be measured; 0: unknown
}

// sums are decaying sums over all pieces: the older a piece, the smaller its share.
type sums struct {
	took, expect float64 // seconds
	work         float64
}

// guess returns the likely upper bound of the seconds per unit of a pipeline that has
// not run.
func (p *pacer) guess() float64 {
	if unit := spread * p.fastest; unit > 0 && unit < firstRate {
		return unit
	}
	return firstRate
}

// idle resets the sums when no work is pending: late observations of earlier pieces no
// longer matter.
func (p *pacer) idle() { p.sums = sums{} }

// fading is the factor by which a piece's share shrinks with each next piece.
const fading = 0.8

// atOnce is the longest wait that counts as immediate. A piece that returns within it
// was done before anybody waited, so its end time is unknown.
const atOnce = time.Millisecond

// learn moves the rates of a piece's parts towards the measurement, each by its share
// of the piece. It corrects the rates with which the piece was cut: the rates now may
// already include what other pieces have measured since. If this thread saw the end of
// a piece late, the next pieces seem faster than they were. Rates therefore fall no
// further than the last few pieces together justify.
//
// A late observation is an upper bound and raises no rate. The first piece of a
// pipeline tells nothing about others, because it may include compilation.
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

// account adds a piece's time to its programs. If its end was seen late, the time
// counts at most as predicted, because others may have been compiled meanwhile.
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

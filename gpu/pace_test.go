package gpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// run sends a piece of one part at a time; true is what a unit takes. late is
// the time by which the end of every 7th piece is seen too late, and by which
// the next seems shorter. It returns the most that a piece then took.
func pieces(n int, speed *rate, actual func(i int) float64, late float64) float64 {
	d, most := &Device{}, 0.0
	for i := range n {
		units := pieceTarget.Seconds() / float64(*speed)
		took := units * actual(i)
		most = max(most, took)
		switch i % 7 {
		case 5:
			took += late
		case 6:
			took = max(0, took-late)
		}
		d.learn(piece{parts: []part{{rate: speed, seconds: pieceTarget.Seconds()}}, expect: pieceTarget.Seconds()}, took, false)
	}
	return most
}

func TestRatesFollowMeasurements(t *testing.T) {
	for _, want := range []float64{1e-13, 1e-9, 1e-7} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			speed := rate(firstRate)
			pieces(40, &speed, func(int) float64 { return want }, 0)
			require.InEpsilon(t, want, float64(speed), 0.01)
		})
	}
}

// A thread that is late to look must not make pieces long.
func TestRatesWithLateMeasurements(t *testing.T) {
	for _, late := range []float64{0.02, 0.5, 5} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			speed := rate(1e-9)
			most := pieces(200, &speed, func(int) float64 { return 1e-9 }, late)
			require.LessOrEqual(t, most, 1.5*pieceTarget.Seconds(), "seconds of the longest piece")
		})
	}
}

// A piece that was done before anybody looked says only what it took at most.
func TestRatesWithUpperBounds(t *testing.T) {
	d, speed := &Device{}, rate(1e-9)
	p := piece{parts: []part{{rate: &speed, seconds: 0.06}}, expect: 0.06}
	d.learn(p, 3, true)
	require.Equal(t, rate(1e-9), speed, "after a piece that was seen late")
	d = &Device{}
	d.learn(p, 0.03, true)
	require.InEpsilon(t, 0.5e-9, float64(speed), 1e-6, "after a piece of half the time at most")
}

// One shape's speed says nothing of another's.
func TestRatesOfShapes(t *testing.T) {
	l := &pipeline{rates: map[shape]*rate{}}
	quick := l.rate(shape{work: 1}, firstRate)
	*quick = 1e-12
	slow := l.rate(shape{work: 2}, 1)
	require.Equal(t, rate(1e-12), *slow, "a new shape starts with the pipeline's slowest")
	*slow = 1e-10
	require.Equal(t, rate(1e-10), *l.rate(shape{work: 3}, 1), "the third shape")
	require.Same(t, quick, l.rate(shape{work: 1}, 1))
	require.Equal(t, rate(1e-12), *quick, "the first shape")
}

// On the first run of a job hardly any time goes into finding how much a piece
// may hold: a hundred pipelines that run for 30 ms each, at speeds that differ by
// thirty times, on cards that take a fifth of a millisecond to begin and to tell.
func TestFindingThePieceSize(t *testing.T) {
	const pipelines, each, overhead = 100, 0.03, 0.0002
	for _, card := range []float64{2e-14, 1e-13, 1e-12, 1e-11} { // seconds a unit: 50 to 0.1 TFLOP/s
		t.Run(fmt.Sprint(card), func(t *testing.T) {
			d, pieces, longest := &Device{}, 0, 0.0
			for i := range pipelines {
				l := &pipeline{rates: map[shape]*rate{}}
				speed, actual := l.rate(shape{}, d.pace.guess()), card*math.Pow(30, float64(i*37%pipelines)/pipelines)
				d.pace.idle()
				target := probe.Seconds()
				for left := each / actual; left > 0; target = pieceTarget.Seconds() {
					units := min(left, target/float64(*speed))
					left -= units
					expect, took := units*float64(*speed), units*actual+overhead
					longest = max(longest, took)
					pieces++
					d.learn(piece{parts: []part{{rate: speed, seconds: expect}}, expect: expect, first: target < pieceTarget.Seconds()}, took, took < 0.001)
				}
			}
			lost := float64(pieces-pipelines) * overhead // one each would do
			t.Logf("%d pieces, %.2f %% of the time, the longest %.0f ms", pieces, 100*lost/(pipelines*each), 1000*longest)
			require.LessOrEqual(t, lost, 0.02*pipelines*each, "seconds, for %d pieces", pieces)
			require.LessOrEqual(t, longest, 1.5*pieceTarget.Seconds(), "seconds of the longest piece")
		})
	}
}

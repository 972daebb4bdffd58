package gpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
)

// pieces sends n pieces of one part, one at a time, and returns the longest time that a
// piece took. actual returns the true seconds per unit. The end of every 7th piece is
// seen late by the given time, and the next piece seems that much shorter.
func pieces(n int, speed *rate, actual func(i int) float64, late float64) float64 {
	d, most := &Device{}, 0.0
	for i := range n {
		units := pieceTarget.Seconds() / speed.unit
		took := units * actual(i)
		most = max(most, took)
		switch i % 7 {
		case 5:
			took += late
		case 6:
			took = max(0, took-late)
		}
		d.learn(&piece{parts: []part{{rate: speed, unit: speed.unit, seconds: pieceTarget.Seconds()}}, expect: pieceTarget.Seconds()}, took, false)
	}
	return most
}

func TestRatesFollowMeasurements(t *testing.T) {
	for _, want := range []float64{1e-13, 1e-9, 1e-7} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			speed := rate{unit: firstRate, known: true}
			pieces(40, &speed, func(int) float64 { return want }, 0)
			require.InEpsilon(t, want, speed.unit, 0.01)
		})
	}
}

// A thread that looks late must not make pieces long.
func TestRatesWithLateMeasurements(t *testing.T) {
	for _, late := range []float64{0.02, 0.5, 5} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			speed := rate{unit: 1e-9, known: true}
			most := pieces(200, &speed, func(int) float64 { return 1e-9 }, late)
			require.LessOrEqual(t, most, 1.5*pieceTarget.Seconds(), "seconds of the longest piece")
		})
	}
}

// A piece that was done before anybody looked gives only an upper bound.
func TestRatesWithUpperBounds(t *testing.T) {
	d, speed := &Device{}, rate{unit: 1e-9, known: true}
	p := piece{parts: []part{{rate: &speed, unit: 1e-9, seconds: 0.06}}, expect: 0.06}
	d.learn(&p, 3, true)
	require.Equal(t, 1e-9, speed.unit, "after a piece that was seen late")
	d = &Device{}
	d.learn(&p, 0.03, true)
	require.InEpsilon(t, 0.5e-9, speed.unit, 1e-6, "after a piece of half the time at most")
}

// One shape's speed says little about another's.
func TestRatesOfShapes(t *testing.T) {
	l := &pipeline{rates: map[shape]*rate{}}
	quick := l.rate(shape{work: 1}, firstRate)
	require.Equal(t, rate{unit: firstRate}, *quick)
	*quick = rate{1e-12, true}
	slow := l.rate(shape{work: 2}, 1)
	require.Equal(t, rate{unit: kin * 1e-12}, *slow, "a new shape is slower than the pipeline's slowest")
	slow.unit = 1e-12
	require.Equal(t, rate{unit: 2e-12}, *l.rate(shape{work: 4}, 2e-12), "no slower than the guess")
	slow.unit = 1e-10
	require.Equal(t, rate{unit: 1e-10}, *l.rate(shape{work: 3}, 1e-11), "where the slowest isn't either")
	require.Same(t, quick, l.rate(shape{work: 1}, 1))
	require.Equal(t, rate{1e-12, true}, *quick, "the first shape")
}

// card is a device that computes nothing: each dispatch takes the time that its params
// say. Its clock is synctest's.
type card struct {
	driver.Device
	params []byte
	began  time.Time
	free   time.Time     // when all its work is done
	idle   time.Duration // between two submissions
	took   []time.Duration
	slow   func(at time.Duration) float64 // factor by which all work is slower at that time
}

// What a card costs besides its work: this machine's part of a submission, the card's
// gap between two, and the delay until this machine learns of an end.
const (
	toSend  = 30 * time.Microsecond
	between = 10 * time.Microsecond
	toTell  = 200 * time.Microsecond
)

type nothing struct{}

func (nothing) Release() {}

func (c *card) Write(_ driver.Buffer, _ int64, data []byte) error {
	c.params = append(c.params[:0], data...)
	return nil
}

func (c *card) NewBindGroup(string, driver.Pipeline, driver.Buffer, []driver.Binding) (driver.BindGroup, error) {
	return nothing{}, nil
}

func (c *card) Submit(_ string, commands []driver.Command, _ driver.Stopwatch) (driver.Fence, error) {
	time.Sleep(toSend)
	if gap := time.Since(c.free); gap > 0 {
		c.idle, c.free = c.idle+gap, time.Now()
	}
	seconds := 0.0
	for _, m := range commands {
		group := math.Float64frombits(binary.LittleEndian.Uint64(c.params[m.UniformOffset+16:]))
		seconds += group * float64(m.Groups[0]) * float64(m.Groups[1]) * float64(m.Groups[2])
	}
	if c.slow != nil {
		seconds *= c.slow(c.free.Sub(c.began))
	}
	took := time.Duration(seconds * 1e9)
	c.free, c.took = c.free.Add(between+took), append(c.took, took)
	return c.free.Add(toTell), nil
}

func (c *card) Wait(_ context.Context, f driver.Fence) error {
	time.Sleep(time.Until(f.(time.Time)))
	return nil
}

// layer is a dispatch of the given time on a card, run by one of its pipelines.
type layer struct {
	pipeline int
	seconds  float64
	unit     float64 // seconds per unit of its work
}

// on returns a device on this card and a batch of these layers.
func (c *card) on(layers []layer) (*Device, *Batch) {
	d := &Device{
		drv: c, limits: Limits{MaxGroups: 65535}, params: make([]byte, 0, uniformSlot*uniformSlots),
		programs: map[*Program]*pipeline{}, groups: map[string]*bindGroup{}, stats: Stats{Programs: map[string]Use{}},
	}
	b, programs := &Batch{}, map[int]*Program{}
	for i, l := range layers {
		p := programs[l.pipeline]
		if p == nil {
			p = &Program{Label: fmt.Sprint(l.pipeline)}
			programs[l.pipeline] = p
			d.programs[p] = &pipeline{id: uint64(l.pipeline), label: p.Label, handle: nothing{}, rates: map[shape]*rate{}}
		}
		groups := [3]uint32{64, uint32(32 + i), 8}
		bits := math.Float64bits(l.seconds / float64(64*(32+i)*8))
		b.Dispatch(p.Label, p, groups, struct {
			First First
			Group [2]uint32
		}{Group: [2]uint32{uint32(bits), uint32(bits >> 32)}}, Cost{FLOPs: int64(l.seconds / l.unit)})
	}
	return d, b
}

// run submits a batch and returns its total time and number of pieces.
func (c *card) run(t *testing.T, d *Device, b *Batch) (time.Duration, int) {
	t.Helper()
	c.began, c.free = time.Now(), time.Now()
	pieces := len(c.took)
	require.NoError(t, d.Submit(t.Context(), b))
	require.NoError(t, d.Wait(t.Context()))
	return time.Since(c.began), len(c.took) - pieces
}

// network returns a decode's 110 layers on 27 pipelines. The slowest pipeline is apart
// times as slow as the fastest; layers of one pipeline differ by the factor kin.
func network(all time.Duration, unit, apart, kin float64) []layer {
	const layers, pipelines = 110, 27
	list := make([]layer, layers)
	for i := range list {
		n := i * 7 % pipelines
		list[i] = layer{
			pipeline: n,
			seconds:  all.Seconds() / layers * (0.5 + float64(i*37%layers)/layers),
			unit:     unit * math.Pow(apart, float64(n*10%pipelines)/(pipelines-1)) * math.Pow(kin, float64(i*5%4)/3),
		}
	}
	return list
}

// The first run of a job spends hardly any time on finding the size of pieces, however
// fast the card and short the job. All time that the card is idle counts. On slow cards
// no piece is long meanwhile.
func TestFindingThePieceSize(t *testing.T) {
	for _, c := range []struct {
		all        time.Duration
		unit       float64 // seconds per unit of the fastest work
		apart, kin float64
	}{
		{100 * time.Millisecond, 2e-14, 10, 3}, // 50 TFLOP/s
		{100 * time.Millisecond, 1e-13, 10, 3},
		{100 * time.Millisecond, 1e-12, 10, 3},
		{270 * time.Millisecond, 2e-14, 10, 3},
		{270 * time.Millisecond, 1e-13, 10, 3},
		{270 * time.Millisecond, 1e-12, 10, 3},
		{270 * time.Millisecond, 1e-11, 10, 3},
		{3 * time.Second, 1e-13, 10, 3},
		{30 * time.Second, 3e-11, 10, 3}, // lavapipe
		{100 * time.Second, 5e-10, 3, 10},
		{100 * time.Second, 1e-9, 3, 10},
		{100 * time.Second, 2e-9, 3, 5}, // 0.5 GFLOP/s, and 0.03
	} {
		t.Run(fmt.Sprintf("%v/%v", c.all, c.unit), func(t *testing.T) {
			said := "" // logged outside of the bubble: with -v a browser cannot print inside
			synctest.Test(t, func(t *testing.T) {
				card := &card{}
				d, b := card.on(network(c.all, c.unit, c.apart, c.kin))
				first, pieces := card.run(t, d, b)
				var work time.Duration
				for _, took := range card.took {
					work += took
				}
				longest, lost, idle := slices.Max(card.took), first-work, card.idle
				again, fewer := card.run(t, d, b)
				said = fmt.Sprintf("%.2f %% of the time in %d pieces, the longest %v, idle %v; again %.2f %% in %d",
					100*lost.Seconds()/first.Seconds(), pieces, longest, idle, 100*(again-work).Seconds()/again.Seconds(), fewer)
				require.LessOrEqual(t, lost, first/50)
				require.LessOrEqual(t, longest, 100*time.Millisecond)
			})
			t.Log(said)
		})
	}
}

// Pieces follow a card that others use for a second, and don't swing. A submitted piece
// corrects the speed with which it was cut, not the one that earlier pieces have
// corrected since. When corrections counted twice, a decode on lavapipe alternated
// between pieces of 1 ms and 1.8 s.
func TestRatesDoNotSwing(t *testing.T) {
	for _, slower := range []float64{0.2, 5} {
		t.Run(fmt.Sprint(slower), func(t *testing.T) {
			said := ""
			synctest.Test(t, func(t *testing.T) {
				layers := make([]layer, 100)
				for i := range layers {
					layers[i] = layer{1, 1, 3e-11}
				}
				card := &card{}
				d, b := card.on(layers)
				card.run(t, d, b)
				card.took, card.slow = nil, func(at time.Duration) float64 {
					if at > 10*time.Second && at < 11*time.Second {
						return slower
					}
					return 1
				}
				_, pieces := card.run(t, d, b)
				said = fmt.Sprintf("%d pieces, the longest %v", pieces, slices.Max(card.took))
				require.LessOrEqual(t, slices.Max(card.took), 11*pieceTarget/2, "cut before it was known")
			})
			t.Log(said)
		})
	}
}

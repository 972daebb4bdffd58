package vae

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tiling"
)

// event is an action on the host, with the number of submissions until then.
type event struct {
	what  string
	n     int // of the latent frame
	after gpu.Stats
}

// told is a clip and a spool that record what is read and written.
type told struct {
	floats
	dev    *gpu.Device
	events []event
}

func (c *told) note(what string, n int) {
	c.events = append(c.events, event{what, n, c.dev.Stats()})
}

func (c *told) ReadFrame(t int, dst []float32) error {
	if t%4 == 1 || t == 0 { // the first of a latent frame
		c.note("read", (t+3)/4)
	}
	return c.floats.ReadFrame(t, dst)
}

type toldSpool struct {
	*counted
	*told
}

func (s *toldSpool) WriteAt(p []byte, at int64) (int, error) {
	if e := s.events; len(e) == 0 || e[len(e)-1].what != "write" {
		s.note("write", 0)
	}
	return s.counted.WriteAt(p, at)
}

// While the host handles a slice's output, the device has the next slice's work: its
// input is uploaded and its shaders are submitted before any output of the previous slice
// is delivered. Without memory for that each slice waits, with the same result.
func TestSlicesOverlap(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	clip := &told{floats: noiseClip(13, 16, 24), dev: dev}
	var o EncodeOptions
	run := func() (order []string, data []float32) {
		p, err := m.PlanEncode(t.Context(), 13, 16, 24, o)
		require.NoError(t, err)
		require.Equal(t, o.Budget == 0, p.Staging > 0)
		o.Budget = p.Bytes() - p.Staging // of the next run
		clip.events = nil
		for f, err := range p.Run(t.Context(), clip, Watch{}) {
			require.NoError(t, err)
			clip.note("take", f.Index)
			data = append(data, f.Data...)
		}
		for i, e := range clip.events {
			order = append(order, fmt.Sprint(e.what, " ", e.n))
			if i > 0 && e.what == "take" && clip.events[i-1].what == "read" {
				before := clip.events[i-1].after
				assert.Greater(t, e.after.Dispatches, before.Dispatches, "shaders of the next slice after %v", order)
			}
		}
		return order, data
	}
	order, data := run()
	require.Equal(t, []string{"read 0", "read 1", "read 2", "take 0", "take 1", "read 3", "take 2", "take 3"}, order)
	order, alone := run()
	require.Equal(t, []string{"read 0", "read 1", "take 0", "take 1", "read 2", "take 2", "read 3", "take 3"}, order)
	require.Equal(t, alone, data)
}

// Tiles overlap too: the next tile's work is submitted before the output of a tile's last
// slice is in the spool.
func TestTilesOverlap(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, tiny(t, synthetic.WanConfig{Dim: 4}), F32)
	clip := &told{floats: noiseClip(1, 16, 32), dev: dev}
	open, o := 0, tiles(Exact, 16, 16, 0)
	o.Internals.Spool = func(size int64) (Spool, error) {
		open++
		return &toldSpool{&counted{make([]byte, size), &open}, clip}, nil
	}
	whole := encodeAll(t, m, clip, EncodeOptions{Options: Options{Unscaled: true}})
	clip.events = nil
	got := encodeAll(t, m, clip, EncodeOptions{Options: o})
	closeTo(t, got, whole, 1e-11, "differs from one tile")
	var order []string
	for _, e := range clip.events {
		order = append(order, e.what)
	}
	require.Equal(t, []string{"read", "read", "write"}, order, "two tiles of a picture, written one after the other")
	require.Greater(t, clip.events[2].after.Dispatches, clip.events[1].after.Dispatches, "shaders of the next tile")
	require.Zero(t, open)
}

// A spooled canvas contains what a tile wrote when the next tile reads it, even if all of
// the tile's output is still on its way.
func TestSpoolIsReadAfterItIsWritten(t *testing.T) {
	m := open(t, gputest.Open(t), smallCheckpoint(t), F32)
	z, o := noiseLatent(2, 3, 4), Options{Tile: tiling.Choice{Tile: tiling.Square(24)}, Overlap: tiling.Square(16)}
	l, err := m.PlanDecode(t.Context(), 2, 3, 4, DecodeOptions{Options: o})
	require.NoError(t, err)
	require.Equal(t, 1, l.Slices)
	want := decodeAll(t, m, z, DecodeOptions{Options: o})
	o.Budget = l.Bytes() - l.Staging - 1
	l, err = m.PlanDecode(t.Context(), 2, 3, 4, DecodeOptions{Options: o})
	require.NoError(t, err)
	require.Positive(t, l.Spool)
	require.Positive(t, l.Staging)
	require.True(t, slices.Equal(decodeAll(t, m, z, DecodeOptions{Options: o}), want))
}

// Wherever a job ends, by a cancel, an error of the clip or its caller's break, the
// device is empty, finished frames were delivered, and the next run is complete.
func TestOverlapEnds(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	clip := noiseClip(13, 16, 24)
	p, err := m.PlanEncode(t.Context(), 13, 16, 24, EncodeOptions{})
	require.NoError(t, err)
	want, err := p.Collect(t.Context(), clip, Watch{})
	require.NoError(t, err)
	weights := dev.Stats().Bytes
	gone := errors.New("gone")
	for name, c := range map[string]struct {
		fails, cancels, leaves int // number of the frame or latent frame
		want                   error
		frames                 int
	}{
		"the clip":       {fails: 9, cancels: -1, leaves: -1, want: gone, frames: 3},
		"a cancel":       {fails: -1, cancels: 1, leaves: -1, want: context.Canceled, frames: 2},
		"who takes them": {fails: -1, cancels: -1, leaves: 1, frames: 2},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			frames := 0
			var last error
			for f, err := range p.Run(ctx, failing{clip, c.fails, gone}, Watch{}) {
				if last = err; err != nil {
					continue
				}
				if frames++; f.Index == c.cancels {
					cancel()
				}
				if f.Index == c.leaves {
					break
				}
			}
			require.ErrorIs(t, last, c.want)
			require.Equal(t, c.frames, frames)
			require.Equal(t, weights, dev.Stats().Bytes, "left on the device")
			z, err := p.Collect(t.Context(), clip, Watch{})
			require.NoError(t, err)
			require.Equal(t, want.Data, z.Data, "the next run")
		})
	}
}

// failing is a clip with one frame that cannot be read.
type failing struct {
	floats
	at  int
	err error
}

func (c failing) ReadFrame(t int, dst []float32) error {
	if t == c.at {
		return c.err
	}
	return c.floats.ReadFrame(t, dst)
}

// BenchmarkOverlap decodes for a caller who takes 20 ms per frame, with and without
// staging memory, and reports how busy the device was by its clock.
func BenchmarkOverlap(b *testing.B) {
	dev := gputest.Open(b)
	m := open(b, dev, smallCheckpoint(b), F32)
	z := noiseLatent(9, 2, 2)
	for name, ahead := range map[string]bool{"with memory": true, "without": false} {
		b.Run(name, func(b *testing.B) {
			var o DecodeOptions
			p, err := m.PlanDecode(b.Context(), 9, 2, 2, o)
			require.NoError(b, err)
			if !ahead {
				o.Budget = p.Bytes() - p.Staging
				p, err = m.PlanDecode(b.Context(), 9, 2, 2, o)
				require.NoError(b, err)
			}
			var busy, wall time.Duration
			run := func(wait time.Duration) {
				profile, err := dev.Profile(b.Context())
				require.NoError(b, err)
				for _, err := range p.Run(b.Context(), z, Watch{}) {
					require.NoError(b, err)
					time.Sleep(wait)
				}
				require.NoError(b, profile.End(b.Context()))
				busy, wall = busy+profile.Busy(), wall+profile.Wall
			}
			run(0) // compiles, and measures the speed
			busy, wall = 0, 0
			for b.Loop() {
				run(20 * time.Millisecond)
			}
			b.ReportMetric(100*busy.Seconds()/wall.Seconds(), "%busy")
			b.ReportMetric((wall-busy).Seconds()/float64(b.N), "idle-s/op")
		})
	}
}

// BenchmarkFirstRun measures how long the device is idle between the first and the last
// command of a picture's first decode, whose dispatches are not yet measured, and of
// later ones.
func BenchmarkFirstRun(b *testing.B) {
	var idle, busy [3]time.Duration
	var pieces [3]int
	for b.Loop() {
		dev := gputest.Open(b)
		if !dev.Info().Timestamps {
			b.Skip("no timestamps")
		}
		m := open(b, dev, smallCheckpoint(b), F32)
		p, err := m.PlanDecode(b.Context(), 1, 16, 16, DecodeOptions{})
		require.NoError(b, err)
		z := noiseLatent(1, 16, 16)
		for i := range idle {
			profile, err := dev.Profile(b.Context())
			require.NoError(b, err)
			for _, err := range p.Run(b.Context(), z, Watch{}) {
				require.NoError(b, err)
			}
			require.NoError(b, profile.End(b.Context()))
			var last time.Duration
			for _, piece := range profile.Pieces {
				for _, r := range piece.Commands {
					if last > 0 {
						idle[i] += r.Begin - last
					}
					last = r.End
				}
			}
			busy[i] += profile.Busy()
			pieces[i] += len(profile.Pieces)
		}
	}
	for i, name := range []string{"1", "2", "3"} {
		b.ReportMetric(1e3*idle[i].Seconds()/float64(b.N), "idle-ms-"+name)
		b.ReportMetric(1e3*busy[i].Seconds()/float64(b.N), "busy-ms-"+name)
		b.ReportMetric(float64(pieces[i])/float64(b.N), "pieces-"+name)
	}
}

package terminal

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/vae"
)

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", 31600 * time.Millisecond: "0:32", 59600 * time.Millisecond: "1:00", 725 * time.Second: "12:05", 3723 * time.Second: "1:02:03",
	} {
		assert.Equal(t, want, clock(d))
	}
	for v, want := range map[float64]string{0.01234: "0.0123", 0.05: "0.05", 0.2219: "0.222", 0.5: "0.500", 0.99999: "1.00", 1.4: "1.40", 12.34: "12.3", 240.2: "240"} {
		assert.Equal(t, want, Figures(v))
	}
}

// A decode counts latent frames, an encode pixel frames: both are shown as frames of the
// clip.
func TestProgressFrames(t *testing.T) {
	p := &Progress{frames: 17}
	for _, c := range []struct {
		v    vae.Progress
		want int
	}{
		{vae.Progress{Tile: 0, Tiles: 2, Slice: 1, Slices: 4, Frame: 2, Frames: 5}, 5},
		{vae.Progress{Tile: 0, Tiles: 2, Slice: 1, Slices: 4, Frame: 5, Frames: 17}, 5},
		{vae.Progress{Tile: 1, Tiles: 2, Slice: 4, Slices: 4, Frame: 5, Frames: 5}, 0},
		{vae.Progress{Tile: 1, Tiles: 2, Slice: 0, Slices: 4, Frame: 0, Frames: 5}, 0},
		{vae.Progress{Tile: 2, Tiles: 2, Slice: 4, Slices: 4, Frame: 5, Frames: 5}, 17},
		{vae.Progress{Tile: 1, Tiles: 1, Slice: 1, Slices: 1, Frame: 1, Frames: 1, Done: 1}, 17},
		{vae.Progress{Tile: 0, Tiles: 1, Slice: 0, Slices: 2, Frame: 0, Frames: 5, Done: 0.3}, 5},
	} {
		assert.Equal(t, c.want, p.frame(c.v), "%+v", c.v)
	}
}

// The status distinguishes the passes of exact tiles.
func TestProgressStatus(t *testing.T) {
	p := &Progress{frames: 17, worked: time.Now().Add(-3 * time.Second)}
	for want, v := range map[string]vae.Progress{
		" 10 %, middle layers, frame 5/17, ": {Tiles: 4, Middle: true, Slice: 2, Slices: 5, Frame: 2, Frames: 5, Done: 0.1},
		" 50 %, tile 2/4, frame 9/17, ":      {Tile: 1, Tiles: 4, Slice: 3, Slices: 5, Frame: 3, Frames: 5, Done: 0.5},
		" 50 %, frame 8/17, ":                {Tiles: 1, Slice: 3, Slices: 5, Frame: 3, Frames: 5, Done: 0.5},
	} {
		p.last, p.lastAt = v, time.Now()
		got := p.status()
		assert.True(t, strings.HasPrefix(got, want), "%q, want %q", got, want)
	}
}

// Compiling is reported only if it takes seconds.
func TestCompilingIsTold(t *testing.T) {
	var out strings.Builder
	a := &Terminal{Stderr: &out}
	p := a.Stage("decode", 5)
	p.Compiling(0, 120)
	assert.Empty(t, out.String())
	p.toldAt = time.Now().Add(-4 * time.Second)
	p.Compiling(33, 120)
	assert.Contains(t, out.String(), "decode compiling shaders 34 of 120")
	p.Compiling(120, 120)
	assert.Equal(t, "preparing", p.status())
}

// Shaders that all come from the cache are reported as loaded, not compiled.
func TestLoadingIsTold(t *testing.T) {
	p := (&Terminal{Stderr: io.Discard}).Stage("decode", 5)
	found, missed := 3, 1 // when the device was opened
	p.kept = func() (int, int) { return found, missed }
	p.Compiling(0, 120)
	assert.Equal(t, "compiling shaders 1 of 120", p.status(), "nothing was looked up")
	found += 2
	p.Compiling(1, 120)
	assert.Equal(t, "loading shaders 2 of 120", p.status())
	missed++
	p.Compiling(2, 120)
	assert.Equal(t, "compiling shaders 3 of 120", p.status())
}

// Before 2 seconds and 3 % of the work, the status shows the plan's estimate, not a rate;
// time before the work does not count.
func TestPaceIsToldWhenKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events strings.Builder
		p := (&Terminal{Stderr: &events, Progress: "json"}).Stage("decode", 100).Expect(42 * time.Second)
		told := func() (e Event) {
			lines := strings.Split(strings.TrimSpace(events.String()), "\n")
			require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &e))
			return e
		}
		time.Sleep(time.Minute)
		p.Loading(1, 1)
		time.Sleep(time.Minute)
		p.Compiling(11, 40)
		assert.Equal(t, "compiling shaders 12 of 40, then about 0:42", p.status())
		assert.Equal(t, []int{12, 40}, []int{told().Shader, told().Shaders})
		p.Compiling(40, 40)
		assert.Equal(t, "preparing, then about 0:42", p.status())
		for _, c := range []struct {
			after  time.Duration
			done   float64
			status string
			rate   float64
		}{
			{time.Second, 0.05, "  5 %, frame 5/100, about 0:42 expected", 0},
			{4 * time.Second, 0.02, "  2 %, frame 2/100, about 0:42 expected", 0},
			{5 * time.Second, 0.05, "  5 %, frame 5/100, 1.00 frames/s, 1:35 left", 1},
			{5 * time.Second, 0.10, " 10 %, frame 10/100, 2.00 frames/s, 0:45 left", 2},
		} {
			p.worked = time.Now().Add(-c.after)
			p.toldAt = time.Time{}
			p.Update(vae.Progress{Tiles: 1, Slices: 2, Frames: 100, Done: c.done})
			assert.Equal(t, c.status, p.status())
			e := told()
			assert.Equal(t, c.rate, e.Rate)
			assert.Equal(t, c.rate == 0, e.Left == nil, "seconds_left")
			assert.Equal(t, c.rate == 0, e.Expected != nil, "expected_seconds")
		}
		p.Update(vae.Progress{Tile: 1, Tiles: 1, Slice: 2, Slices: 2, Frame: 100, Frames: 100, Done: 1})
		assert.Zero(t, *told().Left)
		p.Done()
	})
}

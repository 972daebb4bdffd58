package terminal

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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

// A decode counts latent frames, an encode pixel frames: both are told as
// frames of the clip.
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
		{vae.Progress{Tile: 1, Tiles: 1, Slice: 1, Slices: 1, Frame: 1, Frames: 1}, 17},
	} {
		assert.Equal(t, c.want, p.frame(c.v), "%+v", c.v)
	}
}

// The passes of exact tiles are told apart.
func TestProgressStatus(t *testing.T) {
	p := &Progress{frames: 17, start: time.Now().Add(-time.Second)}
	for want, v := range map[string]vae.Progress{
		" 10 %, middle layers, frame 5/17, ": {Tiles: 4, Middle: true, Slice: 2, Slices: 5, Frame: 2, Frames: 5, Done: 0.1},
		" 50 %, tile 2/4, frame 9/17, ":      {Tile: 1, Tiles: 4, Slice: 3, Slices: 5, Frame: 3, Frames: 5, Done: 0.5},
		" 50 %, frame 9/17, ":                {Tiles: 1, Slice: 3, Slices: 5, Frame: 3, Frames: 5, Done: 0.5},
	} {
		p.last, p.lastAt = v, time.Now()
		got := p.status()
		assert.True(t, strings.HasPrefix(got, want), "%q, want %q", got, want)
	}
}

// Lines tell of shaders only where they take seconds.
func TestCompilingIsTold(t *testing.T) {
	var out strings.Builder
	a := &Terminal{Stderr: &out}
	p := a.Stage("decode", 5)
	p.Compiling(0, 120)
	assert.Empty(t, out.String())
	p.toldAt = time.Now().Add(-4 * time.Second)
	p.Compiling(33, 120)
	assert.Contains(t, out.String(), "decode compiling 34 of 120 shaders")
	p.Compiling(120, 120)
	assert.Equal(t, "preparing", p.status())
}

// Shaders that all come from the cache are loaded, not compiled.
func TestLoadingIsTold(t *testing.T) {
	p := (&Terminal{Stderr: io.Discard}).Stage("decode", 5)
	found, missed := 3, 1 // when the device was opened
	p.kept = func() (int, int) { return found, missed }
	p.Compiling(0, 120)
	assert.Equal(t, "compiling 1 of 120 shaders", p.status(), "nothing was looked up")
	found += 2
	p.Compiling(1, 120)
	assert.Equal(t, "loading 2 of 120 shaders", p.status())
	missed++
	p.Compiling(2, 120)
	assert.Equal(t, "compiling 3 of 120 shaders", p.status())
}

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/latent"
	"tessera/tiling"
	"tessera/vae"
)

func TestBytesFlag(t *testing.T) {
	for text, want := range map[string]int64{
		"6GiB": 6 << 30, "6G": 6 << 30, "6gb": 6e9, "1.5GiB": 3 << 29, "512MiB": 512 << 20, "512m": 512 << 20, "64 KiB": 64 << 10, "7000000000": 7e9, "8b": 8, "2TiB": 2 << 40,
	} {
		var f bytesFlag
		err := f.UnmarshalText([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want, int64(f), text)
	}
	for _, text := range []string{"", "GiB", "-1GiB", "0", "6Q", "6GiBs", "6 GiB more", "NaN", "Inf", "1e30", "0x10", "BGi6", "12"} {
		var f bytesFlag
		err := f.UnmarshalText([]byte(text))
		assert.Error(t, err, text)
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", 31600 * time.Millisecond: "0:32", 59600 * time.Millisecond: "1:00", 725 * time.Second: "12:05", 3723 * time.Second: "1:02:03",
	} {
		assert.Equal(t, want, clock(d))
	}
	for v, want := range map[float64]string{0.2219: "0.222", 0.99999: "1.00", 1.4: "1.40", 12.34: "12.3", 240.2: "240"} {
		assert.Equal(t, want, figures(v))
	}
}

// A decode counts latent frames, an encode pixel frames: both are told as
// frames of the clip.
func TestProgressFrames(t *testing.T) {
	p := &progress{frames: 17}
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
	p := &progress{frames: 17, start: time.Now().Add(-time.Second)}
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

// What is not said stays unsaid, for app/job to resolve.
func TestChoices(t *testing.T) {
	tile, overlap := tiling.Choice{Tile: tiling.Square(384)}, tiling.Square(32)
	for name, c := range map[string]struct {
		flags tileFlags
		want  job.Choices
	}{
		"nothing":   {tileFlags{Tiling: "default"}, job.Choices{}},
		"diffusers": {tileFlags{Tiling: "diffusers"}, job.Choices{Tiling: vae.Diffusers}},
		"all": {
			tileFlags{Tiling: "feather", Tile: (*tileFlag)(&tile), Overlap: (*overlapFlag)(&overlap), Memory: 6 << 30, Host: 5 << 30, Format: "i8", Chunk: 3},
			job.Choices{Tiling: vae.Feather, Tile: &tile, Overlap: &overlap, Budget: 6 << 30, Host: 5 << 30, MemoryFormat: vae.MemoryI8, Chunk: 3},
		},
	} {
		require.Equal(t, c.want, c.flags.choices(), name)
	}
	require.Empty(t, scaleFlag{"default"}.choice())
	require.Equal(t, latent.ScaleNone, scaleFlag{"none"}.choice())
}

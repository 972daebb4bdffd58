package media

import (
	"cmp"
	"errors"

	"tessera/latent"
)

// Format describes a video: one to be written, or one that a job takes or makes.
type Format struct {
	Height, Width int // pixels, at least 1 each and 2^28 together
	Frames        int // that will be written, at least 1
	// Channels are 3 for RGB, 4 for RGBA; zero means 3.
	Channels int
	// FPS is the frame rate; zero means 24. PNG and .npy cannot keep it.
	FPS latent.Rational
	// Aspect is the shape of a pixel as it is shown, width over height; zero means
	// square. What ffmpeg writes and Y4M keep it.
	Aspect latent.Rational
}

// rate is FPS with its default.
func (f Format) rate() latent.Rational {
	if f.FPS.Known() {
		return f.FPS
	}
	return latent.Rational{Num: 24, Den: 1}
}

// channels is Channels with its default.
func (f Format) channels() int { return cmp.Or(f.Channels, 3) }

// ErrFormat marks an error about an output whose name tells no format that can
// be written.
var ErrFormat = errors.New("media: unknown format")

// formatError is an ErrFormat in its own words.
type formatError struct{ text string }

func (e *formatError) Error() string { return e.text }
func (e *formatError) Unwrap() error { return ErrFormat }

// ErrOption marks an error about what CreateOptions ask for, which can't be.
var ErrOption = errors.New("media: bad option")

// optionError is an ErrOption in its own words.
type optionError struct{ text string }

func (e *optionError) Error() string { return e.text }
func (e *optionError) Unwrap() error { return ErrOption }

package media

import (
	"cmp"
	"errors"

	"tessera/latent"
)

// Format describes a video: one to write, or the input or output of a job.
type Format struct {
	Height, Width int // pixels, at least 1 each and 2^28 together
	Frames        int // that will be written, at least 1
	// Channels is 3 for RGB or 4 for RGBA; zero means 3.
	Channels int
	// FPS is the frame rate; zero means 24. PNG and .npy do not store it.
	FPS latent.Rational
	// Aspect is the shape of a displayed pixel, width over height; zero means square. Y4M
	// and ffmpeg's formats store it.
	Aspect latent.Rational
}

// rate returns FPS or its default.
func (f Format) rate() latent.Rational {
	if f.FPS.Known() {
		return f.FPS
	}
	return latent.Rational{Num: 24, Den: 1}
}

// channels returns Channels or its default.
func (f Format) channels() int { return cmp.Or(f.Channels, 3) }

// ErrFormat marks an error about an output whose name has no supported format.
var ErrFormat = errors.New("media: unknown format")

// formatError is an ErrFormat with its text.
type formatError struct{ text string }

func (e *formatError) Error() string { return e.text }
func (e *formatError) Unwrap() error { return ErrFormat }

// ErrOption marks an error about an impossible request in CreateOptions.
var ErrOption = errors.New("media: bad option")

// optionError is an ErrOption with its text.
type optionError struct{ text string }

func (e *optionError) Error() string { return e.text }
func (e *optionError) Unwrap() error { return ErrOption }

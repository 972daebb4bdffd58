package job

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/vae"
)

// shades is a clip of one pixel whose frames are grey.
type shades []float32

var errShade = errors.New("no such frame")

func (s shades) Frames() int               { return len(s) }
func (s shades) Size() (height, width int) { return 1, 1 }
func (s shades) Channels() int             { return 3 }

func (s shades) ReadFrame(t int, dst []float32) error {
	if t >= len(s) {
		return errShade
	}
	for i := range dst {
		dst[i] = s[t]
	}
	return nil
}

// PSNR computed by hand, for the range of 2: 10 log10(4/0.25) for an error of half a
// unit; over both frames the mean of the squares, 0.125, counts. Equal frames have no
// PSNR.
func TestComparison(t *testing.T) {
	c := NewComparison(shades{0, 0.5})
	assert.Equal(t, []byte{128, 128, 128, 255}, c.RGBA(vae.Frame{Pixels: []float32{0, 0, 0}}))
	same, err := c.Add(vae.Frame{Pixels: []float32{0, 0, 0}})
	require.NoError(t, err)
	assert.Equal(t, Score{SSIM: 1}, same)
	assert.Equal(t, Score{SSIM: 1}, c.Overall())
	off, err := c.Add(vae.Frame{Index: 1, Pixels: []float32{1, 1, 1}})
	require.NoError(t, err)
	require.NotNil(t, off.PSNR)
	assert.InDelta(t, 10*math.Log10(16), *off.PSNR, 1e-9)
	assert.InDelta(t, 10*math.Log10(32), *c.Overall().PSNR, 1e-9)
	_, err = c.Add(vae.Frame{Index: 2, Pixels: []float32{1, 1, 1}})
	assert.ErrorIs(t, err, errShade)
}

// Guesses come before warnings, and Doubts changes neither.
func TestDoubts(t *testing.T) {
	d := Decoding{Guesses: make([]string, 0, 8), Warnings: []string{"w"}}
	d.Guesses = append(d.Guesses, "g")
	first := d.Doubts()
	_ = append(d.Guesses, "other")
	assert.Equal(t, []string{"g", "w"}, first)
	assert.Equal(t, []string{"g"}, d.Guesses)
}

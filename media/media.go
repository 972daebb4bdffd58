// Package media reads and writes video and latents: PNG, Y4M, NumPy and safetensors
// without help, every other format through an installed ffmpeg. It also measures and
// shows the difference between two clips. It knows files and float frames, but no models
// or devices.
//
// Start at Open and Create for video, ReadLatent and WriteLatent for latents, Quality and
// Sheet for comparing:
//
//	clip, err := media.Open(ctx, "in.mp4", 3)
//	...
//	defer clip.Close()
//	height, width := clip.Size()
//	frame := make([]float32, height*width*3)
//	for t := range clip.Frames() {
//		if err := clip.ReadFrame(t, frame); err != nil {
//			return err
//		}
//	}
//
// ExampleCreate writes a video, ExampleWriteLatent a latent, ExampleQuality compares.
//
// A frame is [H,W,C], C 3 or 4: rows from the top, interleaved R, G, B and perhaps alpha,
// in [-1,1] where -1 is black or transparent. Alpha is straight: colours are not
// multiplied by it, and are kept where it is transparent. Frames are streamed one at a
// time, so a clip may be larger than memory. A picture is a clip of one frame.
//
// Every output is written under a temporary name beside its final one and renamed when it
// is complete, so a failure leaves no incomplete file. Links are followed first.
//
// Errors about an input wrap ErrInput; if the operating system is the cause they wrap its
// error too, such as fs.ErrNotExist, syscall.ENOSPC or the context's. A wrong frame
// number or buffer length is the caller's bug; functions panic on it where their comments
// say so.
//
// No type here is safe for concurrent use.
package media

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tessera/format/quote"
	"tessera/latent"
)

// ErrInput marks an error about an input: a file that is missing, damaged, or holds
// something else than expected. Open, Clip.ReadFrame, ReadLatent, DecodeLatent,
// InspectLatent and Latent.Original return it. Errors with other causes do not have it: a
// cancelled context, a full disk, a missing ffmpeg.
var ErrInput = errors.New("media: bad input")

// maxPixels limits the size of a frame, so that a few hostile header bytes cannot request
// all memory. 2^28 is 16384 x 16384.
const maxPixels = 1 << 28

// Clip is an open video. Frames can be read in any order and repeatedly, as
// tiled encoding does.
type Clip interface {
	// Frames returns the number of frames, at least 1.
	Frames() int
	// Size returns the size of every frame, in pixels.
	Size() (height, width int)
	// Channels returns the channels of the frames that ReadFrame returns, 3 or 4,
	// whatever the file has.
	Channels() int
	// FPS returns the frame rate, zero if the format has none.
	FPS() latent.Rational
	// ReadFrame fills dst, [H,W,C] in [-1,1], with frame t from 0; it does not clamp a
	// file's floats. It returns ErrInput if the file no longer contains the frame, or for
	// NaN or infinity, and panics if t or the length of dst is wrong.
	ReadFrame(t int, dst []float32) error
	// Close releases files and removes temporary ones. Do not use the clip after it.
	Close() error
}

// AspectOf returns the shape of a clip's pixels, width over height; zero if they are
// square or the file does not say.
func AspectOf(c Clip) latent.Rational {
	if shaped, ok := c.(interface{ Aspect() latent.Rational }); ok {
		return shaped.Aspect()
	}
	return latent.Rational{}
}

// extension returns the lower-case extension of path with its dot. A dot at the start of
// a name begins no extension, and a folder has none.
func extension(path string) string {
	if path != "" && os.IsPathSeparator(path[len(path)-1]) {
		return ""
	}
	return strings.ToLower(filepath.Ext(strings.TrimLeft(filepath.Base(path), ".")))
}

// inputError is an ErrInput about one file.
type inputError struct {
	path string
	err  error
}

func (e *inputError) Error() string   { return "media: " + quote.Text(e.path) + ": " + e.err.Error() }
func (e *inputError) Unwrap() []error { return []error{ErrInput, e.err} }

// badInput makes an ErrInput about the file at path. Errors of package os contain the
// path, so only their cause is kept.
func badInput(path string, err error) error {
	if perr, ok := errors.AsType[*os.PathError](err); ok && perr.Path == path {
		err = perr.Err
	}
	return &inputError{path, err}
}

func badInputf(path, format string, args ...any) error {
	return &inputError{path, fmt.Errorf(format, args...)}
}

// checkSize refuses frames of size 0 or of absurd size.
func checkSize(height, width int) error {
	if height <= 0 || width <= 0 {
		return fmt.Errorf("frames are %d x %d, expected at least 1 x 1", width, height)
	}
	if height > maxPixels/width {
		return fmt.Errorf("frames are %d x %d, expected at most %d pixels", width, height, maxPixels)
	}
	return nil
}

// checkChannels refuses frames that are neither RGB nor RGBA.
func checkChannels(channels int) error {
	if channels != 3 && channels != 4 {
		return fmt.Errorf("frames of %d channels, expected 3 or 4", channels)
	}
	return nil
}

// checkRead panics on a wrong frame number or buffer length.
func checkRead(c Clip, t int, dst []float32) {
	h, w := c.Size()
	if n := h * w * c.Channels(); t < 0 || t >= c.Frames() || len(dst) != n {
		panic(fmt.Sprintf("media: frame %d of %d into %d floats, %d x %d needs %d",
			t, c.Frames(), len(dst), w, h, n))
	}
}

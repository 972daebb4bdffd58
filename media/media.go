// Package media brings video and latents in and out: PNG, Y4M, NumPy and
// safetensors by itself, every other format through an installed ffmpeg. It
// also measures and shows the difference between two clips. It knows files and
// float frames, nothing of models or devices.
//
// Start at Open and Create for video, ReadLatent and WriteLatent for latents,
// Quality and Sheet for comparing.
//
// A frame is [H,W,C], C 3 or 4: rows from the top, interleaved R, G, B and
// perhaps alpha, in [-1,1] where -1 is black or transparent. Alpha is straight:
// the colours are not multiplied by it, and are kept where it is transparent.
// Frames are streamed one at a time, so a clip may be larger than memory. Every
// output is written under a temporary name beside its final one and renamed
// when it is complete: a failure leaves nothing behind. Links are followed first.
// A picture is a clip of one frame.
//
// Errors about what was read wrap ErrInput; where the operating system is the
// cause they wrap its error too, such as fs.ErrNotExist, syscall.ENOSPC or the
// context's. A frame number or buffer that doesn't fit is the caller's bug, and
// panics where the comment says so.
//
// None of the types here is safe for concurrent use.
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

// ErrInput marks an error about what was to be read: a file that is missing,
// damaged, or holds something else than expected. Open, Clip.ReadFrame,
// ReadLatent, DecodeLatent, InspectLatent and Latent.Original return it. It does
// not mark what is no fault of the file: a cancelled context, a full disk, an
// ffmpeg that isn't installed.
var ErrInput = errors.New("media: bad input")

// maxPixels bounds the size of a frame, so that a few hostile header bytes
// cannot ask for all memory. 2^28 is 16384 x 16384.
const maxPixels = 1 << 28

// Clip is an open video. Frames can be read in any order and repeatedly, as
// tiled encoding does.
type Clip interface {
	// Frames is how many there are, at least 1.
	Frames() int
	// Size is that of every frame, in pixels.
	Size() (height, width int)
	// Channels are those of the frames read, 3 or 4, whatever the file has.
	Channels() int
	// FPS is the frame rate, zero when the format has none.
	FPS() latent.Rational
	// ReadFrame fills dst, [H,W,C] in [-1,1], with frame t from 0; floats that
	// the file has beyond that are handed on. It returns ErrInput where the
	// file no longer holds the frame, or a NaN or infinity in it, and panics
	// where t or the length of dst is wrong.
	ReadFrame(t int, dst []float32) error
	// Close releases files and removes what was spooled. The clip is not used
	// after it.
	Close() error
}

// AspectOf is the shape of a clip's pixels, width over height; zero where they
// are square or the file doesn't say.
func AspectOf(c Clip) latent.Rational {
	if shaped, ok := c.(interface{ Aspect() latent.Rational }); ok {
		return shaped.Aspect()
	}
	return latent.Rational{}
}

// extension is the lower-case extension of path with its dot. A leading dot
// alone begins a name, not an extension, and a folder has none.
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

// badInput says what is wrong with the file at path. Errors of the os package
// name the path themselves; only their cause is kept.
func badInput(path string, err error) error {
	if perr, ok := errors.AsType[*os.PathError](err); ok && perr.Path == path {
		err = perr.Err
	}
	return &inputError{path, err}
}

func badInputf(path, format string, args ...any) error {
	return &inputError{path, fmt.Errorf(format, args...)}
}

// checkSize refuses frames of no or of absurd size.
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

// checkRead panics on a frame number or buffer that is wrong by the caller's
// own arithmetic.
func checkRead(c Clip, t int, dst []float32) {
	h, w := c.Size()
	if n := h * w * c.Channels(); t < 0 || t >= c.Frames() || len(dst) != n {
		panic(fmt.Sprintf("media: frame %d of %d into %d floats, %d x %d needs %d",
			t, c.Frames(), len(dst), w, h, n))
	}
}

//go:build !js

package media

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tessera/format/file"
)

// Open opens the video at path: .png, .jpg, .webp, .tiff or .exr, a folder of these or a
// pattern like frame_%04d.png, .y4m, .npy, .safetensors, .pt, or anything ffmpeg reads,
// such as .mp4. It reads all bits of 16-bit PNG and TIFF. It converts OpenEXR's linear
// light to sRGB's curve (IEC 61966-2-1) and clips it to 0 to 1. A video for ffmpeg is
// decoded once on opening, to check it, and again on reading; ctx limits both.
//
// channels is 3 for RGB or 4 for RGBA. With 3 a picture's alpha is dropped, and its
// colours are the stored ones, without blending; with 4 a picture without alpha is
// opaque. A file of floats with 4 channels cannot be read with 3.
//
// Floats may lie outside [-1,1], and are returned unchanged; those beyond 4 cannot be
// pixels and are an error. Arrays of uint8 are pixels of 0 to 255. All frames have one
// size, of at most 2^28 pixels.
//
// Open returns ErrInput if path is missing, damaged or not a video, but not if ctx ends,
// ffmpeg is needed but not installed, or the disk is full. The caller closes the Clip.
//
// If ffmpeg finds a file damaged or truncated, the error is ErrInput and ErrDamaged:
// OpenWith can accept the file.
func Open(ctx context.Context, path string, channels int) (Clip, error) {
	return OpenWith(ctx, path, channels, OpenOptions{})
}

// ErrDamaged marks an ErrInput about a video that can be read in part, with
// AcceptDamaged.
var ErrDamaged = errors.New("media: damaged video")

// damagedError is an ErrDamaged with its text.
type damagedError struct{ text string }

func (e *damagedError) Error() string { return e.text }
func (e *damagedError) Unwrap() error { return ErrDamaged }

// OpenOptions are OpenWith's options.
type OpenOptions struct {
	// AcceptDamaged keeps what ffmpeg can read of a damaged or truncated video, at least
	// one frame; by default this is an error.
	AcceptDamaged bool
	// Matrix is the colour matrix of YUV, one of Matrices, whatever the file says; by
	// default the file's, or BT.601 if it has none.
	Matrix string
	// Track is the video track to read, counted from 1 including covers; 0 is the one
	// that a player would show: the first marked as default, else the first that is not a
	// cover. Only files for ffmpeg have several.
	Track int
	// ToneMap converts HDR to SDR; by default its numbers are used unchanged.
	ToneMap bool
	// Warn receives what was accepted, lost or guessed, Note what was assumed, each in
	// one line with the file's name; nil drops them.
	Warn, Note func(text string)

	headers bool // do not decode a picture
	latents bool // an array may also be a latent, see floatsOf
}

func (o OpenOptions) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

func (o OpenOptions) note(text string) {
	if o.Note != nil {
		o.Note(text)
	}
}

// OpenWith is Open with options.
func OpenWith(ctx context.Context, path string, channels int, o OpenOptions) (Clip, error) {
	if err := checkMatrix(o.Matrix); err != nil {
		return nil, fmt.Errorf("media: %s: %w", path, err)
	}
	clip, err := openOwn(ctx, path, channels, o)
	if floats, ok := clip.(*floatsClip); ok {
		if err := floats.look(o); err != nil {
			clip.Close()
			return nil, err
		}
	}
	if clip != nil && o.Track > 1 {
		clip.Close() // nothing was written
		return nil, badInputf(path, "has one video track, not %d", o.Track)
	}
	if clip != nil || err != nil {
		return clip, err
	}
	return openFFmpeg(ctx, path, channels, o)
}

// look checks a sample of the numbers for values that cannot be pixels.
func (c *floatsClip) look(o OpenOptions) error {
	r, err := SampleRange(c.stored*c.frames*c.height*c.width, c.array.readF32)
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return badInput(c.path, err)
	}
	if c.note != "" {
		o.note(c.path + ": " + c.note)
	}
	if text := r.Doubt(); text != "" {
		o.warn(c.path + ": " + text)
	}
	return nil
}

// openOwn opens files that need no ffmpeg; for others it returns nil.
func openOwn(ctx context.Context, path string, channels int, o OpenOptions) (Clip, error) {
	if err := checkChannels(channels); err != nil {
		return nil, fmt.Errorf("media: %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return openFolder(ctx, path, channels, o)
	}
	if clip, err := openPattern(ctx, path, channels, o); clip != nil || err != nil {
		return clip, err
	}
	info, err := file.Look(path)
	if err != nil {
		return nil, badInput(path, err)
	}
	if info.Size() == 0 {
		return nil, badInputf(path, "file is empty")
	}
	if is := placeholder(path); is != nil {
		return nil, badInput(path, is)
	}
	switch extension(path) {
	case ".tif", ".tiff", ".exr":
		if !ownPicture(path) {
			return nil, nil
		}
		return openPictures(ctx, path, []string{path}, channels, o)
	case ".png", ".jpg", ".jpeg", ".webp":
		return openPictures(ctx, path, []string{path}, channels, o)
	case ".y4m":
		return openY4M(path, channels, o)
	case ".npy", ".safetensors", ".pt", ".pth":
		return openFloats(path, channels, o.latents)
	case ".latent", ".npz":
		return nil, badInputf(path, "holds a latent, expected a video; frames of floats are read from .npy, .safetensors and .pt")
	}
	return nil, nil
}

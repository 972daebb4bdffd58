//go:build !js

package media

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tessera/format/file"
)

// Open opens the video at path: .png, .jpg, .webp, .tiff or .exr, a folder of such or a
// name like frame_%04d.png that stands for some, .y4m, .npy, .safetensors, .pt, or anything
// ffmpeg reads, such as .mp4. PNG and TIFF of 16 bits are read whole. OpenEXR's pixels
// are linear light, which becomes sRGB's curve (IEC 61966-2-1); what is beyond 0 to 1 is
// clipped. For ffmpeg
// opening means to decode the whole video once, to see that it is sound, and
// reading to decode it again; ctx bounds both.
//
// channels is 3 for RGB or 4 for RGBA. With 3 a picture's alpha is dropped, and
// its colours are the stored ones, not blended with anything; with 4 what has
// no alpha is opaque. A file of floats in 4 channels is not read as 3.
//
// Floats may lie outside [-1,1], and are handed on as they are, but for those beyond
// 4, which are no pixels; arrays of uint8 are pixels of 0 to 255. All frames have one
// size, of at most 2^28 pixels.
//
// Open returns ErrInput where path is missing, damaged or no video, but not
// where ctx ends, ffmpeg is needed and not installed, or the disk is full. The
// caller closes the Clip.
//
// A file that ffmpeg finds damaged or cut short is ErrInput and ErrDamaged:
// OpenWith can accept it.
func Open(ctx context.Context, path string, channels int) (Clip, error) {
	return OpenWith(ctx, path, channels, OpenOptions{})
}

// ErrDamaged marks an ErrInput about a video of which a part could be read, and
// would be with AcceptDamaged.
var ErrDamaged = errors.New("media: damaged video")

// damagedError is an ErrDamaged in its own words.
type damagedError struct{ text string }

func (e *damagedError) Error() string { return e.text }
func (e *damagedError) Unwrap() error { return ErrDamaged }

// OpenOptions are what OpenWith can be told.
type OpenOptions struct {
	// AcceptDamaged keeps what ffmpeg can read of a video that is damaged or cut
	// short, if that is a frame at least; by default it is an error.
	AcceptDamaged bool
	// Matrix is the colour matrix that YUV is in, one of Matrices, whatever the
	// file says; by default what it says, and BT.601 where it says nothing.
	Matrix string
	// Track is the video track to read, counted from 1 with covers among them; 0 is
	// the one that a player would show: the first that is marked as default, else the
	// first that is no cover. Only what ffmpeg reads has more than one.
	Track int
	// ToneMap makes SDR of HDR; by default its numbers are taken as they are.
	ToneMap bool
	// Warn is told what was accepted, is lost or was guessed, Note what was taken
	// to be so, each in one line that names the file; by default nobody is.
	Warn, Note func(text string)

	headers bool // no picture is to be decoded
	latents bool // an array may be a latent as well, see floatsOf
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

// look looks at a part of the numbers: are they pixels?
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

// openOwn opens what needs no ffmpeg; for what does it returns nil.
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

//go:build !js

package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Sink writes a video, frame by frame in order. Close completes the output; Abort removes
// it. Abort after Close does nothing, so it can be deferred. After an error every call
// returns that error, and Close aborts.
type Sink struct {
	ctx     context.Context
	path    string
	format  Format
	backend backend
	frames  int    // frames written
	rgba    []byte // [H,W,4], for conversion
	err     error  // the first error, or errClosed
}

// backend is one output format.
type backend interface {
	// needsFloat reports which of its two forms frame gets.
	needsFloat() bool
	// frame writes frame t: floats [H,W,C], or 8-bit pixels [H,W,4], which are opaque
	// unless the format has 4 channels.
	frame(t int, floats []float32, rgba []byte) error
	// commit completes the output under its final name, or removes it.
	commit() error
	// abort removes everything.
	abort() error
}

var errClosed = errors.New("media: output is closed")

// Create starts a video at path. The extension chooses the format:
//
//	none, or a folder   a folder of frame_0000.png, frame_0001.png, ...
//	.png .tiff          one frame, of 8 bits or, with a PixelFormat, 16: round((x+1)/2*65535)
//	.exr                one frame in linear light: sRGB's curve (IEC 61966-2-1) is undone
//	.y4m                4:4:4, BT.709, limited range
//	.npy, .safetensors  float32 [C,T,H,W], neither clamped nor rounded
//	.mp4 .mov .mkv      H.264 through ffmpeg, BT.709, limited range
//	.webm               VP9 through ffmpeg, BT.709, limited range
//	.webp .gif          an animation through ffmpeg: lossless; 256 colours per frame
//
// PNG, TIFF, OpenEXR, WebP and floats keep alpha, but WebP keeps no colours where alpha
// is 0. For the other formats Create blends 4 channels with black, and warns.
//
// At the end Create atomically replaces an existing file, or a folder that holds only
// frames that Create wrote. It keeps their mode. For a link it replaces the target, see
// Target; a link without a target is an error. ctx stops writing: every later call of the
// Sink returns its error, wrapped.
//
// Create's errors are never ErrInput. Errors that another try would meet again are
// ErrOutput, ErrFormat or ErrOption. A full disk is syscall.ENOSPC, here and in the
// Sink's calls.
func Create(ctx context.Context, path string, f Format) (*Sink, error) {
	return CreateWith(ctx, path, f, CreateOptions{})
}

// CreateOptions are CreateWith's options. Those about codecs and sound are for ffmpeg's
// formats, and an ErrOption for others.
type CreateOptions struct {
	// CRF is the quality, lower is better; default 16 for H.264, 18 for VP9, else the
	// codec's.
	CRF string
	// Codec and PixelFormat are ffmpeg's names; default libx264, in .webm libvpx-vp9, and
	// yuv420p, for odd sizes yuv444p. Formats of more than 8 bits are converted from
	// floats. Pictures support rgb24 or rgb48be, rgba or rgba64be (in either byte order's
	// name); OpenEXR supports gbrpf32le or gbrpf16le, gbrapf32le or gbrapf16le. A folder
	// with one of the latter holds OpenEXR.
	Codec, PixelFormat string
	// Sound names a file whose first sound track is added, cut to the length of the
	// video; "" for none. A file without sound is an error with SoundAsked.
	Sound      string
	SoundAsked bool
	// From names the video that the frames come from, "" for none: Create warns of its
	// streams that the output lacks. Track is its track, as in OpenOptions.
	From  string
	Track int
	// RateAsked means that the user chose the frame rate, so Create warns if the format
	// does not store it.
	RateAsked bool
	// To receives the output instead of a file; path then gives the format, and the name
	// in errors. .y4m is written frame by frame; .npy and .safetensors, whose frames are
	// interleaved, are kept in a temporary file until Close; other formats are not
	// supported. Abort does not take back what was written.
	To io.Writer
	// Warn receives what is lost or changed, in one line with the file's name; nil drops
	// it.
	Warn func(text string)
}

func (o CreateOptions) warn(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// asked lists the requested options for ffmpeg, in words.
func (o CreateOptions) asked() string {
	var all []string
	for _, c := range [][2]string{{"codec", o.Codec}, {"crf", o.CRF}, {"pixel format", o.PixelFormat}} {
		if c[1] != "" {
			all = append(all, c[0]+" "+c[1])
		}
	}
	return strings.Join(all, ", ")
}

// choices matches valid values of CRF, Codec and PixelFormat, which must not look like
// options.
var choices = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// check refuses options that path cannot have with any ffmpeg.
func (o CreateOptions) check(path string) error {
	for _, value := range []string{o.Codec, o.CRF, o.PixelFormat} {
		if value != "" && !choices.MatchString(value) {
			return &optionError{fmt.Sprintf("media: %s: %.40q names no codec, quality or pixel format", path, value)}
		}
	}
	if v, err := strconv.ParseFloat(o.CRF, 64); o.CRF != "" && (err != nil || v < 0 || v > 63) {
		return &optionError{fmt.Sprintf("media: %s: quality (crf) %.40q, expected a number from 0 to 63", path, o.CRF)}
	}
	if isVideoFile(path) {
		return nil
	}
	left := o
	if isPicture(path) {
		left.PixelFormat = "" // formFor checks these
	}
	if asked := left.asked(); asked != "" {
		return &optionError{fmt.Sprintf("media: %s: has no %s, expected .mp4, .mov, .mkv or .webm", path, asked)}
	}
	if o.Sound != "" && o.SoundAsked {
		return &optionError{fmt.Sprintf("media: %s: keeps no sound, expected .mp4, .mov, .mkv or .webm for that of %s", path, o.Sound)}
	}
	return nil
}

// CreateWith is Create with options.
func CreateWith(ctx context.Context, path string, f Format, o CreateOptions) (*Sink, error) {
	if err := o.check(path); err != nil {
		return nil, err
	}
	if err := checkSize(f.Height, f.Width); err != nil {
		return nil, fmt.Errorf("media: %s: %w", path, err)
	}
	if f.Frames < 1 {
		return nil, fmt.Errorf("media: %s: %d frames to write, expected at least 1", path, f.Frames)
	}
	if err := checkChannels(f.channels()); err != nil {
		return nil, fmt.Errorf("media: %s: %w", path, err)
	}
	b, err := createBackend(ctx, path, f, o)
	if err != nil {
		return nil, err
	}
	o.losses(ctx, path, f)
	return &Sink{ctx: ctx, path: path, format: f, backend: b}, nil
}

// losses warns of what a format can't keep.
func (o CreateOptions) losses(ctx context.Context, path string, f Format) {
	ext, animation := extension(path), isAnimation(path)
	if f.Frames > 1 && !f.FPS.Known() && (isVideoFile(path) || ext == ".y4m" || animation) {
		o.warn(fmt.Sprintf("%s: frame rate unknown, using %s frames/s; --fps sets another", path, f.rate()))
	}
	if isVideoFile(path) {
		o.warnDropped(ctx, path)
		return
	}
	if animation && ext == ".gif" {
		o.warn(path + ": keeps 256 colours of each frame; .webp keeps all")
	}
	if most := 50.0; animation && ext == ".gif" && f.rate().Float() > most {
		o.warn(fmt.Sprintf("%s: has times in hundredths of a second: browsers play %s frames/s slower, %v at most", path, f.rate(), most))
	}
	if o.RateAsked && ext != ".y4m" && ext != ".safetensors" && !animation {
		o.warn(fmt.Sprintf("%s: cannot store a frame rate: %s frames/s is dropped", path, f.rate()))
	}
	if f.Aspect.Known() && ext != ".y4m" {
		o.warn(fmt.Sprintf("%s: cannot store the pixel aspect ratio %s", path, f.Aspect))
	}
	if o.Sound != "" && HasSound(ctx, o.Sound) {
		o.warn(fmt.Sprintf("%s: cannot store sound: that of %s is dropped", path, o.Sound))
	}
}

func createBackend(ctx context.Context, path string, f Format, o CreateOptions) (backend, error) {
	open := o.opener()
	if info, err := os.Stat(path); err == nil && info.IsDir() && o.To == nil {
		return createFolder(path, f, o)
	}
	switch ext := extension(path); ext {
	case "":
		return createFolder(path, f, o)
	case ".png", ".tif", ".tiff", ".exr":
		return createPicture(path, f, o)
	case ".y4m", ".mp4", ".mov", ".mkv", ".webm", ".webp", ".gif":
		if f.channels() == 4 && ext != ".webp" {
			return createOverBlack(ctx, path, f, o)
		}
		if ext == ".y4m" {
			return createY4M(open, path, f)
		}
		return createFFmpeg(ctx, path, f, o)
	case ".npy", ".safetensors":
		return createFloats(open, path, f)
	}
	return nil, CheckVideoName(path)
}

// overBlack blends frames of 4 channels with black, for a format with 3.
type overBlack struct {
	backend
	floats []float32 // [H,W,3]
}

func createOverBlack(ctx context.Context, path string, f Format, o CreateOptions) (backend, error) {
	f.Channels = 3
	b, err := createBackend(ctx, path, f, o)
	if err == nil {
		o.warn(path + ": doesn't keep transparency: frames are blended with black; a folder of PNG, .png, .tiff, .exr, .webp, .npy and .safetensors keep it")
	}
	return &overBlack{backend: b}, err
}

func (o *overBlack) frame(t int, floats []float32, rgba []byte) error {
	if floats != nil {
		o.floats = slices.Grow(o.floats[:0], len(floats)/4*3)
		for i := 0; i < len(floats); i += 4 {
			alpha := (clamp1(floats[i+3]) + 1) / 2
			for _, v := range floats[i : i+3] {
				o.floats = append(o.floats, (clamp1(v)+1)*alpha-1)
			}
		}
		floats = o.floats
	}
	for i := 0; i < len(rgba); i += 4 {
		alpha := int(rgba[i+3])
		for c := range 3 {
			rgba[i+c] = byte((int(rgba[i+c])*alpha + 127) / 255)
		}
		rgba[i+3] = 255
	}
	return o.backend.frame(t, floats, rgba)
}

// CheckVideoName returns ErrFormat if Create does not support path's name, so that this
// shows before anything is read.
func CheckVideoName(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	switch ext := extension(path); ext {
	case "", ".png", ".tif", ".tiff", ".exr", ".y4m", ".mp4", ".mov", ".mkv", ".webm", ".webp", ".gif", ".npy", ".safetensors":
		return nil
	default:
		return &formatError{fmt.Sprintf("media: %s: cannot write %s, expected a folder, .png, .tiff, .exr, .y4m, .npy, .safetensors, "+
			".mp4, .mov, .mkv, .webm, .webp or .gif", path, ext)}
	}
}

// NeedsFloat reports whether the format stores floats: then frames must be written by
// WriteFrame. Otherwise WriteRGBA8 avoids a conversion.
func (s *Sink) NeedsFloat() bool { return s.backend.needsFloat() }

// Kept returns how many bytes of a streamed output are in a temporary file until Close.
func (s *Sink) Kept() int64 {
	if f, ok := s.backend.(*floatSink); ok {
		if out, ok := f.pending.(*stream); ok {
			return out.need
		}
	}
	return 0
}

// WriteFrame writes the next frame, [H,W,C]. All formats but .npy and .safetensors clamp
// it to [-1,1] and round to the nearest code. NaN, infinity, a wrong length and more
// frames than announced are errors. The caller may reuse frame.
func (s *Sink) WriteFrame(frame []float32) error {
	channels := s.format.channels()
	if err := s.check(len(frame), channels); err != nil {
		return s.fail(err)
	}
	if i := firstNonFinite(frame); i >= 0 {
		x, y := i/channels%s.format.Width, i/channels/s.format.Width
		return s.fail(fmt.Errorf("media: %s: frame %d: pixel (%d,%d) is %v, expected a finite number",
			s.path, s.frames, x, y, frame[i]))
	}
	if s.backend.needsFloat() {
		return s.write(frame, nil)
	}
	rgba := s.buffer()
	ToRGBA(rgba, frame, channels)
	return s.write(nil, rgba)
}

// WriteRGBA8 writes the next frame, [H,W,4] in 8 bits, as the device makes it. It keeps
// alpha if the format has 4 channels. It fails if NeedsFloat. The caller may reuse pix.
func (s *Sink) WriteRGBA8(pix []byte) error {
	if err := s.check(len(pix), 4); err != nil {
		return s.fail(err)
	}
	if s.backend.needsFloat() {
		return s.fail(fmt.Errorf("media: %s: frame %d: 8-bit pixels for a format of floats", s.path, s.frames))
	}
	rgba := s.buffer()
	copy(rgba, pix)
	if s.format.channels() == 3 {
		for i := 3; i < len(rgba); i += 4 {
			rgba[i] = math.MaxUint8
		}
	}
	return s.write(nil, rgba)
}

// check refuses a wrong next frame.
func (s *Sink) check(length, channels int) error {
	if s.err != nil {
		return s.err
	}
	if err := s.ctx.Err(); err != nil {
		return fmt.Errorf("media: %s: %w", s.path, err)
	}
	f := s.format
	if want := f.Height * f.Width * channels; length != want {
		return fmt.Errorf("media: %s: frame %d has %d values, %d x %d x %d needs %d",
			s.path, s.frames, length, f.Width, f.Height, channels, want)
	}
	if s.frames == f.Frames {
		return fmt.Errorf("media: %s: more than the %d frames announced", s.path, f.Frames)
	}
	return nil
}

func (s *Sink) buffer() []byte {
	if s.rgba == nil {
		s.rgba = make([]byte, s.format.Height*s.format.Width*4)
	}
	return s.rgba
}

func (s *Sink) write(floats []float32, rgba []byte) error {
	if err := s.backend.frame(s.frames, floats, rgba); err != nil {
		if cerr := s.ctx.Err(); cerr != nil {
			err = fmt.Errorf("media: %s: %w", s.path, cerr) // report the cause, not what it broke
		}
		return s.fail(err)
	}
	s.frames++
	return nil
}

// fail keeps the first error and removes the output.
func (s *Sink) fail(err error) error {
	if s.err == nil {
		s.err = err
		s.backend.abort() // the first error is the one to report
	}
	return s.err
}

// Close completes the output and gives it its name. If frames are missing, or after an
// error, it removes the output and returns an error.
func (s *Sink) Close() error {
	if s.err != nil {
		return s.err
	}
	if err := s.ctx.Err(); err != nil {
		return s.fail(fmt.Errorf("media: %s: %w", s.path, err))
	}
	if s.frames != s.format.Frames {
		return s.fail(fmt.Errorf("media: %s: %d of %d frames written", s.path, s.frames, s.format.Frames))
	}
	s.err = errClosed
	if err := s.backend.commit(); err != nil {
		s.err = err
		return err
	}
	return nil
}

// Abort removes what was written. After Close or an error it does nothing and returns
// nil.
func (s *Sink) Abort() error {
	if s.err != nil {
		return nil
	}
	s.err = errClosed
	return s.backend.abort()
}

//go:build !js

package media

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
)

// ffmpegSink pipes frames to an ffmpeg that writes the temporary file.
type ffmpegSink struct {
	ctx     context.Context
	stop    context.CancelFunc
	pending *pending
	cmd     *exec.Cmd
	log     *decodeLog
	pipe    io.WriteCloser
	sound   *sound // nil for none
	waited  bool
	deep    *highDepthFrames // nil for frames of 8 bits
	raw     []byte           // one deep frame
}

func createFFmpeg(ctx context.Context, path string, f Format, o CreateOptions) (backend, error) {
	p, err := createPending(path, 0)
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(ctx)
	s := &ffmpegSink{ctx: ctx, stop: stop, pending: p, deep: highDepthFor(o.PixelFormat)}
	if err := s.begin(run, f, o); err != nil {
		stop()
		s.silence()
		p.abort()
		return nil, err
	}
	return s, nil
}

// begin tries requested features that some versions of ffmpeg lack, extracts the sound
// and starts ffmpeg.
func (s *ffmpegSink) begin(ctx context.Context, f Format, o CreateOptions) (err error) {
	path, ext := s.pending.path, extension(s.pending.path)
	if o.asked() != "" || animations[ext] != nil {
		if err := s.try(ctx, f, o); err != nil {
			return err
		}
	}
	if o.Sound != "" && (o.SoundAsked || !soundless(o.Sound)) {
		seconds := float64(f.Frames) / f.rate().Float()
		if s.sound, err = takeSound(ctx, path, ext, seconds, o); err != nil {
			return err
		}
	}
	if odd(f) && o.PixelFormat == "" && animations[ext] == nil {
		o.warn(fmt.Sprintf("%s: %dx%d pixels are odd: written as yuv444p, which some players don't show", path, f.Height, f.Width))
	}
	if err := s.start(ctx, ext, f, o); err != nil {
		return fmt.Errorf("media: %s: %w", path, err)
	}
	return nil
}

func (s *ffmpegSink) start(ctx context.Context, ext string, f Format, o CreateOptions) (err error) {
	if s.cmd, _, err = ffmpegCommand(ctx, "ffmpeg"); err != nil {
		return err
	}
	s.log = &decodeLog{}
	s.cmd.Stderr = s.log
	args := []string{"-v", "repeat+level+error", "-nostdin", "-y"}
	mapped := []string{"-map", "0:v:0"}
	if s.sound != nil {
		args = append(args, "-copyts", "-i", s.sound.input(s.cmd)) // otherwise its first sample would move to time 0
		mapped = []string{"-map", "1:v:0", "-map", "0:a:0", "-c:a", "copy"}
	}
	args = append(append(args, rawInput(f, s.deep)...), mapped...)
	s.cmd.Args = append(s.cmd.Args, append(args, encodeArgs(ext, s.pending.temp, f, o)...)...)
	if s.pipe, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	return s.cmd.Start()
}

// ignored matches ffmpeg's messages that a codec lacks a pixel format and uses another,
// or has no quality.
var ignored = regexp.MustCompile(`Incompatible pixel format '\S+' for codec '\S+'|Codec AVOption \w+ .*has not been used for any stream`)

// try writes one black frame, to report unsupported options before the work.
func (s *ffmpegSink) try(ctx context.Context, f Format, o CreateOptions) error {
	args := append([]string{"-v", "repeat+level+warning", "-nostdin", "-y"}, rawInput(f, s.deep)...)
	args = append(args, encodeArgs(extension(s.pending.path), s.pending.temp, f, o)...)
	cmd, _, err := ffmpegCommand(ctx, "ffmpeg", args...)
	if err != nil {
		return fmt.Errorf("media: %s: %w", s.pending.path, err)
	}
	var all bytes.Buffer
	log := &decodeLog{}
	cmd.Stdin, cmd.Stderr = bytes.NewReader(make([]byte, rawBytes(f, s.deep))), io.MultiWriter(log, &all)
	err = cmd.Run()
	reason := log.reason("file:" + s.pending.temp)
	if m := ignored.Find(all.Bytes()); m != nil {
		reason = fmt.Sprintf("%q", strings.ReplaceAll(string(m), "file:"+s.pending.temp, "the file"))
	} else if ctx.Err() != nil {
		return fmt.Errorf("media: %s: %w", s.pending.path, ctx.Err())
	} else if err == nil && log.errors == 0 {
		return nil
	} else if log.errors == 0 {
		reason = err.Error()
	}
	if o.asked() == "" {
		return badOutput("media: %s: can't be written: ffmpeg says %s", s.pending.path, reason)
	}
	return &optionError{fmt.Sprintf("media: %s: can't be written with %s: ffmpeg says %s", s.pending.path, o.asked(), reason)}
}

// rawInput returns ffmpeg's arguments for the incoming frames.
func rawInput(f Format, deep *highDepthFrames) []string {
	pixels := "rgb0"
	if f.channels() == 4 {
		pixels = "rgba"
	}
	if deep != nil {
		pixels = deep.name()
	}
	return []string{"-f", "rawvideo", "-pix_fmt", pixels, "-s", fmt.Sprintf("%dx%d", f.Width, f.Height),
		"-r", f.rate().String(), "-i", "pipe:0"}
}

// rawBytes returns the size of an incoming frame.
func rawBytes(f Format, deep *highDepthFrames) int {
	if deep != nil {
		return 6 * f.Height * f.Width
	}
	return 4 * f.Height * f.Width
}

// odd reports an odd size, which 4:2:0 does not support.
func odd(f Format) bool { return f.Height%2 != 0 || f.Width%2 != 0 }

// isRGBName matches pixel formats that need no conversion to YUV.
var isRGBName = regexp.MustCompile(`^(x2|0)?(rgb|bgr|gbr|argb|abgr)`)

// containers are ffmpeg's names for the supported containers.
var containers = map[string]string{".mp4": "mp4", ".mov": "mov", ".mkv": "matroska", ".webm": "webm"}

// animations are the arguments for formats without sound, whose colours are RGB and need
// no tags. WebP is lossless. Each frame of a GIF has its own palette, because a common
// one would need all frames in memory first.
var animations = map[string][]string{
	".gif":  {"-vf", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1", "-c:v", "gif", "-loop", "0", "-f", "gif"},
	".webp": {"-pix_fmt", "bgra", "-c:v", "libwebp_anim", "-lossless", "1", "-loop", "0", "-f", "webp"},
}

// encodeArgs converts to BT.709 in limited range, for Motion JPEG to BT.601, and tags the
// file: on the frames, which is all that ffmpeg 7.1 and newer read, and by options, which
// versions before 4.4 need. 4:2:0 does not support odd sizes: such frames keep their size
// and get full chroma.
func encodeArgs(ext, output string, f Format, o CreateOptions) []string {
	if args := animations[ext]; args != nil {
		return append(args[:len(args):len(args)], "file:"+output)
	}
	pixels, codec := "yuv420p", "libx264"
	if odd(f) {
		pixels = "yuv444p"
	}
	if ext == ".webm" {
		codec = "libvpx-vp9"
	}
	pixels, codec = cmp.Or(o.PixelFormat, pixels), cmp.Or(o.Codec, codec)
	matrix, frames, span := "bt709", "bt709", "tv"
	if strings.HasPrefix(pixels, "yuvj") {
		span = "pc"
	}
	scaled := matrix
	if codec == "mjpeg" { // all readers take it as BT.601
		scaled, matrix, frames = "bt601", "bt470bg", "bt470bg"
	}
	filter := "scale=flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp:out_color_matrix=" + scaled + ":out_range=" + span
	if deep := highDepthFor(pixels); deep != nil { // the frames already have the matrix
		filter = strings.Replace("setparams=range=tv:colorspace=bt709,"+filter, "scale=", "scale=in_color_matrix=bt709:in_range=tv:", 1)
	}
	if isRGBName.MatchString(pixels) {
		filter, matrix, frames, span = "null", "rgb", "gbr", "pc" // one matrix under two names
	}
	filter += fmt.Sprintf(",setparams=range=%s:colorspace=%s:color_primaries=bt709:color_trc=bt709", span, frames)
	if f.Aspect.Known() {
		filter += fmt.Sprintf(",setsar=%d/%d", f.Aspect.Num, f.Aspect.Den)
	}
	args := []string{"-vf", filter, "-pix_fmt", pixels,
		"-colorspace", matrix, "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", span, "-c:v", codec}
	crf := o.CRF
	switch codec {
	case "libvpx-vp9":
		crf = cmp.Or(crf, "18")
		args = append(args, "-b:v", "0", "-deadline", "good", "-cpu-used", "4", "-row-mt", "1")
	case "libx264", "libx264rgb":
		crf = cmp.Or(crf, "16")
	}
	if crf != "" {
		args = append(args, "-crf", crf)
	}
	if ext == ".mp4" || ext == ".mov" {
		args = append(args, "-movflags", "+faststart")
	}
	return append(args, "-f", containers[ext], "file:"+output)
}

func (s *ffmpegSink) needsFloat() bool { return s.deep != nil }

// frame waits for ffmpeg if the pipe breaks, to report why.
func (s *ffmpegSink) frame(t int, floats []float32, raw []byte) error {
	if s.deep != nil {
		if s.raw == nil {
			s.raw = make([]byte, 2*len(floats))
		}
		raw = s.raw
		s.deep.pack(raw, floats)
	}
	if _, err := s.pipe.Write(raw); err != nil {
		if werr := s.wait(); werr != nil {
			return werr
		}
		return fmt.Errorf("media: %s: frame %d: ffmpeg stopped early: %w", s.pending.path, t, err)
	}
	return nil
}

// wait closes the input and waits for ffmpeg to end. On a full disk ffmpeg 5.1 writes
// .mkv and .webm with a message only and exit status 0, so a message also counts as a
// failure.
func (s *ffmpegSink) wait() error {
	s.waited = true
	s.pipe.Close()
	err := s.cmd.Wait()
	s.stop()
	s.silence()
	switch {
	case s.ctx.Err() != nil:
		err = s.ctx.Err()
	case s.log.errors > 0:
		err = fmt.Errorf("ffmpeg: %s", s.log.reason("file:"+s.pending.temp))
	case err != nil:
		err = fmt.Errorf("ffmpeg: %w", err)
	default:
		return nil
	}
	return fmt.Errorf("media: %s: cannot write: %w", s.pending.path, err)
}

// silence releases the sound.
func (s *ffmpegSink) silence() {
	if s.sound != nil {
		s.sound.close()
		s.sound = nil
	}
}

func (s *ffmpegSink) commit() error {
	if err := s.wait(); err != nil {
		s.pending.abort()
		return err
	}
	return s.pending.commit()
}

func (s *ffmpegSink) abort() error {
	if !s.waited {
		s.waited = true
		s.stop()
		s.pipe.Close()
		s.cmd.Wait() // killed, so its error means nothing
		s.silence()
	}
	return s.pending.abort()
}

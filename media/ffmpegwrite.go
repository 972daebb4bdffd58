//go:build !js

package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// ffmpegSink pipes frames into an ffmpeg that writes the temporary file.
type ffmpegSink struct {
	ctx     context.Context
	stop    context.CancelFunc
	pending *pending
	cmd     *exec.Cmd
	log     *ffmpegLog
	pipe    io.WriteCloser
	waited  bool
}

func createFFmpeg(ctx context.Context, path string, f Format) (backend, error) {
	p, err := createPending(path, 0)
	if err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(ctx)
	s := &ffmpegSink{ctx: ctx, stop: stop, pending: p}
	if err := s.start(run, encodeArgs(extension(path), p.temp, f)); err != nil {
		stop()
		p.abort()
		return nil, fmt.Errorf("media: %s: %w", path, err)
	}
	return s, nil
}

func (s *ffmpegSink) start(ctx context.Context, args []string) (err error) {
	if s.cmd, s.log, err = ffmpegCommand(ctx, "ffmpeg", args...); err != nil {
		return err
	}
	if s.pipe, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	return s.cmd.Start()
}

// encodeArgs converts to BT.709 in limited range and says so in the file.
// 4:2:0 has no odd sizes: such frames keep their size and full chroma instead.
func encodeArgs(ext, output string, f Format) []string {
	pixels := "yuv420p"
	if f.Height%2 != 0 || f.Width%2 != 0 {
		pixels = "yuv444p"
	}
	args := []string{"-v", "error", "-nostdin", "-y",
		"-f", "rawvideo", "-pix_fmt", "rgb0", "-s", fmt.Sprintf("%dx%d", f.Width, f.Height),
		"-r", f.rate().String(), "-i", "pipe:0",
		"-vf", "scale=flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp:out_color_matrix=bt709:out_range=tv",
		"-pix_fmt", pixels,
		"-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"}
	if ext == ".webm" {
		args = append(args, "-c:v", "libvpx-vp9", "-crf", "18", "-b:v", "0",
			"-deadline", "good", "-cpu-used", "4", "-row-mt", "1")
	} else {
		args = append(args, "-c:v", "libx264", "-crf", "16")
	}
	switch ext {
	case ".mp4":
		args = append(args, "-movflags", "+faststart", "-f", "mp4")
	case ".mov":
		args = append(args, "-movflags", "+faststart", "-f", "mov")
	case ".mkv":
		args = append(args, "-f", "matroska")
	case ".webm":
		args = append(args, "-f", "webm")
	}
	return append(args, "file:"+output)
}

func (s *ffmpegSink) needsFloat() bool { return false }

// frame waits for ffmpeg when the pipe breaks, to tell why.
func (s *ffmpegSink) frame(t int, _ []float32, rgba []byte) error {
	if _, err := s.pipe.Write(rgba); err != nil {
		if werr := s.wait(); werr != nil {
			return werr
		}
		return fmt.Errorf("media: %s: frame %d: ffmpeg stopped early: %w", s.pending.path, t, err)
	}
	return nil
}

// wait ends the input and waits for ffmpeg to finish. ffmpeg 5.1 writes .mkv
// and .webm to a full disk with no more than a message and success as its exit
// status, so a message alone is a failure too.
func (s *ffmpegSink) wait() error {
	s.waited = true
	s.pipe.Close()
	err := s.cmd.Wait()
	if err == nil && s.log.last() != "" {
		err = errors.New("failed") // its words follow
	}
	err = s.log.failure(s.ctx, err, "file:"+s.pending.temp)
	s.stop()
	if err == nil {
		return nil
	}
	return fmt.Errorf("media: %s: cannot write: %w", s.pending.path, err)
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
		s.cmd.Wait() // killed: its error says nothing
	}
	return s.pending.abort()
}

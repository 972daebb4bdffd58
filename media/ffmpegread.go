//go:build !js

package media

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// spoolClip is a clip that ffmpeg decoded into a temporary file, since tiled
// encoding reads every frame several times. The file is a row of PPM pictures
// of one size: PPM carries the size itself, after any rotation the file asks
// for.
type spoolClip struct {
	path    string
	spool   *os.File
	picture ppmHeader
	frames  int
	fps     Rational
	buffer  []byte
}

// ffprobeStream is what ffprobe says of a video stream.
type ffprobeStream struct {
	ColorSpace   string `json:"color_space"`
	AvgFrameRate string `json:"avg_frame_rate"`
	RFrameRate   string `json:"r_frame_rate"`
}

func openFFmpeg(ctx context.Context, path string) (Clip, error) {
	stream, err := probe(ctx, path)
	if err != nil {
		return nil, err
	}
	spool, err := os.CreateTemp("", "tessera-frames-*")
	if err != nil {
		return nil, fmt.Errorf("media: %s: room for decoded frames: %w", path, err)
	}
	c := &spoolClip{path: path, spool: spool, fps: stream.rate()}
	if err := c.decode(ctx, stream); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// probe finds the first video stream. Only local files are opened, whatever a
// playlist may name.
func probe(ctx context.Context, path string) (s ffprobeStream, err error) {
	cmd, log, err := ffmpegCommand(ctx, "ffprobe", "-v", "error", "-protocol_whitelist", "file",
		"-select_streams", "v:0", "-show_streams", "-of", "json", "file:"+path)
	if err != nil {
		return s, fmt.Errorf("media: %s: %w", path, err)
	}
	out, err := cmd.Output()
	if err := log.failure(ctx, err, "file:"+path); err != nil {
		return s, readFailure(ctx, path, err)
	}
	var found struct{ Streams []ffprobeStream }
	if err := json.Unmarshal(out, &found); err != nil {
		return s, fmt.Errorf("media: %s: ffprobe's answer: %w", path, err)
	}
	if len(found.Streams) == 0 {
		return s, badInputf(path, "holds no video")
	}
	return found.Streams[0], nil
}

// readFailure blames the file, unless the run was stopped.
func readFailure(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("media: %s: %w", path, err)
	}
	return badInput(path, err)
}

// rate prefers the average: with a varying rate it gives the right duration.
func (s ffprobeStream) rate() Rational {
	for _, text := range []string{s.AvgFrameRate, s.RFrameRate} {
		if r, err := ParseRational(text); err == nil {
			return r
		}
	}
	return Rational{}
}

// decodeArgs makes every frame of the first video stream a PPM on stdout, once
// and in order. Frames are renumbered at the output's own rate, so none is
// dropped or doubled whatever their times are. A stream that does not name its
// matrix is taken as BT.709, where ffmpeg alone would take BT.601.
//
// Deeper video is rounded to 8 bits: the 16-bit RGB that ffmpeg 5.1's scaler
// makes of 10-bit YUV is 0.7 levels of 255 too dark on average and up to 1.3
// off, worse than the 0.5 of rounding.
func (s ffprobeStream) decodeArgs(path string) []string {
	scale := "scale=flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"
	if s.ColorSpace == "" || s.ColorSpace == "unknown" {
		scale += ":in_color_matrix=bt709"
	}
	return []string{"-v", "error", "-nostdin", "-protocol_whitelist", "file,pipe", "-i", "file:" + path,
		"-map", "0:v:0", "-vf", "settb=1/25,setpts=N," + scale, "-r", "25",
		"-pix_fmt", "rgb24", "-c:v", "ppm", "-f", "image2pipe", "pipe:1"}
}

// decode fills the spool and counts the frames.
func (c *spoolClip) decode(ctx context.Context, s ffprobeStream) error {
	cmd, log, err := ffmpegCommand(ctx, "ffmpeg", s.decodeArgs(c.path)...)
	if err != nil {
		return fmt.Errorf("media: %s: %w", c.path, err)
	}
	spool := &spoolWriter{file: c.spool}
	cmd.Stdout = spool
	err = cmd.Run()
	if spool.err != nil {
		return fmt.Errorf("media: %s: decoded frames, %d bytes so far, into %s: %w",
			c.path, spool.size, os.TempDir(), spool.err)
	}
	if err := log.failure(ctx, err, "file:"+c.path); err != nil {
		return readFailure(ctx, c.path, err)
	}
	if spool.size == 0 {
		if words := log.last(); words != "" {
			return badInputf(c.path, "no video frames; ffmpeg: %s", words)
		}
		return badInputf(c.path, "no video frames")
	}
	if c.picture, err = readPPMHeader(io.NewSectionReader(c.spool, 0, spool.size)); err != nil {
		return fmt.Errorf("media: %s: ffmpeg's frames: %w", c.path, err)
	}
	size := int64(c.picture.size())
	if spool.size%size != 0 {
		return badInputf(c.path, "%d bytes of decoded frames are not a multiple of %d", spool.size, size)
	}
	c.frames = int(spool.size / size)
	c.buffer = make([]byte, c.picture.size())
	return nil
}

// spoolWriter keeps the error that ffmpeg would only report as a broken pipe.
type spoolWriter struct {
	file *os.File
	size int64
	err  error
}

func (w *spoolWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.size += int64(n)
	if err != nil {
		w.err = err
	}
	return n, err
}

func (c *spoolClip) Frames() int               { return c.frames }
func (c *spoolClip) Size() (height, width int) { return c.picture.height, c.picture.width }
func (c *spoolClip) FPS() Rational             { return c.fps }

func (c *spoolClip) Close() error {
	return errors.Join(c.spool.Close(), os.Remove(c.spool.Name()))
}

func (c *spoolClip) ReadFrame(t int, dst []float32) error {
	checkRead(c, t, dst)
	if _, err := c.spool.ReadAt(c.buffer, int64(t)*int64(len(c.buffer))); err != nil {
		return fmt.Errorf("media: %s: frame %d: %w", c.path, t, err)
	}
	h, err := readPPMHeader(bytes.NewReader(c.buffer))
	if err != nil || h != c.picture {
		return badInputf(c.path, "frame %d: %d x %d, expected %d x %d as the first",
			t, h.width, h.height, c.picture.width, c.picture.height)
	}
	bytesRow(dst, c.buffer[h.length:], 3, [3]int{0, 1, 2})
	return nil
}

// ppmHeader is what stands before the pixels of a PPM picture.
type ppmHeader struct {
	height, width int
	length        int // of the header, in bytes
}

// size of the whole picture.
func (h ppmHeader) size() int { return h.length + h.height*h.width*3 }

// readPPMHeader reads the form that ffmpeg writes: three lines, no comments.
func readPPMHeader(r io.Reader) (h ppmHeader, err error) {
	var text [3]string
	lines := bufio.NewReaderSize(r, 64)
	for i := range text {
		if text[i], err = lines.ReadString('\n'); err != nil {
			return h, fmt.Errorf("PPM header: %w", err)
		}
		h.length += len(text[i])
	}
	_, err = fmt.Sscanf(strings.Join(text[:], ""), "P6\n%d %d\n255\n", &h.width, &h.height)
	if err != nil {
		return h, fmt.Errorf("PPM header %.60q: %w", strings.Join(text[:], ""), err)
	}
	return h, checkSize(h.height, h.width)
}

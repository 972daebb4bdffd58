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
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tessera/latent"
)

// spoolClip is a clip that ffmpeg decoded into a temporary file, since tiled
// encoding reads every frame several times. The file is a row of PPM pictures
// of one size, or of PAM ones where there is alpha: these carry the size
// themselves, after any rotation the file asks for.
type spoolClip struct {
	path     string
	spool    *os.File
	channels int
	picture  pnmHeader
	frames   int
	fps      latent.Rational
	buffer   []byte
}

// ffprobeStream is what ffprobe says of a video stream.
type ffprobeStream struct {
	CodecName    string `json:"codec_name"`
	ColorSpace   string `json:"color_space"`
	AvgFrameRate string `json:"avg_frame_rate"`
	RFrameRate   string `json:"r_frame_rate"`
	CodecType    string `json:"codec_type"`
	Count        string `json:"nb_frames"` // what the container says, if anything
	FieldOrder   string `json:"field_order"`
	Height       int
	Width        int
	Tags         struct {
		AlphaMode string `json:"alpha_mode"`
	}
	SideData []struct {
		Rotation float64
	} `json:"side_data_list"`

	still   bool // a picture, whose rate says nothing
	literal bool // the reader would take %03d for a number
	format  string
	seconds float64  // of the file, 0 where unknown
	others  []string // codecs of the other streams
}

func openFFmpeg(ctx context.Context, path string, channels int, o OpenOptions) (Clip, error) {
	stream, err := probe(ctx, path)
	if err != nil {
		return nil, err
	}
	spool, err := os.CreateTemp("", "tessera-frames-*")
	if err != nil {
		return nil, fmt.Errorf("media: %s: room for decoded frames: %w", path, err)
	}
	c := &spoolClip{path: path, spool: spool, channels: channels, fps: stream.rate()}
	if err := c.decode(ctx, stream, o); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// probe finds the first video stream.
func probe(ctx context.Context, path string) (s ffprobeStream, err error) {
	out, log, err := ffprobeRun(ctx, path, "-show_streams", "-show_format", "-of", "json")
	if err != nil {
		if m := notOneFile.FindStringSubmatch(string(log)); m != nil {
			return s, badInputf(path, "is of the format %s, which may name other files; expected one that holds its frames itself", m[1])
		}
		return s, err
	}
	var found struct {
		Streams []ffprobeStream
		Format  struct {
			Name     string `json:"format_name"`
			Duration string
		}
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return s, fmt.Errorf("media: %s: ffprobe's answer: %w", path, err)
	}
	at := slices.IndexFunc(found.Streams, func(s ffprobeStream) bool { return s.CodecType == "video" })
	if at < 0 {
		return s, badInputf(path, "holds no video")
	}
	s = found.Streams[at]
	s.format = found.Format.Name
	s.literal = s.format == "image2"
	s.still = s.literal || strings.HasSuffix(s.format, "_pipe")
	s.seconds, _ = strconv.ParseFloat(found.Format.Duration, 64)
	for _, other := range found.Streams {
		if other.CodecName != "" && other.CodecName != s.CodecName {
			s.others = append(s.others, other.CodecName)
		}
	}
	return s, nil
}

// notOneFile is how ffmpeg says that a format is not in oneFile.
var notOneFile = regexp.MustCompile(`\[(\S+) @ [^]]*\] Format not on whitelist`)

// ffprobeRun returns what ffprobe answers, and the end of what it says besides. A
// name with %03d in it is a name. ffprobe before 5.0 refuses the option for that
// where the format doesn't have it, and can then do without.
func ffprobeRun(ctx context.Context, path string, args ...string) (out, said []byte, err error) {
	for _, literal := range []bool{strings.Contains(path, "%"), false} {
		var cmd *exec.Cmd
		var log *ffmpegLog
		all := append([]string{"-v", "error"}, args...)
		if cmd, log, err = ffmpegCommand(ctx, "ffprobe", append(all, inputArgs(path, literal)...)...); err != nil {
			return nil, nil, fmt.Errorf("media: %s: %w", path, err)
		}
		out, err = cmd.Output()
		said = log.tail
		if err = log.failure(ctx, err, "file:"+path); err == nil {
			return out, said, nil
		}
		err = readFailure(ctx, path, err)
		if !literal || !strings.Contains(log.last(), "pattern_type") {
			break
		}
	}
	return nil, said, err
}

// readFailure blames the file, unless the run was stopped.
func readFailure(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("media: %s: %w", path, err)
	}
	return badInput(path, err)
}

// rate prefers the average: with a varying rate it gives the right duration.
func (s ffprobeStream) rate() latent.Rational {
	if s.still {
		return latent.Rational{}
	}
	for _, text := range []string{s.AvgFrameRate, s.RFrameRate} {
		if r, err := latent.ParseRational(text); err == nil {
			return r
		}
	}
	return latent.Rational{}
}

// decodeArgs makes every frame of the first video stream a PPM or PAM on stdout,
// once and in order. Frames are numbered and passed through, so that none is
// dropped or doubled whatever their times are; the numbers begin again where the
// pixels change in mid-stream, as ffmpeg then makes a new filter. A stream that does not name its
// matrix is taken as BT.709, where ffmpeg alone would take BT.601.
//
// Deeper video is rounded to 8 bits: the 16-bit RGB that ffmpeg 5.1's scaler
// makes of 10-bit YUV is 0.7 levels of 255 too dark on average and up to 1.3
// off, worse than the 0.5 of rounding.
func (s ffprobeStream) decodeArgs(path string, channels int, passthrough string) []string {
	scale := "scale=flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"
	if s.ColorSpace == "" || s.ColorSpace == "unknown" {
		scale += ":in_color_matrix=bt709"
	}
	args := []string{"-v", "repeat+level+verbose", "-nostdin"}
	pixels, codec := "rgb24", "ppm"
	if channels == 4 {
		pixels, codec = "rgba", "pam"
		args = append(args, s.alphaDecoder()...)
	}
	args = append(args, inputArgs(path, s.literal)...)
	return append(args,
		"-map", "0:v:0", "-vf", "settb=1/25,setpts=N,"+scale, passthrough, "passthrough",
		"-pix_fmt", pixels, "-c:v", codec, "-f", "image2pipe", "pipe:1")
}

// alphaDecoder asks for the decoder that knows WebM's alpha: ffmpeg's own ones
// leave it out.
func (s ffprobeStream) alphaDecoder() []string {
	decoder := map[string]string{"vp8": "libvpx", "vp9": "libvpx-vp9"}[s.CodecName]
	if decoder == "" || s.Tags.AlphaMode != "1" {
		return nil
	}
	return []string{"-c:v", decoder}
}

// expected is how many frames there should be, in words.
func (s ffprobeStream) expected() string {
	if n, err := strconv.Atoi(s.Count); err == nil {
		return fmt.Sprintf(" of %d", n)
	}
	if n := math.Round(s.seconds * s.rate().Float()); n >= 1 && !s.still {
		return fmt.Sprintf(" of about %.0f", n)
	}
	return ""
}

// run fills the spool. It returns the error that ffmpeg ended with in what it
// said, unless that was no fault of the file.
func (c *spoolClip) run(ctx context.Context, s ffprobeStream) (*spoolWriter, *said, error) {
	for passthrough := "-fps_mode"; ; passthrough = "-vsync" { // before ffmpeg 5.1
		cmd, _, err := ffmpegCommand(ctx, "ffmpeg", s.decodeArgs(c.path, c.channels, passthrough)...)
		if err != nil {
			return nil, nil, fmt.Errorf("media: %s: %w", c.path, err)
		}
		spool, log := &spoolWriter{file: c.spool}, &said{format: s.format, others: s.others}
		cmd.Stdout, cmd.Stderr = spool, log
		err = cmd.Run()
		switch {
		case spool.err != nil:
			return nil, nil, fmt.Errorf("media: %s: decoded frames, %d bytes so far, into %s: %w",
				c.path, spool.size, os.TempDir(), spool.err)
		case ctx.Err() != nil:
			return nil, nil, fmt.Errorf("media: %s: %w", c.path, ctx.Err())
		case err != nil && passthrough == "-fps_mode" && strings.Contains(log.first, "'fps_mode'"):
			continue
		case err != nil && log.errors == 0:
			log.errors, log.first = 1, err.Error()
		}
		return spool, log, nil
	}
}

// decode fills the spool and counts the frames.
func (c *spoolClip) decode(ctx context.Context, s ffprobeStream, o OpenOptions) error {
	spool, log, err := c.run(ctx, s)
	if err != nil {
		return err
	}
	if spool.size == 0 {
		if log.errors > 0 {
			return badInputf(c.path, "no video frames; ffmpeg: %s", log.reason("file:"+c.path))
		}
		return badInputf(c.path, "no video frames")
	}
	if c.picture, err = readPNMHeader(io.NewSectionReader(c.spool, 0, spool.size), c.channels); err != nil {
		return fmt.Errorf("media: %s: ffmpeg's frames: %w", c.path, err)
	}
	size := int64(c.picture.size())
	if spool.size%size != 0 && log.errors == 0 {
		return badInputf(c.path, "%d bytes of decoded frames are not a multiple of %d", spool.size, size)
	}
	c.frames = int(spool.size / size)
	c.buffer = make([]byte, c.picture.size())
	if log.size != log.changed {
		text := fmt.Sprintf("changes from %s to %s pixels in mid-stream; expected frames of one size", log.size, log.changed)
		if err := c.damaged(text, o); err != nil {
			return err
		}
	}
	if log.errors == 0 {
		return nil
	}
	return c.damaged(fmt.Sprintf("damaged: ffmpeg says %s; %d frames read%s",
		log.reason("file:"+c.path), c.frames, s.expected()), o)
}

// damaged refuses what was read, or warns of it where that was asked for.
func (c *spoolClip) damaged(text string, o OpenOptions) error {
	if !o.AcceptDamaged || c.frames == 0 {
		return badInput(c.path, &damagedError{text})
	}
	if o.Warn != nil {
		o.Warn(c.path + ": " + text)
	}
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
func (c *spoolClip) Channels() int             { return c.channels }
func (c *spoolClip) FPS() latent.Rational      { return c.fps }

func (c *spoolClip) Close() error {
	return errors.Join(c.spool.Close(), os.Remove(c.spool.Name()))
}

func (c *spoolClip) ReadFrame(t int, dst []float32) error {
	checkRead(c, t, dst)
	if _, err := c.spool.ReadAt(c.buffer, int64(t)*int64(len(c.buffer))); err != nil {
		return fmt.Errorf("media: %s: frame %d: %w", c.path, t, err)
	}
	h, err := readPNMHeader(bytes.NewReader(c.buffer), c.channels)
	if err != nil || h != c.picture {
		return badInputf(c.path, "frame %d: %d x %d, expected %d x %d as the first",
			t, h.width, h.height, c.picture.width, c.picture.height)
	}
	bytesRow(dst, c.channels, c.buffer[h.length:], c.channels, [4]int{0, 1, 2, 3})
	return nil
}

// pnmHeader is what stands before the pixels of a PPM or PAM picture.
type pnmHeader struct {
	height, width int
	channels      int
	length        int // of the header, in bytes
}

// size of the whole picture.
func (h pnmHeader) size() int { return h.length + h.height*h.width*h.channels }

// readPNMHeader reads the forms that ffmpeg writes, without comments: PPM for 3
// channels, PAM for 4.
func readPNMHeader(r io.Reader, channels int) (h pnmHeader, err error) {
	form, rows := "P6\n%d %d\n255\n", 3
	if channels == 4 {
		form, rows = "P7\nWIDTH %d\nHEIGHT %d\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n", 7
	}
	h.channels = channels
	var text strings.Builder
	lines := bufio.NewReaderSize(r, 128)
	for range rows {
		line, err := lines.ReadString('\n')
		if err != nil {
			return h, fmt.Errorf("picture header: %w", err)
		}
		text.WriteString(line)
	}
	h.length = text.Len()
	if _, err = fmt.Sscanf(text.String(), form, &h.width, &h.height); err != nil {
		return h, fmt.Errorf("picture header %.100q: %w", text.String(), err)
	}
	return h, checkSize(h.height, h.width)
}

//go:build !js

package media

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"tessera/latent"
)

// recentFrames is how many frames before the next one a videoClip keeps in memory: as
// many as an encoder goes back at the end of a clip, to mirror it.
const recentFrames = 4

// videoClip is a clip that ffmpeg decodes while it is read. It is made for reading in
// order. Going back further than recentFrames starts again, or reads the spool if frames
// are kept. ffmpeg writes a sequence of PPM pictures of one size, or PAM pictures if
// there is alpha; these contain the size after any rotation that the file asks for.
type videoClip struct {
	ctx         context.Context
	path        string
	stream      ffprobeStream
	options     OpenOptions
	passthrough string // ffmpeg's option to pass every frame once
	channels    int
	picture     pnmHeader
	frames      int
	fps         latent.Rational

	run    *pictureRun // nil if none runs
	next   int         // next frame of run
	recent [recentFrames][]byte
	spool  *spool // nil if frames are not kept
}

// openFFmpeg first decodes the whole video without storing it, to find damage before any
// work and to count the frames.
func openFFmpeg(ctx context.Context, path string, channels int, o OpenOptions) (Clip, error) {
	stream, err := probe(ctx, path, o.Track)
	if err != nil {
		return nil, err
	}
	if o.ToneMap && stream.hdr() != "" {
		if err := canToneMap(ctx); err != nil {
			return nil, fmt.Errorf("media: %s: %w", path, err)
		}
	}
	c := &videoClip{ctx: ctx, path: path, stream: stream, options: o, channels: channels}
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := c.first(); err != nil {
		c.Close()
		return nil, err
	}
	told := stream.remarks(channels, o)
	stream.lost(c.frames, &told)
	c.fps = stream.timing(ctx, path, c.frames, &told)
	told.tell(path, o)
	return c, nil
}

// toneMapped sets the colours of a frame, [H,W,channels], to those of an HDR picture, as
// stored.
func toneMapped(ctx context.Context, path string, frame []float32, channels int) error {
	stream, err := probe(ctx, path, 0)
	if err != nil {
		return err
	}
	stream.stored, stream.SideData = true, nil
	c := &videoClip{ctx: ctx, path: path, stream: stream, options: OpenOptions{ToneMap: true}, channels: 3}
	defer c.end()
	if err := c.check(); err != nil {
		return err
	}
	if err := c.first(); err != nil {
		return err
	}
	if n := c.picture.height * c.picture.width; n != len(frame)/channels {
		return badInputf(path, "has %d pixels now, had %d when opened", n, len(frame)/channels)
	}
	for i, v := range c.recent[0] {
		frame[i/3*channels+i%3] = byteFloat(v)
	}
	return nil
}

// args makes ffmpeg decode every frame of the video stream, once and in order. It numbers
// the frames and passes them through, so that none is dropped or doubled, whatever their
// times. The numbers restart where the pixels change in mid-stream, because ffmpeg then
// creates a new filter.
func (c *videoClip) args(filter string, output ...string) []string {
	args := []string{"-v", "repeat+level+verbose", "-nostdin", "-nostats"}
	if c.channels == 4 {
		args = append(args, c.stream.alphaDecoder()...)
	}
	filter = turnFilter(c.stream.upright) + c.stream.mirror + "settb=1/25,setpts=N" + filter
	if c.stream.upright > 0 || c.stream.mirror != "" || c.stream.grid != nil || c.stream.stored {
		args = append(args, "-noautorotate") // otherwise newer ffmpeg rotates it as well
	}
	args = append(args, inputArgs(c.path, c.stream.literal)...)
	if c.stream.grid != nil {
		args = append(args, "-filter_complex", c.stream.grid.filter()+","+filter+"[whole]", "-map", "[whole]")
	} else {
		args = append(args, "-map", fmt.Sprintf("0:%d", c.stream.Index), "-vf", filter)
	}
	return append(append(args, c.passthrough, "passthrough"), output...)
}

// check decodes the video without output and counts the frames. It returns ffmpeg's
// error, unless the file is not the cause.
func (c *videoClip) check() error {
	for _, c.passthrough = range []string{"-fps_mode", "-vsync"} { // the latter before ffmpeg 5.1
		cmd, _, err := ffmpegCommand(c.ctx, "ffmpeg",
			c.args("", "-c:v", "wrapped_avframe", "-progress", "pipe:1", "-f", "null", "-")...)
		if err != nil {
			return fmt.Errorf("media: %s: %w", c.path, err)
		}
		count, log := &frameCounter{}, &decodeLog{format: c.stream.format, others: c.stream.others}
		cmd.Stdout, cmd.Stderr = count, log
		err = cmd.Run()
		switch {
		case c.ctx.Err() != nil:
			return fmt.Errorf("media: %s: %w", c.path, c.ctx.Err())
		case err != nil && c.passthrough == "-fps_mode" && strings.Contains(log.first, "'fps_mode'"):
			continue
		case err != nil && log.errors == 0:
			log.errors, log.first = 1, err.Error()
		}
		c.frames = count.frames
		return c.judge(log)
	}
	panic("media: unreachable")
}

// judge refuses a damaged video, unless damage is accepted.
func (c *videoClip) judge(log *decodeLog) error {
	if c.frames == 0 {
		if log.errors > 0 {
			return badInputf(c.path, "no video frames; ffmpeg: %s", log.reason("file:"+c.path))
		}
		return badInputf(c.path, "no video frames")
	}
	if log.size != log.changed {
		text := fmt.Sprintf("changes from %s to %s pixels in mid-stream; expected frames of one size", log.size, log.changed)
		if err := c.damaged(text); err != nil {
			return err
		}
	}
	if log.errors == 0 {
		missing, err := truncation(c.path, c.stream.format)
		if err != nil || missing == "" {
			return err
		}
		return c.damaged(fmt.Sprintf("damaged: it %s; %d frames read%s", missing, c.frames, c.stream.expected()))
	}
	return c.damaged(fmt.Sprintf("damaged: ffmpeg says %s; %d frames read%s",
		log.reason("file:"+c.path), c.frames, c.stream.expected()))
}

// damaged refuses the video, or warns if damage is accepted.
func (c *videoClip) damaged(text string) error {
	if !c.options.AcceptDamaged {
		return badInput(c.path, &damagedError{text})
	}
	c.options.warn(c.path + ": " + text)
	return nil
}

// frameCounter finds the last frame number in ffmpeg's progress messages.
type frameCounter struct {
	frames int
	line   []byte
}

func (f *frameCounter) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			f.line = append(f.line, b)
			continue
		}
		if text, ok := strings.CutPrefix(string(f.line), "frame="); ok {
			f.frames, _ = strconv.Atoi(strings.TrimSpace(text))
		}
		f.line = f.line[:0]
	}
	return len(p), nil
}

// first reads the first frame, which gives the size.
func (c *videoClip) first() error {
	if err := c.begin(); err != nil {
		return err
	}
	header, err := readPNMHeader(c.run.frames, c.channels)
	if err != nil {
		return c.short(err)
	}
	c.picture = header
	for i := range c.recent {
		c.recent[i] = make([]byte, header.height*header.width*c.channels)
	}
	return c.pixels()
}

// pictureRun is a running ffmpeg that decodes.
type pictureRun struct {
	stop   context.CancelFunc
	cmd    *exec.Cmd
	log    *decodeLog
	frames *bufio.Reader
}

// begin starts ffmpeg at the first frame.
func (c *videoClip) begin() error {
	c.end()
	pixels, codec := "rgb24", "ppm"
	if c.channels == 4 {
		pixels, codec = "rgba", "pam"
	}
	ctx, stop := context.WithCancel(c.ctx)
	cmd, _, err := ffmpegCommand(ctx, "ffmpeg",
		c.args(","+c.stream.filter(c.options), "-pix_fmt", pixels, "-c:v", codec, "-f", "image2pipe", "pipe:1")...)
	if err != nil {
		stop()
		return fmt.Errorf("media: %s: %w", c.path, err)
	}
	log := &decodeLog{format: c.stream.format, others: c.stream.others}
	cmd.Stderr = log
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return fmt.Errorf("media: %s: ffmpeg: %w", c.path, err)
	}
	c.run, c.next = &pictureRun{stop, cmd, log, bufio.NewReaderSize(pipe, 1<<16)}, 0
	return nil
}

// end stops ffmpeg, which may be blocked on its output.
func (c *videoClip) end() {
	if c.run != nil {
		c.run.stop()
		c.run.cmd.Wait() // killed, so its error means nothing
		c.run = nil
	}
}

// pixels reads the pixels of frame next, whose header was read.
func (c *videoClip) pixels() error {
	pix := c.recent[c.next%recentFrames]
	if _, err := io.ReadFull(c.run.frames, pix); err != nil {
		return c.short(err)
	}
	c.next++
	if c.spool == nil {
		return nil
	}
	if err := c.spool.add(pix); err != nil {
		return fmt.Errorf("media: %s: %w", c.path, err)
	}
	return nil
}

// short explains why an existing frame is missing now.
func (c *videoClip) short(err error) error {
	if cerr := c.ctx.Err(); cerr != nil {
		return fmt.Errorf("media: %s: %w", c.path, cerr)
	}
	c.run.cmd.Wait() // waits for the last messages
	reason := err.Error()
	if c.run.log.errors > 0 {
		reason = "ffmpeg says " + c.run.log.reason("file:"+c.path)
	}
	c.end()
	return badInputf(c.path, "frame %d of %d can't be read: %s", c.next, c.frames, reason)
}

// forward reads frames up to t.
func (c *videoClip) forward(t int) error {
	if c.run == nil || t < c.next-recentFrames {
		if c.spool != nil && c.spool.frames > 0 {
			return badInputf(c.path, "frame %d of %d can't be read any more", t, c.frames)
		}
		if err := c.begin(); err != nil {
			return err
		}
	}
	for c.next <= t {
		h, err := readPNMHeader(c.run.frames, c.channels)
		if err != nil {
			return c.short(err)
		}
		if h != c.picture {
			return badInputf(c.path, "frame %d: %d x %d, expected %d x %d as the first",
				c.next, h.width, h.height, c.picture.width, c.picture.height)
		}
		if err := c.pixels(); err != nil {
			return err
		}
	}
	return nil
}

func (c *videoClip) Frames() int               { return c.frames }
func (c *videoClip) Size() (height, width int) { return c.picture.height, c.picture.width }
func (c *videoClip) Channels() int             { return c.channels }
func (c *videoClip) FPS() latent.Rational      { return c.fps }
func (c *videoClip) Aspect() latent.Rational   { return c.stream.aspect() }

func (c *videoClip) Close() error {
	c.end()
	if c.spool == nil {
		return nil
	}
	return c.spool.close()
}

func (c *videoClip) ReadFrame(t int, dst []float32) error {
	checkRead(c, t, dst)
	pix := c.recent[t%recentFrames]
	if c.spool != nil && t < c.spool.frames {
		if err := c.spool.read(t, pix); err != nil {
			return fmt.Errorf("media: %s: frame %d: %w", c.path, t, err)
		}
	} else if err := c.forward(t); err != nil {
		return err
	}
	bytesRow(dst, c.channels, pix, c.channels, [4]int{0, 1, 2, 3})
	return nil
}

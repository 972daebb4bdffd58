//go:build !js

package media

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Summary is what Inspect tells of a video.
type Summary struct {
	Format
	// About says that Frames is an estimate.
	About bool
	// Damage is what ffmpeg finds wrong with the file, in one line; "" for
	// nothing, which is no promise that its pictures are whole.
	Damage string
}

// Inspect tells of a video what can be told without decoding a picture of it:
// what ffmpeg reads has its headers read, and its packets counted. It returns the
// errors that Open does, where they show that early.
func Inspect(ctx context.Context, path string) (Summary, error) {
	clip, err := openOwn(path, 4)
	if err != nil {
		return Summary{}, err
	}
	if clip == nil {
		return inspectFFmpeg(ctx, path)
	}
	defer clip.Close()
	h, w := clip.Size()
	return Summary{Format: Format{Height: h, Width: w, Frames: clip.Frames(), FPS: clip.FPS()}}, nil
}

func inspectFFmpeg(ctx context.Context, path string) (Summary, error) {
	s, err := probe(ctx, path)
	if err != nil {
		return Summary{}, err
	}
	h, w := s.size()
	if err := checkSize(h, w); err != nil {
		return Summary{}, badInput(path, err)
	}
	packets, log := &packetCounter{}, &said{format: s.format, others: s.others}
	cmd, _, err := ffmpegCommand(ctx, "ffprobe", append([]string{"-v", "repeat+level+error",
		"-select_streams", "v:0", "-show_entries", "packet=flags", "-of", "csv=p=0"}, inputArgs(path, s.literal)...)...)
	if err != nil {
		return Summary{}, fmt.Errorf("media: %s: %w", path, err)
	}
	cmd.Stdout, cmd.Stderr = packets, log
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return Summary{}, fmt.Errorf("media: %s: %w", path, ctx.Err())
		}
		if log.errors == 0 {
			log.errors, log.first = 1, err.Error()
		}
	}
	sum := Summary{Format: Format{Height: h, Width: w, Frames: packets.shown, FPS: s.rate()}, About: s.packetsDiffer()}
	if log.errors > 0 {
		sum.About, sum.Damage = true, "ffmpeg says "+log.reason("file:"+path)
	}
	if sum.Frames == 0 {
		return Summary{}, badInputf(path, "no video frames%s", strings.TrimSuffix("; "+sum.Damage, "; "))
	}
	return sum, nil
}

// size is that of the pictures as they are shown: turned, where the file asks
// for that.
func (s ffprobeStream) size() (height, width int) {
	for _, d := range s.SideData {
		if math.Mod(math.Abs(d.Rotation), 180) == 90 {
			return s.Width, s.Height
		}
	}
	return s.Height, s.Width
}

// packetsDiffer tells of video that may have more packets than frames, or fewer:
// VP8 with frames that are never shown, MPEG-4 with two in one, and fields.
func (s ffprobeStream) packetsDiffer() bool {
	return slices.Contains([]string{"vp8", "mpeg4"}, s.CodecName) ||
		!slices.Contains([]string{"", "unknown", "progressive"}, s.FieldOrder)
}

// packetCounter counts lines, without those of packets that are decoded only for
// the sake of others: a D among their flags.
type packetCounter struct {
	shown int
	line  []byte
}

func (c *packetCounter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		c.line = append(c.line, line...)
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if flags := strings.TrimSpace(string(c.line)); flags != "" && !strings.Contains(flags, "D") {
			c.shown++
		}
		c.line = c.line[:0]
	}
	return len(p), nil
}

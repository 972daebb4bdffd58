//go:build !js

package media

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tessera/format"
	"tessera/latent"
)

// Summary is what Inspect tells of a video.
type Summary struct {
	Format
	// About says that Frames is an estimate.
	About bool
	// Damage is what ffmpeg finds wrong with the file, in one line; "" for
	// nothing, which is no promise that its pictures are whole.
	Damage string
	// Warnings are what Open would lose or guess, Notes what it would take to be
	// so, each in one line.
	Warnings, Notes []string
}

// Inspect tells of a video what can be told without decoding a picture of it:
// what ffmpeg reads has its headers read, and its packets counted. It returns the
// errors that Open does, where they show that early.
func Inspect(ctx context.Context, path string) (Summary, error) {
	var told remarks
	clip, err := openOwn(ctx, path, 4, OpenOptions{
		headers: true,
		latents: true,
		Warn:    func(text string) { told.warn("%s", strings.TrimPrefix(text, path+": ")) },
		Note:    func(text string) { told.note("%s", strings.TrimPrefix(text, path+": ")) },
	})
	if err != nil {
		return Summary{}, err
	}
	if clip == nil {
		return inspectFFmpeg(ctx, path)
	}
	defer clip.Close()
	return Summary{Format: formatOf(clip), Warnings: told.warnings, Notes: told.notes}, nil
}

// InspectFile is Inspect of an open file of tensors, which stays open.
func InspectFile(f format.File) (Summary, error) {
	a, err := tensorArray(f, framesPicker())
	if err != nil {
		return Summary{}, badInput(f.Name(), err)
	}
	clip, err := floatsOf(a, f.Name(), 4, true)
	if err != nil {
		return Summary{}, err
	}
	return Summary{Format: formatOf(clip)}, nil
}

func formatOf(clip Clip) Format {
	h, w := clip.Size()
	return Format{Height: h, Width: w, Frames: clip.Frames(), FPS: clip.FPS(), Aspect: AspectOf(clip)}
}

func inspectFFmpeg(ctx context.Context, path string) (Summary, error) {
	s, err := probe(ctx, path, 0)
	if err != nil {
		return Summary{}, err
	}
	h, w := s.size()
	if err := checkSize(h, w); err != nil {
		return Summary{}, badInput(path, err)
	}
	packets, log, err := s.packets(ctx, path)
	if err != nil {
		return Summary{}, err
	}
	sum := Summary{Format: Format{Height: h, Width: w, Frames: packets.shown, FPS: s.rateBy(packets), Aspect: s.aspect()}, About: s.packetsDiffer()}
	if log.errors > 0 {
		sum.About, sum.Damage = true, "ffmpeg says "+log.reason("file:"+path)
	}
	if sum.Frames == 0 {
		return Summary{}, badInputf(path, "no video frames%s", strings.TrimSuffix("; "+sum.Damage, "; "))
	}
	told := s.remarks(4, OpenOptions{})
	if s.alpha() {
		told.note("has transparency")
	}
	s.varying(packets, &told)
	sum.Warnings, sum.Notes = told.warnings, told.notes
	return sum, nil
}

// packets reads those of the stream, without decoding them.
func (s ffprobeStream) packets(ctx context.Context, path string) (*packetCounter, *decodeLog, error) {
	packets, log := &packetCounter{}, &decodeLog{format: s.format, others: s.others}
	cmd, _, err := ffmpegCommand(ctx, "ffprobe", append([]string{"-v", "repeat+level+error",
		"-select_streams", strconv.Itoa(s.Index), "-show_entries", "packet=pts_time,duration_time,flags", "-of", "csv=p=0"}, inputArgs(path, s.literal)...)...)
	if err != nil {
		return nil, nil, fmt.Errorf("media: %s: %w", path, err)
	}
	cmd.Stdout, cmd.Stderr = packets, log
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("media: %s: %w", path, ctx.Err())
		}
		if log.errors == 0 {
			log.errors, log.first = 1, err.Error()
		}
	}
	return packets, log, nil
}

// timing finds the rate of a video of which so many frames were decoded, and remarks on
// one that varies.
func (s ffprobeStream) timing(ctx context.Context, path string, frames int, r *remarks) latent.Rational {
	if s.still {
		return latent.Rational{}
	}
	shown, err := s.shown(ctx, path)
	if err != nil || shown.shown != frames {
		return s.rate()
	}
	s.varying(shown, r)
	return s.rateBy(shown)
}

// shown reads when frames are shown: by their packets, or where these differ from them,
// or don't tell, by decoding them once more.
func (s ffprobeStream) shown(ctx context.Context, path string) (*packetCounter, error) {
	if !s.packetsDiffer() && s.format != "avi" {
		packets, _, err := s.packets(ctx, path)
		return packets, err
	}
	out, _, err := ffprobeRun(ctx, path, "-select_streams", strconv.Itoa(s.Index),
		"-show_entries", "frame=best_effort_timestamp_time,pkt_duration_time,duration_time", "-of", "csv=p=0")
	frames := &packetCounter{decoded: true}
	for line := range strings.Lines(string(out)) {
		if line = strings.Trim(line, ",\r\n"); line != "" { // as side data leaves one
			at, length, _ := strings.Cut(line, ",")
			frames.packet([]string{at, length, ""})
		}
	}
	return frames, err
}

// joined is how many seconds there may be between two frames in a row, and how far back
// times may go, in formats that are joined of pieces with times of their own.
const joined = 2.0

// timed tells whether the times of packets say when frames are shown: they are not known
// of every frame in every format, and may begin again. It puts them in order.
func (s ffprobeStream) timed(p *packetCounter) bool {
	if len(p.times) != p.shown || p.shown < 3 || s.packetsDiffer() && !p.decoded || !s.rate().Known() {
		return false
	}
	slices.Sort(p.times)
	least, most := gaps(p.times)
	if slices.Contains([]string{"mpegts", "mpeg"}, s.format) && max(most, p.back) > joined {
		return false
	}
	return least > 0
}

// rateBy is the rate with which the frames last as long as in the file. Headers may
// tell another: Matroska has the distance of two frames there, which is not that of
// all.
func (s ffprobeStream) rateBy(p *packetCounter) latent.Rational {
	told := s.rate()
	if !s.timed(p) {
		return told
	}
	frames, first, last := float64(p.shown), p.times[0], p.times[p.shown-1]
	least, most := gaps(p.times)
	end := last + (last-first)/(frames-1)
	switch matroska := strings.HasPrefix(s.format, "matroska"); { // which gives no frame a length of its own
	case !matroska && p.last > 0:
		end = last + p.last
	case matroska && uneven(least, most):
		end = max(end, min(s.end, last+most))
	}
	const rounded = 0.001 // seconds, to which some formats round times
	length := end - first
	if math.Abs(length-frames/told.Float()) < max(rounded, 0.5/told.Float()) {
		return told
	}
	return simplest(frames/(length+rounded), frames/max(length-rounded, length/2))
}

// varying remarks on frames that are not evenly apart.
func (s ffprobeStream) varying(p *packetCounter, r *remarks) {
	if !s.timed(p) {
		return
	}
	if text := unevenText(p.times, s.rateBy(p)); text != "" {
		r.warn("%s", text)
	}
}

// size is that of the pictures as they are shown: turned, where the file asks
// for that.
func (s ffprobeStream) size() (height, width int) {
	if s.turned() {
		return s.Width, s.Height
	}
	return s.Height, s.Width
}

// packetsDiffer tells of video that may have more packets than frames, or fewer:
// VP8 with frames that are never shown, MPEG-4 with two in one, and fields.
func (s ffprobeStream) packetsDiffer() bool {
	return slices.Contains([]string{"vp8", "mpeg4"}, s.CodecName) ||
		!slices.Contains([]string{"", "unknown", "progressive"}, s.FieldOrder)
}

// packetCounter counts lines, a time, a length and flags, without those of packets
// that are decoded only for the sake of others: a D among their flags.
type packetCounter struct {
	decoded bool // they are frames
	shown   int
	times   []float64 // seconds, of those that have one
	lastAt  float64   // the latest of them
	last    float64   // how long that frame lasts, 0 where unknown
	back    float64   // how far one is before an earlier one, at most
	line    []byte
}

func (c *packetCounter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		c.line = append(c.line, line...)
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		c.packet(strings.Split(strings.TrimSpace(string(c.line)), ","))
		c.line = c.line[:0]
	}
	return len(p), nil
}

func (c *packetCounter) packet(fields []string) {
	if len(fields) < 3 || strings.Contains(fields[2], "D") {
		return
	}
	c.shown++
	t, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return
	}
	if len(c.times) == 0 || t > c.lastAt {
		c.lastAt = t
		c.last, _ = strconv.ParseFloat(fields[1], 64)
	}
	c.back = max(c.back, c.lastAt-t)
	c.times = append(c.times, t)
}

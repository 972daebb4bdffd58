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

// Summary describes a video.
type Summary struct {
	Format
	// About means that Frames is an estimate.
	About bool
	// Damage is ffmpeg's finding about the file, in one line; "" does not prove that its
	// pictures are whole.
	Damage string
	// Warnings are what Open would lose or guess, Notes what it would assume, each in one
	// line.
	Warnings, Notes []string
}

// Inspect describes a video without decoding pictures: it reads headers, and for ffmpeg's
// formats counts packets. It returns Open's errors as far as they show that early.
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

// InspectFile is Inspect for an open file of tensors, which stays open.
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

// packets reads the stream's packets, without decoding them.
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

// timing finds the rate of a video from the number of decoded frames, and remarks on a
// varying one.
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

// shown reads the display times of frames: from their packets or, if these are unusable,
// by decoding the frames again.
func (s ffprobeStream) shown(ctx context.Context, path string) (*packetCounter, error) {
	if !s.packetsDiffer() && s.format != "avi" {
		packets, _, err := s.packets(ctx, path)
		return packets, err
	}
	out, _, err := ffprobeRun(ctx, path, "-select_streams", strconv.Itoa(s.Index),
		"-show_entries", "frame=best_effort_timestamp_time,pkt_duration_time,duration_time", "-of", "csv=p=0")
	frames := &packetCounter{decoded: true}
	for line := range strings.Lines(string(out)) {
		if line = strings.Trim(line, ",\r\n"); line != "" { // side data leaves empty lines
			at, length, _ := strings.Cut(line, ",")
			frames.packet([]string{at, length, ""})
		}
	}
	return frames, err
}

// joined is the largest gap between consecutive frames, in seconds, and the furthest that
// times may go back, in formats that are joined from pieces with separate clocks.
const joined = 2.0

// timed reports whether the packets' times say when frames are shown: some formats lack
// some times, or restart them. It sorts them.
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

// rateBy returns the rate that keeps the file's duration. Headers may state another rate:
// Matroska's has the distance of two frames, which need not be that of all.
func (s ffprobeStream) rateBy(p *packetCounter) latent.Rational {
	told := s.rate()
	if !s.timed(p) {
		return told
	}
	frames, first, last := float64(p.shown), p.times[0], p.times[p.shown-1]
	least, most := gaps(p.times)
	end := last + (last-first)/(frames-1)
	switch matroska := strings.HasPrefix(s.format, "matroska"); { // it stores no duration per frame
	case !matroska && p.last > 0:
		end = last + p.last
	case matroska && uneven(least, most):
		end = max(end, min(s.end, last+most))
	}
	const rounded = 0.001 // seconds; some formats round times to this
	length := end - first
	if math.Abs(length-frames/told.Float()) < max(rounded, 0.5/told.Float()) {
		return told
	}
	return simplest(frames/(length+rounded), frames/max(length-rounded, length/2))
}

// varying remarks on frames with uneven distances.
func (s ffprobeStream) varying(p *packetCounter, r *remarks) {
	if !s.timed(p) {
		return
	}
	if text := unevenText(p.times, s.rateBy(p)); text != "" {
		r.warn("%s", text)
	}
}

// size returns the pictures' displayed size: rotated if the file asks for that.
func (s ffprobeStream) size() (height, width int) {
	if s.turned() {
		return s.Width, s.Height
	}
	return s.Height, s.Width
}

// packetsDiffer reports whether the numbers of packets and frames may differ: VP8 has
// frames that are never shown, MPEG-4 may have two in one packet, and fields are separate
// packets.
func (s ffprobeStream) packetsDiffer() bool {
	return slices.Contains([]string{"vp8", "mpeg4"}, s.CodecName) ||
		!slices.Contains([]string{"", "unknown", "progressive"}, s.FieldOrder)
}

// packetCounter counts lines of time, length and flags. It skips packets that are only
// decoded for the sake of others, with a D among their flags.
type packetCounter struct {
	decoded bool // the lines are frames
	shown   int
	times   []float64 // seconds, of those that have one
	lastAt  float64   // the latest time
	last    float64   // duration of that frame, 0 if unknown
	back    float64   // largest step back in time
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

//go:build !js

package media

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tessera/format/file"
	"tessera/latent"
)

// ffprobeStream is ffprobe's description of a video stream.
type ffprobeStream struct {
	Index        int
	CodecName    string `json:"codec_name"`
	ColorSpace   string `json:"color_space"`
	Primaries    string `json:"color_primaries"`
	Transfer     string `json:"color_transfer"`
	PixelFormat  string `json:"pix_fmt"`
	Aspect       string `json:"sample_aspect_ratio"`
	AvgFrameRate string `json:"avg_frame_rate"`
	RFrameRate   string `json:"r_frame_rate"`
	CodecType    string `json:"codec_type"`
	Count        string `json:"nb_frames"` // as the container states it, if at all
	FieldOrder   string `json:"field_order"`
	Start        string `json:"start_time"`
	Duration     string
	Height       int
	Width        int
	Tags         struct {
		AlphaMode string `json:"alpha_mode"`
		Duration  string `json:"DURATION"`
	}
	SideData []struct {
		Rotation float64
	} `json:"side_data_list"`
	Disposition struct { // 1 means true
		Default     int
		AttachedPic int `json:"attached_pic"`
		Thumbnails  int `json:"timed_thumbnails"`
		Still       int `json:"still_image"`
		Dependent   int // part of a picture
	}

	still   bool // a picture, whose rate means nothing
	literal bool // the reader treats %03d as a number
	format  string
	seconds float64  // of the file, 0 if unknown
	end     float64  // of the file, by its clock, 0 if unknown
	others  []string // codecs of the other streams
	choice  string   // remark about the other video streams

	grid    *tileGrid // the grid that the stream is a tile of
	stored  bool      // do not rotate the picture
	mirror  string    // filter that mirrors the picture after rotation, "" for none
	apart   bool      // transparency is in another stream
	upright int       // quarters, counterclockwise, to rotate a picture that ffmpeg does not rotate
}

// probed is ffprobe's description of a file.
type probed struct {
	sequence bool // the file is mainly a clip of pictures
	track    int  // requested video track, 0 for the one that a player would show
	Streams  []ffprobeStream
	Chapters []struct{}
	Format   struct {
		Name     string `json:"format_name"`
		Start    string `json:"start_time"`
		Duration string
		Tags     map[string]string
	}
}

// probe finds the track-th video stream, or with 0 the one that a player would show.
func probe(ctx context.Context, path string, track int) (s ffprobeStream, err error) {
	found, err := probeAll(ctx, path)
	if err != nil {
		return s, err
	}
	at, err := found.video(track)
	if err != nil {
		return s, badInput(path, err)
	}
	s = found.Streams[at]
	if track == 0 {
		s.choice = found.choice(at)
	}
	s.format = found.Format.Name
	s.literal = s.format == "image2"
	s.still = s.literal || strings.HasSuffix(s.format, "_pipe") || s.isCover()
	s.seconds, _ = strconv.ParseFloat(found.Format.Duration, 64)
	if start, err := strconv.ParseFloat(found.Format.Start, 64); err == nil && s.seconds > 0 {
		s.end = start + s.seconds
	}
	for _, other := range found.Streams {
		if other.CodecName != "" && other.CodecName != s.CodecName {
			s.others = append(s.others, other.CodecName)
		}
	}
	if heifKind(path) != "" {
		return s, s.heif(ctx, path, slices.ContainsFunc(found.Streams, ffprobeStream.isTile))
	}
	if s.CodecName == "png" && s.still {
		s.colours(pictureFileColours(path))
	}
	return s, nil
}

// first returns the first stream of a kind, -1 without one.
func (p *probed) first(kind string) int {
	return slices.IndexFunc(p.Streams, func(s ffprobeStream) bool { return s.CodecType == kind })
}

// probeAll lists the streams.
func probeAll(ctx context.Context, path string) (found probed, err error) {
	if _, err := file.Look(path); err != nil {
		return found, badInput(path, err) // opening a pipe without a writer would block
	}
	out, log, err := ffprobeRun(ctx, path, "-show_streams", "-show_format", "-show_chapters", "-of", "json")
	if err != nil {
		if m := notOneFile.FindStringSubmatch(string(log)); m != nil {
			return found, badInputf(path, "is of the format %s, which may name other files; expected one that holds its frames itself", m[1])
		}
		if kind := heifKind(path); kind != "" && errors.Is(err, ErrInput) {
			return found, badInputf(path, "is a picture in %s, which this ffmpeg doesn't read (7.1 and newer do); expected a PNG or JPEG of it, such as heif-convert makes", kind)
		}
		return found, err
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return found, fmt.Errorf("media: %s: ffprobe's answer: %w", path, err)
	}
	found.sequence = isSequence(path)
	return found, nil
}

// notOneFile matches ffmpeg's message that a format is not in oneFile.
var notOneFile = regexp.MustCompile(`\[(\S+) @ [^]]*\] Format not on whitelist`)

// ffprobeRun returns ffprobe's output and the end of its messages. It disables %03d in
// names. ffprobe before 5.0 refuses the option for formats that do not have it, and does
// not need it then.
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

// readFailure makes an error about the file, unless the run was stopped.
func readFailure(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("media: %s: %w", path, err)
	}
	return badInput(path, err)
}

// rate returns the headers' rate. It prefers the average, which gives the right duration
// if the rate varies, provided that the headers know it.
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

// alphaDecoder selects the decoder that reads WebM's alpha, which ffmpeg's own decoders
// ignore.
func (s ffprobeStream) alphaDecoder() []string {
	decoder := map[string]string{"vp8": "libvpx", "vp9": "libvpx-vp9"}[s.CodecName]
	if decoder == "" || s.Tags.AlphaMode != "1" {
		return nil
	}
	return []string{"-c:v", decoder}
}

// expected returns the expected number of frames, in words.
func (s ffprobeStream) expected() string {
	if n, err := strconv.Atoi(s.Count); err == nil {
		return fmt.Sprintf(" of %d", n)
	}
	if n := math.Round(s.seconds * s.rate().Float()); n >= 1 && !s.still {
		return fmt.Sprintf(" of about %.0f", n)
	}
	return ""
}

// lost remarks on frames of an .avi that its header counts but ffmpeg did not find:
// ffmpeg silently skips chunks that it does not know. This is not an error, because the
// header also counts frames that a camera dropped.
func (s ffprobeStream) lost(frames int, r *remarks) {
	if n, err := strconv.Atoi(s.Count); err == nil && s.format == "avi" && n > frames {
		r.warn("its header counts %d frames, of which %d were found: the others were dropped or are damaged", n, frames)
	}
}

//go:build !js

package media

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"tessera/temporary"
)

// sound is a file's sound, extracted before frames are written, so that a fault in it
// does not end their writing.
type sound struct {
	file  *os.File
	named bool
}

// soundCodecs are the codecs that a container stores unchanged; Matroska accepts any.
var soundCodecs = map[string][]string{
	".mp4":  {"aac", "mp3", "ac3", "eac3", "alac", "opus"},
	".mov":  {"aac", "mp3", "ac3", "eac3", "alac", "pcm_s16le", "pcm_s24le", "pcm_s16be", "pcm_s24be"},
	".webm": {"opus", "vorbis"},
}

// takeSound extracts the sound track that players play, for the first seconds of the
// video, in a form for the container. If this is not possible it returns nil and warns.
// It does not warn about inputs without sound, or that need no ffmpeg, unless the sound
// was requested.
func takeSound(ctx context.Context, path, ext string, seconds float64, o CreateOptions) (*sound, error) {
	from, err := probeAll(ctx, o.Sound)
	if err != nil {
		return nil, err
	}
	if o.Sound == o.From {
		from.track = o.Track
	}
	at, number, tracks := from.sound()
	if at < 0 {
		if o.SoundAsked {
			return nil, badInputf(o.Sound, "holds no sound")
		}
		return nil, nil
	}
	codec := from.Streams[at].CodecName
	if tracks > 1 {
		which := "the first"
		if number > 1 {
			which = fmt.Sprintf("the default one, track %d", number)
		}
		o.warn(fmt.Sprintf("%s: has %d sound tracks: %s gets %s", o.Sound, tracks, path, which))
	}
	how := []string{"-c:a", "copy", "-copypriorss", "0"}
	if takes := soundCodecs[ext]; takes != nil && !slices.Contains(takes, codec) {
		encoder := "aac"
		how = []string{"-c:a", encoder, "-b:a", "192k", "-af", "apad"}
		if ext == ".webm" {
			encoder = "opus"
			how = []string{"-c:a", "libopus", "-b:a", "160k", "-af", "apad"}
		}
		o.warn(fmt.Sprintf("%s: its sound, %s, is re-encoded as %s, because %s does not support it", o.Sound, codec, encoder, ext))
	}
	switch end, known := from.soundEnd(at); {
	case known && end < seconds-0.1:
		o.warn(fmt.Sprintf("%s: its sound ends after %.1f s: the rest of %s, %.1f s, is silent", o.Sound, max(0, end), path, seconds-max(0, end)))
	case known && end > seconds+0.1 && !o.SoundAsked: // if requested, it is cut
		o.warn(fmt.Sprintf("%s: its sound lasts %.1f s longer than its frames: %s gets the first %.1f s", o.Sound, end-seconds, path, seconds))
	}
	s, damage, err := newSound(ctx, from, at, o.Sound, ext, seconds, how)
	if damage != "" {
		o.warn(fmt.Sprintf("%s: its sound is damaged: ffmpeg says %s; %s gets what could be read", o.Sound, damage, path))
	}
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	o.warn(fmt.Sprintf("%s: its sound is not copied to %s: %v", o.Sound, path, err))
	return nil, nil
}

// sound returns the index of the sound track that players play, -1 for none: the first
// marked as default, else the first. It is track number of tracks.
func (p *probed) sound() (at, number, tracks int) {
	at = -1
	for i, s := range p.Streams {
		if s.CodecType != "audio" {
			continue
		}
		tracks++
		if at < 0 || s.Disposition.Default == 1 && p.Streams[at].Disposition.Default == 0 {
			at, number = i, tracks
		}
	}
	return at, number, tracks
}

// newSound extracts the stream at index at with ffmpeg. damage is ffmpeg's message if
// only part of the sound could be read.
func newSound(ctx context.Context, from probed, at int, path, ext string, seconds float64, how []string) (s *sound, damage string, err error) {
	f, err := temporary.Create(os.TempDir(), "tessera-sound", 0o600)
	if err != nil {
		return nil, "", err
	}
	s = &sound{file: f, named: true}
	args := []string{"-v", "repeat+level+error", "-nostdin", "-y"}
	if late := from.videoDelay(); late > 0 {
		args = append(args, "-ss", strconv.FormatFloat(late, 'f', 6, 64))
	}
	args = append(args, inputArgs(path, false)...)
	args = append(args, "-map", fmt.Sprintf("0:%d", from.Streams[at].Index), "-map_metadata", "-1", "-t", strconv.FormatFloat(seconds, 'f', 6, 64))
	args = append(append(args, how...), "-f", containers[ext])
	if ext == ".mp4" || ext == ".mov" {
		args = append(args, "-movflags", "+faststart") // ffmpeg reads it from a pipe
	}
	cmd, _, err := ffmpegCommand(ctx, "ffmpeg", append(args, "file:"+f.Name())...)
	if err != nil {
		return nil, "", errors.Join(err, s.close())
	}
	log := &decodeLog{}
	cmd.Stderr = log
	err = cmd.Run()
	info, serr := f.Stat()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && log.errors > 0:
		err = fmt.Errorf("ffmpeg says %s", log.reason("file:"+path))
	case err == nil && (serr != nil || info.Size() == 0):
		err = errors.New("ffmpeg produced no sound")
	}
	if err != nil {
		s.close()
		return nil, "", err
	}
	if log.errors > 0 {
		damage = log.reason("file:" + path)
	}
	s.named = os.Remove(f.Name()) != nil // if the system cannot remove the name of an open file
	return s, damage, nil
}

// videoDelay returns how many seconds after the file's start its video starts.
func (p *probed) videoDelay() float64 {
	at, err := p.video(p.track)
	if err != nil {
		return 0
	}
	start, err := strconv.ParseFloat(p.Format.Start, 64)
	video, verr := strconv.ParseFloat(p.Streams[at].Start, 64)
	if err != nil || verr != nil || video-start < 1e-3 {
		return 0
	}
	return video - start
}

// soundEnd returns how long after the start of the video the sound of stream at ends.
func (p *probed) soundEnd(at int) (seconds float64, known bool) {
	s := p.Streams[at]
	length, err := strconv.ParseFloat(s.Duration, 64)
	if err != nil { // Matroska stores it as a tag, 00:00:01.500000000
		var hours, minutes int
		if n, _ := fmt.Sscanf(s.Tags.Duration, "%d:%d:%f", &hours, &minutes, &length); n != 3 {
			return 0, false
		}
		length += 3600*float64(hours) + 60*float64(minutes) // this is the end, not the length
		return length - p.videoDelay(), true
	}
	start, err := strconv.ParseFloat(s.Start, 64)
	first, ferr := strconv.ParseFloat(p.Format.Start, 64)
	if err == nil && ferr == nil {
		length += start - first
	}
	return length - p.videoDelay(), true
}

// input returns ffmpeg's name for the sound in a command that is about to start.
func (s *sound) input(cmd *exec.Cmd) string {
	if s.named {
		return "file:" + s.file.Name()
	}
	cmd.ExtraFiles = []*os.File{s.file}
	return "pipe:3"
}

func (s *sound) close() error {
	err := s.file.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}

// HasSound reports whether ffmpeg finds a sound track in a file.
func HasSound(ctx context.Context, path string) bool {
	if soundless(path) {
		return false
	}
	from, err := probeAll(ctx, path)
	return err == nil && from.first("audio") >= 0
}

// isVideoFile reports whether an output may have sound, isAnimation whether ffmpeg writes
// it without sound.
func isVideoFile(path string) bool { return containers[extension(path)] != "" && !isFolder(path) }
func isAnimation(path string) bool { return animations[extension(path)] != nil && !isFolder(path) }

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// soundless reports whether an input's name shows that it has no sound.
func soundless(path string) bool {
	return isFolder(path) || slices.Contains(strings.Fields(".png .jpg .jpeg .webp .y4m .npy .safetensors"), extension(path))
}

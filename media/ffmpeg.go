//go:build !js

package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// HaveFFmpeg reports whether ffmpeg and ffprobe are installed.
func HaveFFmpeg() bool {
	_, err1 := exec.LookPath("ffmpeg")
	_, err2 := exec.LookPath("ffprobe")
	return err1 == nil && err2 == nil
}

// ffmpegCommand prepares a run of ffmpeg or ffprobe in a separate process group: Ctrl-C
// then reaches only this program, which stops ffmpeg in order. ffmpeg's messages go to
// the log.
func ffmpegCommand(ctx context.Context, tool string, args ...string) (*exec.Cmd, *ffmpegLog, error) {
	program, err := exec.LookPath(tool)
	if err != nil {
		return nil, nil, fmt.Errorf("needs %s, which isn't installed or not on the PATH; "+
			"PNG, .y4m, .npy and .safetensors work without it", tool)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	log := &ffmpegLog{}
	cmd.Stderr = log
	cmd.WaitDelay = 5 * time.Second
	newProcessGroup(cmd)
	return cmd, log, nil
}

// ffmpegLog keeps the end of ffmpeg's messages.
type ffmpegLog struct{ tail []byte }

func (l *ffmpegLog) Write(p []byte) (int, error) {
	const keep = 4096
	l.tail = append(l.tail, p...)
	if n := len(l.tail); n > keep {
		l.tail = append(l.tail[:0], l.tail[n-keep:]...)
	}
	return len(p), nil
}

// last returns the last line with a message.
func (l *ffmpegLog) last() string {
	line, _ := l.lastTwo()
	return line
}

// lastTwo returns the last two lines with messages, the very last first.
func (l *ffmpegLog) lastTwo() (last, before string) {
	lines := bytes.FieldsFunc(l.tail, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, raw := range slices.Backward(lines) {
		switch line := strings.TrimSpace(string(raw)); {
		case line == "" || line == "Conversion failed!" || strings.HasPrefix(line, "Last message repeated"):
		case last == "":
			last = line
		default:
			return last, line
		}
	}
	return last, ""
}

// speaker matches the source of a message: "[mov,mp4,m4a,3gp,3g2,mj2 @ 0x55] ".
var speaker = regexp.MustCompile(`^\[[^]]* @ [^]]*\] `)

// failure returns the error of a run: the context's if it was stopped, else ffmpeg's
// message if there is one, else its exit status. It removes the name that ffmpeg has for
// the file, which may be temporary.
func (l *ffmpegLog) failure(ctx context.Context, err error, name string) error {
	if err == nil {
		return nil
	}
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	last, before := l.lastTwo()
	words := strings.TrimPrefix(last, name+": ")
	if why := speaker.ReplaceAllString(before, ""); why != before && words == "Invalid data found when processing input" {
		words += fmt.Sprintf(" (%.160q)", why) // such as "moov atom not found"
	}
	words = strings.ReplaceAll(words, name, "the file")
	if words == "" {
		return fmt.Errorf("ffmpeg: %w", err)
	}
	return errors.New("ffmpeg: " + words)
}

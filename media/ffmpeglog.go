//go:build !js

package media

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// decodeLog reads ffmpeg's messages while it decodes, in the form of -v
// repeat+level+verbose. Only messages report a truncated file or broken pictures; the
// exit status is then still 0.
type decodeLog struct {
	format string   // the container's reader
	others []string // codecs of the unused streams

	line      []byte
	errors    int    // lines
	first     string // first of these lines
	container string // the first line about the container, which says more than the codec's

	size, changed string // of the first pictures that entered the filter, and of the last different ones
}

// logLine matches "[h264 @ 0x55] [error] text"; newer ffmpeg has several contexts.
var logLine = regexp.MustCompile(`^((?:\[[^]]* @ [^]]*\] )*)\[(\w+)\] (.*)$`)

// harmless are messages at error level that affect no frame.
var harmless = []string{
	"mmco: unref short failure",           // H.264 drops a reference that it does not have
	"unable to decode APP fields",         // JPEG metadata
	"Referenced QT chapter track not",     // chapter titles
	"Missing key frame while searching",   // an edit list begins between key frames
	"Missing key frame while reordering",  // and is ignored
	"non monotonically increasing dts to", // times of this program's frames, which it numbers
}

func (s *decodeLog) Write(p []byte) (int, error) {
	for _, c := range p {
		if c == '\n' || c == '\r' {
			s.readLine(string(s.line))
			s.line = s.line[:0]
		} else if len(s.line) < 4096 {
			s.line = append(s.line, c)
		}
	}
	return len(p), nil
}

func (s *decodeLog) readLine(line string) {
	m := logLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	context, level, text := m[1], m[2], strings.TrimSpace(m[3])
	if in := filterInput.FindStringSubmatch(text); in != nil && strings.Contains(context, " input from stream ") {
		s.input(in[1] + "x" + in[2])
	}
	if level != "error" && level != "fatal" && level != "panic" || s.ignored(context, text) {
		return
	}
	s.errors++
	s.first = cmp.Or(s.first, text)
	if strings.Contains(context, s.format+" @ ") {
		s.container = cmp.Or(s.container, text)
	}
}

// filterInput matches ffmpeg's message when it creates a filter: at first, and whenever
// the size or pixel format of the pictures changes. ffmpeg scales all pictures to the
// first size.
var filterInput = regexp.MustCompile(`^w:(\d+) h:(\d+) `)

func (s *decodeLog) input(size string) {
	if s.size == "" {
		s.size, s.changed = size, size
	}
	if size != s.size {
		s.changed = size
	}
}

// ignored reports whether an error affects no frame of the video. ffmpeg examines every
// stream while it opens a file, so it also reports errors of the sound.
func (s *decodeLog) ignored(context, text string) bool {
	if slices.ContainsFunc(harmless, func(h string) bool { return strings.Contains(text, h) }) {
		return true
	}
	name := strings.TrimPrefix(strings.TrimPrefix(context, "["), "lib")
	return slices.ContainsFunc(s.others, func(codec string) bool { return strings.HasPrefix(name, codec) })
}

// reason returns one message, shortened and quoted, and the number of further ones. file
// is ffmpeg's name for what it read.
func (s *decodeLog) reason(file string) string {
	text := strings.ReplaceAll(cmp.Or(s.container, s.first), file, "the file")
	if s.errors < 2 {
		return fmt.Sprintf("%.160q", text)
	}
	return fmt.Sprintf("%.160q and %d more", text, s.errors-1)
}

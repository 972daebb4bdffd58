//go:build !js

package media

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// decodeLog reads ffmpeg's messages while it decodes. Its exit status is 0 for a truncated
// file or broken pictures, which only messages report. It reads the lines of
// -v repeat+level+verbose.
type decodeLog struct {
	format string   // what reads the container
	others []string // codecs of the streams that are not asked for

	line      []byte
	errors    int    // lines
	first     string // of them
	container string // the first about the container, which tells more than those of the codec

	size, changed string // of the first pictures that went into the filter, and of the last that differed
}

// logLine is "[h264 @ 0x55] [error] text"; newer ffmpeg has several contexts.
var logLine = regexp.MustCompile(`^((?:\[[^]]* @ [^]]*\] )*)\[(\w+)\] (.*)$`)

// harmless are errors by name only: every frame is there and right.
var harmless = []string{
	"mmco: unref short failure",           // H.264 forgets a reference that it doesn't have
	"unable to decode APP fields",         // of JPEG: metadata
	"Referenced QT chapter track not",     // titles of chapters
	"Missing key frame while searching",   // an edit list begins between key frames,
	"Missing key frame while reordering",  // and is ignored
	"non monotonically increasing dts to", // times of our own frames, which we number ourselves
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

// filterInput is what ffmpeg says when it makes a filter: at first, and again
// where the size or the pixel format of the pictures changes. It scales them all
// to the first ones' size.
var filterInput = regexp.MustCompile(`^w:(\d+) h:(\d+) `)

func (s *decodeLog) input(size string) {
	if s.size == "" {
		s.size, s.changed = size, size
	}
	if size != s.size {
		s.changed = size
	}
}

// ignored tells of errors that harm no frame. ffmpeg looks into every stream
// while it opens a file, and complains of the sound too.
func (s *decodeLog) ignored(context, text string) bool {
	if slices.ContainsFunc(harmless, func(h string) bool { return strings.Contains(text, h) }) {
		return true
	}
	name := strings.TrimPrefix(strings.TrimPrefix(context, "["), "lib")
	return slices.ContainsFunc(s.others, func(codec string) bool { return strings.HasPrefix(name, codec) })
}

// reason is one line of what was said, cut and quoted, with how many more there
// are. file is ffmpeg's own name for what it read.
func (s *decodeLog) reason(file string) string {
	text := strings.ReplaceAll(cmp.Or(s.container, s.first), file, "the file")
	if s.errors < 2 {
		return fmt.Sprintf("%.160q", text)
	}
	return fmt.Sprintf("%.160q and %d more", text, s.errors-1)
}

// Package terminal prints what a command does: results on standard output; notes,
// warnings, errors and progress on standard error.
//
// A Terminal holds the choices of --json, --quiet and --progress, so commands do not check
// them: Say prints a line of the result for people and nothing with --json, Print prints it
// for machines, Note says what is being done, Warn what the user should see, Fail how the
// command failed. With --progress=json standard error contains only events, one line of
// JSON each, whose keys docs/reference/events.md explains.
//
// Stage shows the progress of one stage of a job: a bar on a terminal that can draw it, else
// a line every few seconds. Planning reports that a plan takes long.
//
// Refused and Usage make errors of the command line, and ExitCode is the program's exit
// code. Call replaces names of temporary files by the user's names. Terminal control
// characters are escaped everywhere.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"tessera/app/job"
	"tessera/format/known"
	"tessera/format/quote"
)

// Terminal prints a command's results and messages.
type Terminal struct {
	Stdout   io.Writer
	Stderr   io.Writer
	JSON     bool
	Lines    bool   // print JSON as one line each
	Verbose  bool   // print the source of errors, such as names of tensors
	Quiet    bool   // print only JSON results, warnings and errors
	Progress string // auto, bar, plain, json or none; "" is auto
	Streamed bool   // the command's output goes to standard output, so Stdout is standard error

	Prefix string // precedes notes and warnings about one clip of many
	Clip   string // that clip's name, for events

	Warnings []string // printed so far

	Args   []string          // of the command line; some are files
	called map[string]string // the user's names of temporary files
}

// ForClip returns a terminal for one clip of a batch. It keeps its warnings separately
// and prints no result.
func (t *Terminal) ForClip(name, prefix string) *Terminal {
	return &Terminal{
		Args:   t.Args,
		Stdout: &Outlet{Writer: io.Discard}, Stderr: t.Stderr, JSON: true, Quiet: t.Quiet, Progress: t.Progress,
		Prefix: prefix, Clip: name,
	}
}

// SideBySide prepares t for clips that run at the same time: their messages are whole
// lines, and lines take the place of progress bars.
func (t *Terminal) SideBySide() {
	t.Stderr = &shared{Writer: t.Stderr}
	if t.Progress == "" || t.Progress == "auto" || t.Progress == "bar" {
		t.Progress = "plain"
	}
}

// shared is a writer for several goroutines.
type shared struct {
	io.Writer
	mu sync.Mutex
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Writer.Write(b)
}

// Call makes all messages call file by another name.
func (t *Terminal) Call(file, name string) {
	if t.called == nil {
		t.called = map[string]string{}
	}
	t.called[file] = name
}

// Spoken replaces files in text by the names that Call set.
func (t *Terminal) Spoken(text string) string {
	for file, name := range t.called {
		text = strings.ReplaceAll(text, file, name)
	}
	return text
}

// Plain returns text for people: with the names that Call set, and without names of
// packages.
func (t *Terminal) Plain(text string) string {
	return quote.Message(job.Plain(t.Spoken(text), t.Args...))
}

// Say prints a line of the result for people.
func (t *Terminal) Say(format string, args ...any) {
	events := t.Progress == "json" && t.Streamed // then standard error has only events
	if !t.Quiet && !t.JSON && !events {
		fmt.Fprintln(t.Stdout, quote.Message(t.Spoken(fmt.Sprintf(format, args...))))
	}
}

// Note prints what is being done.
func (t *Terminal) Note(format string, args ...any) {
	text := t.Prefix + t.Plain(fmt.Sprintf(format, args...))
	switch {
	case t.Quiet:
	case t.Progress == "json":
		t.Event(Event{Event: "note", Text: strings.TrimPrefix(text, t.Prefix)})
	default:
		fmt.Fprintln(t.Stderr, text)
	}
}

// Warn prints a line that the user should see.
func (t *Terminal) Warn(format string, args ...any) {
	text := t.Plain(fmt.Sprintf(format, args...))
	t.Warnings = append(t.Warnings, text)
	if t.Progress == "json" {
		t.Event(Event{Event: "warning", Text: text})
		return
	}
	fmt.Fprintf(t.Stderr, "tessera: warning: %s%s\n", t.Prefix, text)
}

// Fail prints an error once.
func (t *Terminal) Fail(err error, code int) {
	if code == job.ExitInterrupted {
		err = errors.New("interrupted")
	}
	text := t.Plain(err.Error() + t.detail(err))
	if t.Progress == "json" {
		t.Event(Event{Event: "error", Error: text, Code: code})
	}
	if t.JSON && t.Print(struct {
		Error    string   `json:"error"`
		Code     int      `json:"exit_code"`
		Warnings []string `json:"warnings,omitempty"`
	}{text, code, t.Warnings}) == nil || t.Progress == "json" {
		return
	}
	fmt.Fprintf(t.Stderr, "tessera: %s\n", text)
	if u, ok := errors.AsType[*UsageError](err); ok {
		fmt.Fprint(t.Stderr, u.Hint)
	}
}

// detail returns a line with the source of an error, with --verbose.
func (t *Terminal) detail(err error) string {
	if text := known.Detail(err); t.Verbose && text != "" {
		return "\n" + text
	}
	return ""
}

// Outlet is standard output and remembers its first write error.
type Outlet struct {
	io.Writer
	Err error
}

func (o *Outlet) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.Err == nil && err != nil {
		o.Err = fmt.Errorf("standard output: %w", err)
	}
	return n, err
}

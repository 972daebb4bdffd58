// Package batch runs many clips, one after another, each as `tessera decode`, `encode` or
// `roundtrip` would: `tessera batch`.
//
// Start at Run, which takes the clips from Options: names and patterns, a manifest, or a
// stream of manifest lines. Run checks all clips before it runs the first one; a stream's
// clips start as they arrive. The result of each is an Outcome, a line of JSON on
// standard output. A failed clip does not stop the others; Run then returns an Error with
// the exit code.
//
// The caller's Parse makes a Command of a command line, and so defines the flags. Run
// downloads URLs before a clip and uploads them after it.
//
// A record beside each output, or in a separate folder, says what made the output. With
// Resume, Run skips a clip if its record has this input, checkpoint and flags, and the
// output exists.
package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/format/quote"
	"tessera/media"
)

// Options are the clips and their common settings.
type Options struct {
	Inputs    []string // files, patterns or URLs
	Manifest  string   // instead of Inputs: a file of clips, one JSON object per line; "-" reads a stream
	Output    string   // for clips that name none; {name} stands for the clip's name
	Model     string   // for clips that name none
	Op        string   // decode, encode, roundtrip, or auto: from the file names
	Shard     Shard
	Records   string // folder of the records; default beside each output
	Resume    bool
	NoClobber bool
	Flags     []string // of every clip, as on the command line
	Program   string   // version, for records

	Parse   func(args []string) (Command, error)
	Dropped func() // called after a clip that may have left the device in any state
}

// Command is a clip's command line, ready to run.
type Command interface {
	// Run runs the clip and prints to t. It may return a result together with an error.
	Run(ctx context.Context, t *terminal.Terminal) (*report.Result, error)
	// Sound returns the file that the sound comes from, "" for none or the input itself.
	Sound() string
	// Renames reports whether the output file gets another name than requested.
	Renames() bool
}

// run is one batch in progress.
type run struct {
	*terminal.Terminal
	Options
	ctx    context.Context
	hashes map[string]string // of checkpoints, by path

	all   int // number of clips, 0: unknown
	begun int
	count map[string]int // of clips by outcome
	codes map[int]int    // number of failures by exit code
}

// Outcomes of a clip.
const (
	Done, Skipped, Failed, Interrupted = "done", "skipped", "failed", "interrupted"
)

// Outcome is the JSON line that reports a clip.
type Outcome struct {
	Name    string            `json:"name"`
	Input   terminal.FileName `json:"input"`
	Output  terminal.FileName `json:"output"`
	Status  string            `json:"status"`
	Code    int               `json:"exit_code"`
	Seconds float64           `json:"seconds"`
	Error   string            `json:"error,omitempty"`
	Result  *report.Result    `json:"result,omitempty"`
}

// Error reports a batch in which clips failed.
type Error struct {
	error
	Code int
}

// Run runs the clips. It reads a stream's manifest from in.
func Run(ctx context.Context, t *terminal.Terminal, o Options, in io.Reader) error {
	t.Lines = true
	b := &run{Terminal: t, Options: o, ctx: ctx, hashes: map[string]string{}, count: map[string]int{}, codes: map[int]int{}}
	if o.Records != "" {
		if err := os.MkdirAll(o.Records, 0o777); err != nil {
			return fmt.Errorf("--records: %w", media.Lasting(err))
		}
	}
	if o.Manifest == files.Stream {
		if err := b.follow(in); err != nil {
			return err
		}
		return b.end()
	}
	clips, err := b.clips()
	if err != nil {
		return err
	}
	b.all = len(clips)
	for _, clip := range clips {
		if err := b.clip(clip); err != nil {
			return err
		}
	}
	return b.end()
}

// clip runs a clip and reports its outcome. An error ends the batch.
func (b *run) clip(c *Clip) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	start := time.Now()
	b.begun++
	r, skipped, err := b.work(c)
	o := Outcome{Name: c.Name, Input: terminal.FileName(shown(c.Input)), Output: terminal.FileName(shown(c.Output)), Status: Done, Seconds: time.Since(start).Seconds(), Result: r}
	if skipped {
		o.Status = Skipped
	}
	if err != nil {
		o.Status, o.Error, o.Code = Failed, b.Plain(err.Error()), terminal.ExitCode(b.ctx, err)
	}
	switch o.Code {
	case job.ExitDone, job.ExitUsage, job.ExitInput:
	case job.ExitInterrupted:
		o.Status, o.Error = Interrupted, Interrupted
	default:
		b.Dropped() // the device may be in any state
	}
	b.count[o.Status]++
	if o.Code != job.ExitDone {
		b.codes[o.Code]++
		b.tell(c, o)
	}
	if err := b.Print(o); err != nil {
		return err
	}
	switch o.Code {
	case job.ExitInterrupted:
		return context.Canceled
	case job.ExitDevice:
		return &Error{fmt.Errorf("no usable device: %s: %w", b.summary(), err), job.ExitDevice}
	}
	return nil
}

// tell reports a failed clip to people.
func (b *run) tell(c *Clip, o Outcome) {
	if b.Progress == "json" {
		b.Event(terminal.Event{Event: "error", Error: o.Error, Code: o.Code})
		return
	}
	fmt.Fprintf(b.Stderr, "tessera: %s%s\n", b.prefix(c), o.Error)
}

// prefix returns the text before a clip's messages: "[3/40 name] ".
func (b *run) prefix(c *Clip) string {
	n := fmt.Sprint(b.begun)
	if b.all > 0 {
		n += "/" + fmt.Sprint(b.all)
	}
	return "[" + n + " " + quote.Message(c.Name) + "] "
}

// end reports the totals, and returns an Error if clips failed.
func (b *run) end() error {
	for _, code := range []int{job.ExitFailed, job.ExitMemory, job.ExitInput, job.ExitUsage} {
		if b.codes[code] > 0 {
			return &Error{errors.New(b.summary()), code}
		}
	}
	b.Note("%s", b.summary())
	return nil
}

// summary returns "40 clips: 38 done, 1 skipped, 1 failed".
func (b *run) summary() string {
	text := strconv.Itoa(b.begun) + " clips"
	if b.begun == 1 {
		text = "1 clip"
	}
	if b.all > b.begun {
		text = fmt.Sprintf("%d of %d clips", b.begun, b.all)
	}
	var parts []string
	for _, status := range []string{Done, Skipped, Failed} {
		if n := b.count[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if parts == nil {
		return text
	}
	return text + ": " + strings.Join(parts, ", ")
}

// work runs a clip unless its record says that it is done.
func (b *run) work(c *Clip) (r *report.Result, skipped bool, err error) {
	if c.err != nil {
		return nil, false, c.at(c.err)
	}
	w := &work{Terminal: b.ForClip(c.Name, b.prefix(c)), ctx: b.ctx, batch: b, Clip: c, input: c.Input, output: c.Output}
	defer w.close()
	skipped, err = w.do()
	if err != nil {
		err = w.told(err)
	}
	return w.made, skipped, err
}

// Package batch runs many clips, one after another, each as `tessera decode`, `encode` or
// `roundtrip` would: `tessera batch`.
//
// Run takes the clips from Options: names and patterns, a manifest, or a stream of manifest
// lines, whose clips start as they arrive. All clips but a stream's are checked before the
// first one runs. The result of each is an Outcome, a line of JSON on standard output. A
// failed clip does not stop the others; Run then returns an Error with the exit code.
//
// The caller's Parse makes a Command of a command line, and so defines the flags. URLs are
// downloaded before a clip and uploaded after it.
//
// A record beside each output, or in a separate folder, says what made it. With Resume a
// clip is skipped if its record has this input, checkpoint and flags, and the output
// exists.
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

// Options are the clips and what they have in common.
type Options struct {
	Inputs    []string // files, patterns or URLs
	Manifest  string   // in their place: a file of clips, a JSON object a line; "-" is a stream
	Output    string   // of clips that name none; {name} stands for the clip's name
	Model     string   // of clips that name none
	Op        string   // decode, encode, roundtrip, or auto: as the names tell
	Shard     Shard
	Records   string // folder of the records; default beside each output
	Resume    bool
	NoClobber bool
	Flags     []string // of every clip, as they stand on the command line
	Program   string   // its version, for records

	Parse   func(args []string) (Command, error)
	Dropped func() // called after a clip after which a device may be in any state
}

// Command is a clip's command line, ready to run.
type Command interface {
	// Run runs it; the terminal is the clip's own. The result may come with an error.
	Run(ctx context.Context, t *terminal.Terminal) (*report.Result, error)
	// Sound is the file whose sound goes along, "" for none and the input's own.
	Sound() string
	// Renames reports whether the output's name is not that of its file.
	Renames() bool
}

// run runs clips, one after the other.
type run struct {
	*terminal.Terminal
	Options
	ctx    context.Context
	hashes map[string]string // of checkpoints

	all   int // clips there are, 0: not known
	begun int
	count map[string]int // of clips by what became of them
	codes map[int]int    // of failures
}

// What becomes of a clip.
const (
	Done, Skipped, Failed, Interrupted = "done", "skipped", "failed", "interrupted"
)

// Outcome is the line that tells what became of a clip.
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

// Error is what a batch ends with in which clips failed.
type Error struct {
	error
	Code int
}

// Run runs the clips. A stream of a manifest is read from in.
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

// clip runs a clip and tells what became of it. Its error ends the batch.
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
		b.Dropped() // whatever state the device is in
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

// tell tells people of a clip that failed.
func (b *run) tell(c *Clip, o Outcome) {
	if b.Progress == "json" {
		b.Event(terminal.Event{Event: "error", Error: o.Error, Code: o.Code})
		return
	}
	fmt.Fprintf(b.Stderr, "tessera: %s%s\n", b.prefix(c), o.Error)
}

// prefix is what stands before what is told of a clip: "[3/40 name] ".
func (b *run) prefix(c *Clip) string {
	n := fmt.Sprint(b.begun)
	if b.all > 0 {
		n += "/" + fmt.Sprint(b.all)
	}
	return "[" + n + " " + quote.Message(c.Name) + "] "
}

// end tells how it went, and is the error of a batch in which clips failed.
func (b *run) end() error {
	for _, code := range []int{job.ExitFailed, job.ExitMemory, job.ExitInput, job.ExitUsage} {
		if b.codes[code] > 0 {
			return &Error{errors.New(b.summary()), code}
		}
	}
	b.Note("%s", b.summary())
	return nil
}

// summary is "40 clips: 38 done, 1 skipped, 1 failed".
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

// work does what a clip asks for, unless that is done.
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

// Package batch runs many clips, each as `tessera decode`, `encode` or `roundtrip` would:
// `tessera batch`.
//
// Start at Run, which takes the clips from Options: names and patterns, a manifest, or a
// stream of manifest lines. Run checks all clips before it runs the first one; a stream's
// clips start as they arrive. Each worker, a device, takes the next clip when it has
// finished one. The result of each is an Outcome, a line of JSON on standard output. A
// failed clip does not stop the others; Run then returns an Error with the exit code.
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
	"sync"
	"time"

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

	// Workers returns how many devices run clips side by side. It is called if there are
	// several clips, with their number, or 0 for a stream.
	Workers func(clips int) int
	Parse   func(worker int, args []string) (Command, error) // for a worker, from 0
	// Dropped is called after a clip that may have left the worker's device in any state.
	// An error says that the device can't be used any more.
	Dropped func(worker int) error
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
	ctx context.Context
	all int // number of clips, 0: unknown

	hashing sync.Mutex
	hashes  map[string]string // of checkpoints, by path

	mu      sync.Mutex // guards what follows, and the terminal
	begun   int
	count   map[string]int  // of clips by outcome
	codes   map[int]int     // number of failures by exit code
	workers int             // with a device
	writing map[string]bool // outputs of clips in progress
	written sync.Cond       // one of them ended
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
	b := newRun(ctx, t, o)
	if o.Records != "" {
		if err := os.MkdirAll(o.Records, 0o777); err != nil {
			return fmt.Errorf("--records: %w", media.Lasting(err))
		}
	}
	next, err := b.queue(in)
	if err != nil {
		return err
	}
	err = b.share(next)
	if errors.Is(err, context.Canceled) && b.begun > 0 {
		b.Note("%s", b.summary())
	}
	if err != nil {
		return err
	}
	return b.end()
}

func newRun(ctx context.Context, t *terminal.Terminal, o Options) *run {
	b := &run{
		Terminal: t, Options: o, ctx: ctx, hashes: map[string]string{}, count: map[string]int{}, codes: map[int]int{},
		writing: map[string]bool{},
	}
	b.written.L = &b.mu
	return b
}

// clip runs a clip and reports its outcome. more says that the worker can run another
// one. An error ends the batch.
func (b *run) clip(worker int, c *Clip) (more bool, err error) {
	start := time.Now()
	r, skipped, err := b.work(worker, c)
	o := Outcome{Name: c.Name, Input: terminal.FileName(shown(c.Input)), Output: terminal.FileName(shown(c.Output)), Status: Done, Seconds: time.Since(start).Seconds(), Result: r}
	if skipped {
		o.Status = Skipped
	}
	if err != nil {
		o.Status, o.Error, o.Code = Failed, b.Plain(err.Error()), terminal.ExitCode(b.ctx, err)
	}
	var lost error
	switch o.Code {
	case job.ExitDone, job.ExitUsage, job.ExitInput:
	case job.ExitInterrupted:
		o.Status, o.Error = Interrupted, Interrupted
	default:
		lost = b.Dropped(worker)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.writing, c.key())
	b.written.Broadcast()
	b.count[o.Status]++
	if o.Code != job.ExitDone {
		b.codes[o.Code]++
		b.tell(c, o)
	}
	if err := b.Print(o); err != nil {
		return false, err
	}
	switch {
	case o.Code == job.ExitInterrupted:
		return false, context.Canceled
	case o.Code == job.ExitDevice && b.workers == 1:
		return false, b.noDevice(err)
	case lost != nil && b.workers == 1:
		return false, b.noDevice(lost)
	case lost != nil:
		b.workers--
		b.Warn("%v; the other adapters run the remaining clips", lost)
	}
	return lost == nil, nil
}

// noDevice ends a batch that has no worker with a device.
func (b *run) noDevice(err error) error {
	return &Error{fmt.Errorf("no usable device: %s: %w", b.summary(), err), job.ExitDevice}
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
	n := fmt.Sprint(c.number)
	if b.all > 0 {
		n += "/" + fmt.Sprint(b.all)
	}
	return "[" + n + " " + quote.Message(c.Name) + "] "
}

// end reports the totals, and returns an Error if clips failed.
func (b *run) end() error {
	for _, code := range []int{job.ExitDevice, job.ExitFailed, job.ExitMemory, job.ExitInput, job.ExitUsage} {
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
	for _, status := range []string{Done, Skipped, Failed, Interrupted} {
		if n := b.count[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if parts == nil {
		return text
	}
	return text + ": " + strings.Join(parts, ", ")
}

// work runs a clip on a worker unless its record says that it is done.
func (b *run) work(worker int, c *Clip) (r *report.Result, skipped bool, err error) {
	if c.err != nil {
		return nil, false, c.at(c.err)
	}
	w := &work{Terminal: b.ForClip(c.Name, b.prefix(c)), ctx: b.ctx, batch: b, worker: worker, Clip: c, input: c.Input, output: c.Output}
	defer w.close()
	skipped, err = w.do()
	if err != nil {
		err = w.told(err)
	}
	return w.made, skipped, err
}

package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/gpu"
)

// clipFunc is a clip's command that calls a function with its worker and input.
type clipFunc struct {
	worker int
	name   string
	output string
	run    func(ctx context.Context, worker int, name string) error
}

func (c clipFunc) Run(ctx context.Context, t *terminal.Terminal) (*report.Result, error) {
	t.Note("starts")
	t.Warn("a warning")
	if err := c.run(ctx, c.worker, c.name); err != nil {
		return nil, err
	}
	r := &report.Result{Outputs: []terminal.FileName{terminal.FileName(c.output)}}
	return r, os.WriteFile(c.output, []byte(c.name), 0o666)
}

func (clipFunc) Sound() string { return "" }
func (clipFunc) Renames() bool { return false }

// sideBySide are the options of a batch on several workers, whose clips run this function.
func sideBySide(t *testing.T, workers int, run func(ctx context.Context, worker int, name string) error) Options {
	return Options{
		Output: filepath.Join(t.TempDir(), "{name}.npy"), Model: "nowhere", Op: "decode",
		Workers: func(int) int { return workers },
		Parse: func(worker int, args []string) (Command, error) {
			_, output, _ := strings.Cut(args[len(args)-3], "=")
			return clipFunc{worker, nameOf(args[len(args)-1]), output, run}, nil
		},
		Dropped: func(int) error { return nil },
	}
}

// ran runs a batch, and returns the outcomes in the order of their lines and the messages.
func ran(t *testing.T, ctx context.Context, o Options, in io.Reader) (list []Outcome, messages string, err error) {
	var stdout, stderr bytes.Buffer
	said := &terminal.Terminal{Stdout: &stdout, Stderr: &stderr}
	said.SideBySide()
	err = Run(ctx, said, o, in)
	for line := range strings.Lines(stdout.String()) {
		var o Outcome
		require.NoError(t, json.Unmarshal([]byte(line), &o), line)
		list = append(list, o)
	}
	return list, stderr.String(), err
}

// clipNames are the inputs of n clips.
func clipNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("c%d.npz", i))
	}
	return names
}

// Each of several workers takes the next clip when it has finished one; results come in
// the order of finishing, and every message is a whole line with its clip's number.
func TestSideBySide(t *testing.T) {
	long := make(chan struct{})
	var mu sync.Mutex
	by := map[int][]string{}
	o := sideBySide(t, 3, func(_ context.Context, worker int, name string) error {
		mu.Lock()
		by[worker] = append(by[worker], name)
		count := len(by[0]) + len(by[1]) + len(by[2])
		mu.Unlock()
		if name == "c0" { // until all other clips were given out
			<-long
		} else if count == 40 {
			close(long)
		}
		return nil
	})
	o.Inputs = clipNames(40)
	list, messages, err := ran(t, t.Context(), o, nil)
	require.NoError(t, err)
	require.Len(t, list, 40)
	for worker, names := range by {
		if names[0] == "c0" {
			assert.Len(t, names, 1, "worker %d", worker)
		}
	}
	numbers := map[string]int{}
	for line := range strings.Lines(messages) {
		prefix, _, _ := strings.Cut(strings.TrimPrefix(line, "tessera: warning: "), "] ")
		numbers[prefix]++
	}
	require.Len(t, numbers, 41)
	for i, o := range list {
		assert.Equal(t, Done, o.Status)
		assert.Equal(t, 2, numbers[fmt.Sprintf("[%d/40 c%d", i+1, i)], i)
	}
	assert.True(t, strings.HasSuffix(messages, "\n40 clips: 40 done\n"), messages)
}

// A lost device fails its clip alone. A worker whose device does not open again leaves
// the others to the rest; without any the batch stops with 4.
func TestLostDevices(t *testing.T) {
	gone := map[int]bool{}
	var mu sync.Mutex
	o := sideBySide(t, 2, func(_ context.Context, worker int, name string) error {
		mu.Lock()
		defer mu.Unlock()
		if name == "c3" || name == "c5" {
			gone[worker] = name == "c5"
			return gpu.ErrDeviceLost
		}
		return nil
	})
	o.Dropped = func(worker int) error {
		mu.Lock()
		defer mu.Unlock()
		if gone[worker] {
			return fmt.Errorf("adapter %d is gone", worker)
		}
		return nil
	}
	o.Inputs = clipNames(20)
	list, messages, err := ran(t, t.Context(), o, nil)
	require.Len(t, list, 20)
	for _, o := range list {
		want := job.ExitDone
		if o.Name == "c3" || o.Name == "c5" {
			want = job.ExitFailed
		}
		assert.Equal(t, want, o.Code, o.Name)
	}
	assert.Regexp(t, `warning: adapter [01] is gone; the other adapters run the remaining clips\n`, messages)
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, job.ExitFailed, failed.Code)
	assert.EqualError(t, err, "20 clips: 18 done, 2 failed")

	o.Dropped = func(worker int) error { return fmt.Errorf("adapter %d is gone", worker) }
	all := o
	all.Inputs = []string{"c3.npz", "c5.npz", "c6.npz", "c7.npz"}
	both := sync.WaitGroup{}
	both.Add(2)
	all.Parse = func(worker int, args []string) (Command, error) {
		c, err := o.Parse(worker, args)
		f := c.(clipFunc)
		f.run = func(context.Context, int, string) error {
			both.Done()
			both.Wait()
			return gpu.ErrDeviceLost
		}
		return f, err
	}
	list, _, err = ran(t, t.Context(), all, nil)
	require.Len(t, list, 2)
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, job.ExitDevice, failed.Code)
	assert.Regexp(t, `^no usable device: 2 of 4 clips: 2 failed: adapter [01] is gone$`, err.Error())
}

// An interrupt ends the clips of all workers, and the batch says what is done.
func TestInterruptedSideBySide(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Add(3)
	o := sideBySide(t, 3, func(ctx context.Context, _ int, name string) error {
		if name == "c0" {
			return nil
		}
		running.Done()
		<-ctx.Done()
		return ctx.Err()
	})
	o.Inputs = clipNames(9)
	go func() {
		running.Wait()
		stop()
	}()
	list, messages, err := ran(t, ctx, o, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, list, 4)
	for _, o := range list[1:] {
		assert.Equal(t, Interrupted, o.Status)
		assert.Equal(t, job.ExitInterrupted, o.Code)
	}
	assert.True(t, strings.HasSuffix(messages, "\n4 of 9 clips: 1 done, 3 interrupted\n"), messages)
}

// A result that can't be printed ends the batch on all workers.
func TestUnprintedSideBySide(t *testing.T) {
	o := sideBySide(t, 2, func(ctx context.Context, _ int, name string) error {
		if name == "c1" {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	o.Inputs = clipNames(9)
	full := errors.New("the disk is full")
	err := Run(t.Context(), &terminal.Terminal{Stdout: failingWriter{full}, Stderr: io.Discard}, o, nil)
	require.ErrorIs(t, err, full)
}

type failingWriter struct{ error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.error }

// Clips of a stream run side by side, but those with the same output one after another:
// the output and its record are the last one's.
func TestStreamSideBySide(t *testing.T) {
	var mu sync.Mutex
	writing := map[string]bool{}
	var together sync.WaitGroup
	together.Add(2)
	o := sideBySide(t, 4, func(_ context.Context, _ int, name string) error {
		if name == "x" || name == "y" { // both at once
			together.Done()
			together.Wait()
			return nil
		}
		mu.Lock()
		assert.False(t, writing["same"], name)
		writing["same"] = true
		mu.Unlock()
		defer func() {
			mu.Lock()
			writing["same"] = false
			mu.Unlock()
		}()
		return nil
	})
	o.Manifest = "-"
	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(&lines, `{"input": "c%d.npz", "output": %q}`+"\n", i, strings.ReplaceAll(o.Output, "{name}", "same"))
	}
	lines.WriteString(`{"input": "x.npz"}` + "\n\n{]\n" + `{"input": "y.npz"}`)
	list, _, err := ran(t, t.Context(), o, strings.NewReader(lines.String()))
	require.Len(t, list, 23)
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, job.ExitUsage, failed.Code)
	assert.EqualError(t, err, "23 clips: 22 done, 1 failed")
}

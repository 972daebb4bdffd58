package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tessera/app/job"
	"tessera/app/terminal"
)

// inTerminal runs the program with a terminal of that size as its standard input and
// error, and returns what appeared there. Its standard output is stdout, or the terminal
// if stdout is nil.
func inTerminal(t *testing.T, size unix.Winsize, env []string, stdout io.Writer, args ...string) (code int, shown string) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer ours.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &size))
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	cmd := exec.Command(built.program, args...)
	cmd.Env = append(append(os.Environ(), "TERM=xterm"), env...)
	cmd.Stdin, cmd.Stderr, cmd.Stdout = theirs, theirs, stdout
	if stdout == nil {
		cmd.Stdout = theirs
	}
	require.NoError(t, cmd.Start())
	theirs.Close()
	all, _ := io.ReadAll(ours) // a terminal ends with an error
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), string(all)
}

// A bar is drawn in terminals of every size, also in one that reports none, and lines are
// printed where the terminal cannot move up.
func TestProgressInTerminals(t *testing.T) {
	t.Parallel()
	needDevice(t)
	latent := latentFile(t, 16, 1, 12, 12)
	run := func(size unix.Winsize, env []string, flags ...string) string {
		t.Helper()
		args := append([]string{"decode", "-m", tiny, latent, "-o", filepath.Join(t.TempDir(), "out.npy"), "--tile=64"}, flags...)
		code, shown := inTerminal(t, size, env, io.Discard, args...)
		require.Equal(t, 0, code, shown)
		return shown
	}
	const bar, up = "[==", "\x1b["
	wide := unix.Winsize{Row: 24, Col: 120}
	for name, size := range map[string]unix.Winsize{"wide": wide, "no size": {}, "no columns": {Row: 24}} {
		shown := run(size, nil)
		assert.Contains(t, shown, bar, name)
		assert.Contains(t, shown, up, name)
		assert.Contains(t, shown, "tile 4/4, 0:00 left", name)
	}
	for _, size := range []unix.Winsize{wide, {}} {
		shown := run(size, []string{"TERM=dumb"})
		assert.NotContains(t, shown, up)
		assert.NotContains(t, shown, bar)
	}
	for _, flag := range []string{"--progress=plain", "--progress=none", "--quiet"} {
		assert.NotContains(t, run(wide, nil, flag), up, flag)
	}
	assert.Contains(t, run(wide, []string{"TERM=dumb"}, "--progress=bar"), bar, "asked for")
}

// The lines of --progress=json are objects with the keys of docs/reference/events.md, from the
// beginning of a stage to its end; no other lines are printed.
func TestProgressEvents(t *testing.T) {
	needDevice(t)
	doc, err := os.ReadFile("../../docs/reference/events.md")
	require.NoError(t, err)
	for f := range reflect.TypeFor[terminal.Event]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		assert.Regexp(t, snakeCase, key)
		assert.Contains(t, string(doc), "`"+key+"`", "docs/reference/events.md")
	}
	read := func(text string) (all []map[string]any) {
		t.Helper()
		for line := range strings.Lines(text) {
			var e map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
			checkKeys(t, line)
			all = append(all, e)
		}
		return all
	}
	out := filepath.Join(t.TempDir(), "out.npy")
	o := succeed(t, "roundtrip", "-m", tiny, demoClip(t, 2, 40, 40), "-o", out, "--tile=32", "--progress=json", "--json")
	events := read(o.stderr)
	var stages []string
	shaders, last := map[any]bool{}, map[string]float64{}
	for _, e := range events {
		if e["shaders"] != nil {
			assert.LessOrEqual(t, e["shader"], e["shaders"])
			assert.Zero(t, e["done"], "while shaders are compiled")
			shaders[e["stage"]] = true
		}
		if e["event"] == "progress" {
			stage, done := e["stage"].(string), e["done"].(float64)
			if !slices.Contains(stages, stage) {
				stages = append(stages, stage)
				assert.Zero(t, done, "at the beginning")
			}
			assert.GreaterOrEqual(t, done, last[stage])
			last[stage] = done
		}
	}
	assert.Equal(t, []string{"encode", "decode"}, stages)
	assert.Equal(t, map[string]float64{"encode": 1, "decode": 1}, last)
	assert.NotEmpty(t, shaders, "stages that compile shaders, if they were not when their kernels were proven")
	end := events[len(events)-1]
	assert.Equal(t, "result", end["event"])
	var printed map[string]any
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &printed))
	assert.Equal(t, printed, end["result"])

	o = tessera(t, "decode", "-m", "nowhere", "z.npy", "-o", out, "--progress=json")
	assert.Equal(t, job.ExitInput, o.code)
	events = read(o.stderr)
	require.Len(t, events, 1)
	assert.Equal(t, "error", events[0]["event"])
	assert.EqualValues(t, job.ExitInput, events[0]["exit_code"])
	o = tessera(t, "decode", "--progress=json", "--unknown")
	assert.Equal(t, "error", read(o.stderr)[0]["event"])
}

// A full standard output is a failure with a message.
func TestFullStandardOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for _, args := range [][]string{{"info", tiny, "--json"}, {"info", tiny}, {"--version"}, {"--version", "--json"}, {"--help"}} {
		var stderr bytes.Buffer
		cmd := exec.Command(built.program, args...)
		cmd.Stdout, cmd.Stderr = full, &stderr
		assert.Error(t, cmd.Run(), args)
		assert.Equal(t, job.ExitFailed, cmd.ProcessState.ExitCode(), args)
		assert.Contains(t, stderr.String(), "standard output: ", args)
		assert.Contains(t, stderr.String(), "no space left on device", args)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(built.program, "info", "nowhere", "--json")
	cmd.Stdout, cmd.Stderr = full, &stderr
	assert.Error(t, cmd.Run())
	assert.Equal(t, job.ExitInput, cmd.ProcessState.ExitCode(), "an error stays what it is")
	assert.Contains(t, stderr.String(), "nowhere", "and the message names where it can be")
}

// A terminal receives no binary data, and is not read.
func TestNoStreamsOfTerminals(t *testing.T) {
	z := latentFile(t, 16, 1, 2, 2)
	code, shown := inTerminal(t, unix.Winsize{}, nil, nil, "decode", "-m", tiny, z, "-o", "-")
	assert.Equal(t, job.ExitUsage, code)
	assert.Contains(t, shown, "standard output is a terminal, expected a pipe or file")
	code, shown = inTerminal(t, unix.Winsize{}, nil, io.Discard, "decode", "-m", tiny, "-", "-o", filepath.Join(t.TempDir(), "out.npy"))
	assert.Equal(t, job.ExitUsage, code)
	assert.Contains(t, shown, "standard input is a terminal, expected a pipe or file")
}

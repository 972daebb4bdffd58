//go:build linux

package faults

import (
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// jobs are the command lines to stop: with ffmpeg before them, after them and on both
// sides, and with a spool for tiles. OUT is a folder, CLIP a video.
var jobs = []string{
	"encode CLIP -o OUT/z.safetensors",
	"decode LATENT -o OUT/out.mp4",
	"roundtrip CLIP -o OUT/out.mkv",
	"decode LATENT -o OUT/frames",
	"decode LATENT -o OUT/out.npy --tile=32 --overlap=8 --memory=1MiB",
}

func fields(line, clip, out string) []string {
	line = strings.NewReplacer("CLIP", clip, "LATENT", built.latent, "OUT", out).Replace(line)
	return append(strings.Fields(line), "-m", built.model)
}

// Closing the terminal at any moment leaves a complete output or none, and no temporary
// file, spool or process.
func TestHangUp(t *testing.T) {
	taken := make(chan os.Signal, 1) // a signal handled here is not ignored in child processes, as under nohup
	signal.Notify(taken, syscall.SIGHUP)
	defer signal.Stop(taken)
	stopped(t, syscall.SIGHUP, func(t *testing.T, dir, temp string, o outcome) string {
		switch o.code {
		case job.ExitDone:
			return "done"
		case job.ExitInterrupted:
			require.Empty(t, tree(t, dir), o.text)
			return "interrupted"
		}
		require.Equal(t, outcome{code: -1, memory: o.memory}, o, "before the program waits for signals")
		require.Empty(t, tree(t, dir))
		return "not begun"
	})
}

// After a kill at any moment, ffmpeg ends, and the next start removes what is left. If
// that start comes before ffmpeg has ended, a file that ffmpeg is about to create may
// remain until the start after it.
func TestKill(t *testing.T) {
	stopped(t, syscall.SIGKILL, func(t *testing.T, dir, temp string, o outcome) string {
		alone(t, temp, "after a kill")
		left := len(tree(t, dir)) + len(tree(t, temp))
		next := run(t, command(temp, "decode", "-m", "nowhere", built.latent, "-o", filepath.Join(dir, "next.npy")))
		require.Equal(t, job.ExitInput, next.code, next.text)
		switch {
		case o.code == job.ExitDone:
			return "done"
		case left > 0:
			return "swept"
		}
		return "nothing there"
	})
}

// stopped sends a signal at random moments of every job and checks what is left; after
// classifies the outcome of one run.
func stopped(t *testing.T, signal os.Signal, after func(t *testing.T, dir, temp string, o outcome) string) {
	needs(t, true)
	clip := clip(t, "clip.mp4", 13)
	r := random(t)
	counts := map[string]int{}
	for at, line := range jobs {
		whole := t.TempDir()
		start := time.Now()
		o := run(t, command(t.TempDir(), fields(line, clip, whole)...))
		took := time.Since(start)
		require.Equal(t, job.ExitDone, o.code, "%s: %s", line, o.text)
		names := slices.Sorted(maps.Keys(tree(t, whole)))
		for i := at; i < count(t); i += len(jobs) {
			dir, temp := t.TempDir(), t.TempDir()
			cmd := command(temp, fields(line, clip, dir)...)
			moment := time.Duration(r.Float64() * 1.1 * float64(took))
			o := run(t, cmd, func() {
				time.AfterFunc(moment, func() { _ = cmd.Process.Signal(signal) })
			})
			what := after(t, dir, temp, o)
			counts[what]++
			alone(t, temp, line)
			require.Empty(t, tree(t, temp), "%s, after %v, %s: temporary files", line, moment, what)
			left := slices.Sorted(maps.Keys(tree(t, dir)))
			if what == "done" || len(left) > 0 && !slices.Equal(left, []string{"out.mkv"}) { // the sheet is written after it
				require.Equal(t, names, left, "%s, after %v, %s: %s", line, moment, what, o.text)
			}
			require.NoError(t, os.RemoveAll(dir))
		}
	}
	t.Logf("%d of %v at random moments: %v", count(t), signal, counts)
}

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/app/resume"
)

// recordOf reads the record in a folder of --resume.
func recordOf(t *testing.T, folder string) (r resume.Record) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, resume.RecordFile))
	if os.IsNotExist(err) {
		return r
	}
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r), "%s", text)
	return r
}

// A decode with --resume that is killed at any moments finishes without making finished
// frames twice. It gives the bytes of one run, and leaves no other files. The output
// appears only at the end.
func TestKilledGoesOn(t *testing.T) {
	t.Parallel()
	needDevice(t)
	latent := latentFile(t, 16, 10, 5, 6)
	jobs := map[string][]string{
		"frames":              {"frames"},
		"floats with a spool": {"out.npy", "--tile=32", "--overlap=16", "--memory=14MiB"},
	}
	if os.Getenv("KILLS") != "" { // as many more
		jobs["y4m"] = []string{"out.y4m"}
		jobs["several frames at once"] = []string{"out.safetensors", "--chunk=2"}
		if haveFFmpeg() {
			jobs["mp4"] = []string{"out.mp4"}
		}
	}
	for name, args := range jobs {
		t.Run(name, func(t *testing.T) {
			whole, dir, temp := t.TempDir(), t.TempDir(), t.TempDir()
			line := func(dir string, more ...string) []string {
				return append(append([]string{"decode", "-m", tiny, latent, "-o", filepath.Join(dir, args[0])}, args[1:]...), more...)
			}
			start := time.Now()
			succeed(t, line(whole)...)
			took := time.Since(start)
			out, kept, rounds, goneOn := filepath.Join(dir, args[0]), 0, 0, false
			folder := out + ".unfinished"
			for n := 0; ; n++ {
				cmd := exec.Command(built.program, line(dir, "--resume")...)
				cmd.Env = append(os.Environ(), "TMPDIR="+temp)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				require.NoError(t, cmd.Start())
				ended := make(chan bool)
				go func() {
					cmd.Wait()
					close(ended)
				}()
				switch wait := rand.N(took / 4); {
				case n < kills(t)+2: // after the first frames that it stores, for the first start at once
					for recordOf(t, folder).Frames == kept && !closed(ended, 5*time.Millisecond) {
					}
					if n > 0 {
						closed(ended, wait)
					}
				case n == kills(t)+2: // before them
					closed(ended, wait)
				default:
					<-ended
				}
				cmd.Process.Kill()
				<-ended
				goneOn = goneOn || strings.Contains(stderr.String(), "continuing")
				if _, err := os.Lstat(out); err != nil {
					require.False(t, cmd.ProcessState.Exited(), stderr.String())
					now := recordOf(t, folder).Frames
					require.GreaterOrEqual(t, now, kept)
					kept = now
					continue
				}
				if cmd.ProcessState.Success() && goneOn {
					break
				}
				// It was done before the kill, or killed while it cleaned up: start
				// again.
				require.NoError(t, os.RemoveAll(out))
				require.NoError(t, os.RemoveAll(folder))
				rounds++
				require.Less(t, rounds, 50, "never from frames that were kept: %s", stderr.String())
				kept, n = 0, -1
			}
			require.True(t, maps.Equal(relative(t, whole), relative(t, dir)), "other contents")
		})
	}
}

// closed waits some time for a channel to be closed.
func closed(c <-chan bool, wait time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(wait):
		return false
	}
}

// leave interrupts a decode with --resume when some of it is done.
func leave(t *testing.T, folder string, args ...string) {
	t.Helper()
	for range 20 {
		cmd := exec.Command(built.program, append(args, "--quiet")...)
		require.NoError(t, cmd.Start())
		for recordOf(t, folder).Slices == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		cmd.Wait()
		if cmd.ProcessState.ExitCode() == job.ExitInterrupted {
			break
		}
	}
	require.Positive(t, recordOf(t, folder).Frames)
}

// A decode continues with its memory in another place, with equal bytes, if the plan is
// otherwise equal.
func TestResumeElsewhere(t *testing.T) {
	t.Parallel()
	needDevice(t)
	latent, dir := latentFile(t, 16, 8, 16, 16), t.TempDir()
	whole, out := filepath.Join(dir, "whole.npy"), filepath.Join(dir, "out.npy")
	succeed(t, "decode", "-m", tiny, latent, "-o", whole)
	args := []string{"decode", "-m", tiny, latent, "-o", out, "--resume"}
	leave(t, out+".unfinished", args...)
	o := succeed(t, append(args, "--offload=on", "--host-memory=1GiB", "--memory=2GiB")...)
	require.Contains(t, o.stderr, "continuing")
	want, err := os.ReadFile(whole)
	require.NoError(t, err)
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "other frames")
}

// A folder of another decode, or a truncated one, is refused before the work.
func TestResumeRefuses(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	latent, out := latentFile(t, 16, 8, 16, 16), filepath.Join(dir, "out.npy")
	folder := out + ".unfinished"
	args := []string{"decode", "-m", tiny, latent, "-o", out, "--resume"}
	leave(t, folder, args...)
	kept := tree(t, folder)
	for says, change := range map[string][]string{
		"was started with another choice of options":      append(args, "--chunk=2"),
		"was started with another latent":                 {"decode", "-m", tiny, latentFile(t, 16, 8, 16, 17), "-o", out, "--resume"},
		"expected one, which repeats its results exactly": append(args, "--adapter=0,1"),
		"a stream can't be continued":                     {"decode", "-m", tiny, latent, "-o", "-", "--resume"},
		"is a batch of 2 clips, expected one":             {"decode", "-m", tiny, latentFile(t, 2, 16, 2, 2, 2), "-o", out, "--resume"},
	} {
		o := tessera(t, change...)
		assert.Equal(t, job.ExitUsage, o.code, o.stderr)
		assert.Contains(t, o.stderr, says)
	}
	require.True(t, maps.Equal(kept, tree(t, folder)), "what was kept is changed")
	for _, name := range []string{"memory0", "memory1"} { // as if written after one slice more than the record says
		path := filepath.Join(folder, name)
		memory, err := os.ReadFile(path)
		require.NoError(t, err)
		if len(memory) > 0 {
			memory[0]++
			write(t, path, memory)
		}
	}
	o := tessera(t, args...)
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "does not belong to record.json")
	for _, name := range []string{resume.FramesFile, "memory0", "memory1"} {
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, info.Size()/2))
	}
	o = tessera(t, args...)
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "is cut short")
	write(t, filepath.Join(folder, resume.RecordFile), []byte("{"))
	o = tessera(t, args...)
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "record.json is not a record of --resume")
	assert.NoFileExists(t, out)
}

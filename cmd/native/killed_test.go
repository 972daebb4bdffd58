//go:build unix

package main

import (
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/temporary"
	"tessera/tests/testenv"
)

// kills returns how many jobs of each kind to kill: KILLS, or a few.
func kills(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		return n
	}
	if testenv.Short(t) {
		return 1
	}
	return 4
}

// A job killed at any moment leaves only what the next start removes. Frames that it was
// to replace are either all old or all new.
func TestKilledIsSweptUp(t *testing.T) {
	t.Parallel()
	needDevice(t)
	latent, clip := latentFile(t, 16, 2, 8, 8), demoClip(t, 5, 40, 40)
	jobs := map[string]string{
		"floats with a spool": "decode -m " + tiny + " " + latent + " -o OUT/out.npy --tile=32 --memory=14MiB",
		"frames":              "decode -m " + tiny + " " + latent + " -o OUT/frames",
		"latent":              "encode -m " + tiny + " " + clip + " -o OUT/z.safetensors",
	}
	if haveFFmpeg() {
		jobs["mp4"] = "roundtrip -m " + tiny + " " + clip + " -o OUT/out.mp4"
	}
	for name, line := range jobs {
		t.Run(name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			line = strings.ReplaceAll(line, "OUT", dir)
			start := time.Now()
			succeed(t, strings.Fields(line)...)
			took, left := time.Since(start), 0
			whole := tree(t, dir)
			for range kills(t) {
				cmd := exec.Command(built.program, strings.Fields(line)...)
				cmd.Env = append(os.Environ(), "TMPDIR="+temp)
				require.NoError(t, cmd.Start())
				time.Sleep(rand.N(took))
				require.NoError(t, cmd.Process.Kill())
				cmd.Wait()
				unlocked(t, dir)
				unlocked(t, temp)
				left += len(tree(t, dir)) - len(whole) + len(tree(t, temp)) - 1
				o := tesseraEnv(t, []string{"TMPDIR=" + temp}, "decode", "-m", "nowhere", latent, "-o", filepath.Join(dir, "next.npy"))
				require.Equal(t, job.ExitInput, o.code)
				after := tree(t, dir)
				require.Equal(t, slices.Sorted(maps.Keys(whole)), slices.Sorted(maps.Keys(after)))
				require.True(t, maps.Equal(whole, after), "other contents")
				isEmpty(t, temp)
			}
			t.Logf("%d killed within %v, %d files left behind before the next start", kills(t), took, left)
		})
	}
}

// The cleaning does not remove the files of running jobs.
func TestSweepLeavesJobsAtWork(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.npy")
	next := make(chan outcome, 1)
	code, stderr := interruptedCommand(t, nil, exec.Command(built.program, "decode", "-m", tiny, latentFile(t, 16, 5, 8, 8), "-o", out, "--tile=32", "--overlap=8", events), func() {
		next <- tessera(t, "decode", "-m", "nowhere", "z.npy", "-o", filepath.Join(dir, "next.npy"))
	})
	assert.Equal(t, job.ExitInput, (<-next).code)
	assert.Equal(t, job.ExitDone, code, stderr)
	assert.FileExists(t, out)
}

// unlocked waits for a killed program's children: ffmpeg ends with its input, and may
// hold that program's locks until then.
func unlocked(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool {
		free := true
		for name := range tree(t, dir) {
			if f, err := os.Open(name); err == nil {
				free = free && !temporary.Locked(f)
				f.Close()
			}
		}
		return free
	}, time.Minute, 10*time.Millisecond, dir)
}

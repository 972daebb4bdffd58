//go:build linux

// Package faults injects faults into the built program at random moments and places:
// hang-ups and kills, full disks, broken video; harmful clients of a server, random
// options, and hostile files. docs/reference/edges.md has its results.
//
//	FAULTS=200 go test -v ./tests/faults   # this many of each kind; by default a few
//	SEED=7                                 # other moments and places
//
// It looks for leftover processes in /proc, so it runs on Linux.
package faults

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/build"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// mark is in the environment of every process that a test starts.
const mark = "TESSERA_FAULTS"

// built is the program with the inputs of its jobs.
var built struct{ program, model, latent, page string }

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "faults-*")
		if err == nil {
			defer os.RemoveAll(dir)
			os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
			os.Unsetenv("TESSERA_MODEL")
			os.Setenv("TESSERA_NO_TUNE", "1") // runs are compared bit for bit
			prepared = sync.OnceValue(func() error { return prepare(dir) })
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// prepare builds the program, a checkpoint and a latent.
func prepare(dir string) error {
	built.program = filepath.Join(dir, "tessera")
	if err := build.Program(built.program, "tessera/cmd/native", nil); err != nil {
		return err
	}
	built.page = filepath.Join(dir, "page") // instead of the page that `make web` embeds
	if err := os.Mkdir(built.page, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(built.page, "index.html"), []byte("<!doctype html><title>Page</title>"), 0o666); err != nil {
		return err
	}
	built.model = filepath.Join(dir, "model.safetensors")
	if err := synthetic.CreateSeedVR2(built.model, synthetic.SeedVR2Config{Widths: []int{4, 4, 8, 8}, Latent: 4, Groups: 2}); err != nil {
		return err
	}
	z := latent.Latent{Channels: 4, Frames: 4, Height: 8, Width: 8, Data: make([]float32, 4*4*8*8)}
	for i := range z.Data {
		z.Data[i] = float32(i%41)/20 - 1
	}
	built.latent = filepath.Join(dir, "z.safetensors")
	return media.WriteLatent(built.latent, z)
}

// count returns how many faults of each kind to try.
func count(t testing.TB) int {
	if n, err := strconv.Atoi(os.Getenv("FAULTS")); err == nil {
		return n
	}
	if testenv.Short(t) {
		return 3
	}
	return 10
}

// random returns the same generator for a test each time, unless SEED is set.
func random(t *testing.T) *rand.Rand {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	name := [32]byte{}
	copy(name[:], t.Name())
	name[31] = byte(seed)
	return rand.New(rand.NewChaCha8(name))
}

// prepared builds the tests' inputs, once. It runs within a test: Go's test cache
// watches no file that TestMain opens, so a change of the program would not run the
// tests again.
var prepared func() error

func needs(t *testing.T, ffmpeg bool) {
	t.Helper()
	require.NoError(t, prepared())
	require.NoError(t, gputest.Open(t).Close())
	if ffmpeg && !media.HaveFFmpeg() {
		t.Skip("no ffmpeg")
	}
}

// clip creates a video of this many frames with ffmpeg.
func clip(t *testing.T, name string, frames int, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args := append([]string{"-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=8", "-frames:v", strconv.Itoa(frames)}, more...)
	out, err := exec.Command("ffmpeg", append(args, path)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// command returns the program's command line with temp for its temporary files.
func command(temp string, args ...string) *exec.Cmd {
	cmd := exec.Command(built.program, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, mark+"="+temp)
	return cmd
}

// outcome is the end of a run of the program; code is -1 if a signal ended it.
type outcome struct {
	code   int
	text   string // its messages
	stdout string
	memory int64 // its peak memory in bytes
}

// run runs a command; it calls meanwhile after the start.
func run(t *testing.T, cmd *exec.Cmd, meanwhile ...func()) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	for _, do := range meanwhile {
		do()
	}
	err := cmd.Wait()
	_, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, err == nil || ok, "%v", err)
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return outcome{cmd.ProcessState.ExitCode(), stderr.String(), stdout.String(), usage.Maxrss << 10}
}

// processes returns the processes that run for temp: the program's and its children's.
func processes(temp string) []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), mark+"="+temp) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// alone waits until all of them have ended: a killed child takes a moment.
func alone(t *testing.T, temp, what string) {
	t.Helper()
	left := processes(temp)
	for end := time.Now().Add(10 * time.Second); len(left) > 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		left = processes(temp)
	}
	require.Empty(t, left, "processes left: %s", what)
}

// tree returns a folder's files by name, with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		files[name] = "folder"
		if e.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		files[name] = string(data)
		return err
	}))
	return files
}

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// Ctrl-C ends a job whose output is not being read.
func TestInterruptStalledOutput(t *testing.T) {
	t.Parallel()
	needDevice(t)
	for _, format := range []string{"y4m", "npy"} {
		temp := t.TempDir()
		cmd := exec.Command(built.program, "decode", "-m", tiny, latentFile(t, 16, 1, 20, 20), "-o", "-", "--format="+format, "--quiet")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		read, write, err := os.Pipe()
		require.NoError(t, err)
		defer read.Close()
		cmd.Stdout = write
		start(t, cmd)
		write.Close()
		_, err = io.ReadFull(read, make([]byte, 4096)) // part of a frame, the rest of which does not fit into a pipe
		require.NoError(t, err)
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		late := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		assert.True(t, late.Stop(), "%s: it had to be killed", format)
		assert.Equal(t, job.ExitInterrupted, cmd.ProcessState.ExitCode(), stderr.String())
		assert.Equal(t, "tessera: interrupted\n", stderr.String())
		isEmpty(t, temp)
	}
}

// events report progress from the start; plain lines begin after three seconds.
const events = "--progress=json"

// Ctrl-C in the middle of the work exits with 130 and leaves no files.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	needDevice(t)
	clip := "../../assets/demo"
	latent := latentFile(t, 16, 9, 32, 32)
	cases := []struct {
		name   string
		args   []string
		signal os.Signal
	}{
		{"encode", []string{"encode", "-m", tiny, clip, "-o", "OUT/z.safetensors", events}, os.Interrupt},
		{"decode to a folder", []string{"decode", "-m", tiny, latent, "-o", "OUT/frames", events}, os.Interrupt},
		{"decode in tiles", []string{"decode", "-m", tiny, latent, "-o", "OUT/out.npy", "--tile=128", "--overlap=32", events}, syscall.SIGTERM},
		{"decode, its terminal closed", []string{"decode", "-m", tiny, latent, "-o", "OUT/out.npy", "--tile=128", "--overlap=32", "--memory=72MiB", events}, syscall.SIGHUP},
		{"demo", []string{"demo", "-o", "OUT/demo"}, os.Interrupt},
	}
	if haveFFmpeg() {
		cases = append(cases, struct {
			name   string
			args   []string
			signal os.Signal
		}{"roundtrip to mp4", []string{"roundtrip", "-m", tiny, clip, "-o", "OUT/out.mp4", events}, os.Interrupt})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			for i := range c.args {
				c.args[i] = strings.Replace(c.args[i], "OUT", dir, 1)
			}
			code, stderr := interrupted(t, c.signal, []string{"TMPDIR=" + temp}, c.args...)
			assert.Equal(t, job.ExitInterrupted, code, stderr)
			assert.Regexp(t, `(tessera: interrupted|"event":"error","error":"interrupted","exit_code":130})\n$`, stderr)
			isEmpty(t, dir)
			isEmpty(t, temp)
		})
	}
}

// A killed job leaves no temporary files, even without time to clean up.
func TestKilledLeavesNoSpool(t *testing.T) {
	t.Parallel()
	needDevice(t)
	temp := t.TempDir()
	_, stderr := interrupted(t, os.Kill, []string{"TMPDIR=" + temp}, "decode", "-m", tiny, latentFile(t, 16, 9, 32, 32),
		"-o", filepath.Join(t.TempDir(), "out.npy"), "--tile=128", "--overlap=32", "--memory=72MiB", events)
	entries, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, entries, stderr)
}

// A job started by nohup outlives its terminal.
func TestNohup(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	script := `trap "" HUP; exec "$0" "$@"`
	args := []string{"-c", script, built.program, "decode", "-m", tiny, latentFile(t, 16, 4, 8, 8), "-o", filepath.Join(dir, "out.npy"), "--tile=32", "--overlap=8", events}
	code, stderr := interruptedCommand(t, syscall.SIGHUP, exec.Command("sh", args...))
	assert.Equal(t, job.ExitDone, code, stderr)
	assert.FileExists(t, filepath.Join(dir, "out.npy"))
}

// A job whose output has no reader any more ends as at Ctrl-C, without a message.
func TestUnreadOutput(t *testing.T) {
	needDevice(t)
	dir, temp := t.TempDir(), t.TempDir()
	cmd := exec.Command(built.program, "decode", "-m", tiny, latentFile(t, 16, 9, 32, 32), "-o", dir+"/out.npy", "--tile=128", "--overlap=32", "--memory=72MiB", events)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, write
	require.NoError(t, cmd.Start())
	write.Close()
	lines := bufio.NewReader(read)
	for line := ""; !begun(line); {
		line, err = lines.ReadString('\n')
		require.NoError(t, err, "it ended before any progress")
	}
	require.NoError(t, read.Close()) // as head does
	cmd.Wait()
	assert.Equal(t, job.ExitInterrupted, cmd.ProcessState.ExitCode(), "%v", cmd.ProcessState)
	isEmpty(t, dir)
	isEmpty(t, temp)
}

// begun reports whether a line of progress shows that work is done.
func begun(line string) bool {
	return strings.Contains(line, "frames/s") || strings.Contains(line, `"frames_per_second"`)
}

// interrupted runs the program, signals it at its first line of progress, and
// returns how it ended.
func interrupted(t *testing.T, sig os.Signal, env []string, args ...string) (code int, stderr string) {
	t.Helper()
	cmd := exec.Command(built.program, args...)
	cmd.Env = append(os.Environ(), env...)
	return interruptedCommand(t, sig, cmd)
}

// start starts a command that SIGHUP ends, even if nohup runs the test: a signal that a
// process handles is not ignored in its children.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGHUP)
	defer signal.Stop(taken)
	require.NoError(t, cmd.Start())
}

// interruptedCommand also calls meanwhile at that moment. A nil sig sends no signal.
func interruptedCommand(t *testing.T, sig os.Signal, cmd *exec.Cmd, meanwhile ...func()) (code int, stderr string) {
	t.Helper()
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	start(t, cmd)
	var all bytes.Buffer
	lines := bufio.NewReader(io.TeeReader(pipe, &all))
	for {
		line, err := lines.ReadString('\n')
		if begun(line) {
			break
		}
		if err != nil {
			cmd.Wait()
			require.Fail(t, "it ended before any progress", all.String())
		}
	}
	for _, do := range meanwhile {
		do()
	}
	if sig != nil {
		require.NoError(t, cmd.Process.Signal(sig))
	}
	io.Copy(io.Discard, lines)
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), all.String()
}

// The report of an interrupted benchmark has what was measured.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	needDevice(t)
	report := filepath.Join(t.TempDir(), "report.md")
	cmd := exec.Command(built.program, "bench", "ops", "--seconds=5", "--report", report)
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	start(t, cmd)
	var said []string
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		said = append(said, lines.Text())
		if strings.HasPrefix(lines.Text(), "measuring conv3d 3×3×3 256→256") {
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		}
	}
	cmd.Wait()
	require.Equal(t, job.ExitInterrupted, cmd.ProcessState.ExitCode(), "%q", said)
	text, err := os.ReadFile(report)
	require.NoError(t, err, "%q", said)
	require.Contains(t, string(text), "| conv3d 3×3×3 128→128 on ")
	require.Contains(t, string(text), "**The rest was not measured**: ")
}

// A full disk is reported as such and leaves no files.
func TestDiskFull(t *testing.T) {
	needDevice(t)
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system can't be mounted: %s", out)
	}
	defer func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		assert.NoError(t, err, "umount: %s", out)
	}()
	latent, clip := latentFile(t, 16, 2, 16, 16), demoClip(t, 1, 256, 256)
	for _, args := range [][]string{
		{"decode", "-m", tiny, latent, "-o", filepath.Join(dir, "out.npy")},
		{"decode", "-m", tiny, latent, "-o", filepath.Join(dir, "frames")},
		{"encode", "-m", tiny, clip, "-o", filepath.Join(dir, "z.npy"), "--moments"},
	} {
		o := tessera(t, args...)
		assert.Equal(t, job.ExitFailed, o.code, args)
		assert.Contains(t, o.stderr, "disk full", args)
		isEmpty(t, dir)
	}
}

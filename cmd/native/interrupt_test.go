//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tessera/app/job"
)

// Ctrl-C in the middle of the work ends it with 130 and leaves nothing.
func TestInterrupt(t *testing.T) {
	needDevice(t)
	clip := "../../assets/demo"
	latent := latentFile(t, 16, 9, 32, 32)
	cases := []struct {
		name   string
		args   []string
		signal os.Signal
	}{
		{"encode", []string{"encode", "-m", tiny, clip, "-o", "OUT/z.safetensors"}, os.Interrupt},
		{"decode to a folder", []string{"decode", "-m", tiny, latent, "-o", "OUT/frames"}, os.Interrupt},
		{"decode in tiles", []string{"decode", "-m", tiny, latent, "-o", "OUT/out.npy", "--tile=128", "--overlap=32"}, syscall.SIGTERM},
		{"demo", []string{"demo", "-o", "OUT/demo"}, os.Interrupt},
	}
	if haveFFmpeg() {
		cases = append(cases, struct {
			name   string
			args   []string
			signal os.Signal
		}{"roundtrip to mp4", []string{"roundtrip", "-m", tiny, clip, "-o", "OUT/out.mp4"}, os.Interrupt})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir, temp := t.TempDir(), t.TempDir()
			for i := range c.args {
				c.args[i] = strings.Replace(c.args[i], "OUT", dir, 1)
			}
			code, took, stderr := interrupted(t, c.signal, []string{"TMPDIR=" + temp}, c.args...)
			if code != job.ExitInterrupted {
				t.Errorf("exit code %d\n%s", code, stderr)
			}
			if !strings.HasSuffix(stderr, "tessera: interrupted\n") {
				t.Errorf("it says\n%s", stderr)
			}
			if took > 20*time.Second {
				t.Errorf("stopped after %v", took)
			}
			isEmpty(t, dir)
			isEmpty(t, temp)
		})
	}
}

// interrupted runs the program, signals it at its first line of progress, and
// tells how it ended and how long that took.
func interrupted(t *testing.T, signal os.Signal, env []string, args ...string) (code int, took time.Duration, stderr string) {
	t.Helper()
	cmd := exec.Command(built.program, args...)
	cmd.Env = append(os.Environ(), env...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	lines := bufio.NewReader(io.TeeReader(pipe, &all))
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, "frames/s") {
			break
		}
		if err != nil {
			cmd.Wait()
			t.Fatalf("it ended before any progress:\n%s", all.String())
		}
	}
	start := time.Now()
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, lines)
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), time.Since(start), all.String()
}

// A full disk is told as such and leaves nothing.
func TestDiskFull(t *testing.T) {
	needDevice(t)
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system can't be mounted: %s", out)
	}
	defer func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	}()
	latent, clip := latentFile(t, 16, 2, 16, 16), demoClip(t, 1, 256, 256)
	for _, args := range [][]string{
		{"decode", "-m", tiny, latent, "-o", filepath.Join(dir, "out.npy")},
		{"decode", "-m", tiny, latent, "-o", filepath.Join(dir, "frames")},
		{"encode", "-m", tiny, clip, "-o", filepath.Join(dir, "z.npy"), "--moments"},
	} {
		o := tessera(t, args...)
		if o.code != job.ExitFailed || !strings.Contains(o.stderr, "disk full") {
			t.Errorf("%v: exit code %d\n%s", args, o.code, o.stderr)
		}
		isEmpty(t, dir)
	}
}

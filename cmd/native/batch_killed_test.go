//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/batch"
	"tessera/app/job"
)

// batchAt starts a batch and waits until the given number of clips is done.
func batchAt(t *testing.T, clips int, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(built.program, args...)
	cmd.Env = append(os.Environ(), env...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	start(t, cmd)
	lines := bufio.NewReader(stdout)
	for range clips {
		_, err := lines.ReadString('\n')
		require.NoError(t, err)
	}
	go io.Copy(io.Discard, lines)
	return cmd
}

// A batch with --resume that was killed in the middle and then interrupted makes only
// what is missing. Its outputs equal those of single runs, and no other files remain.
func TestBatchKilled(t *testing.T) {
	t.Parallel()
	needDevice(t)
	names := []string{"a", "b", "c", "d", "e", "f"}
	in, single, out, temp := manyLatents(t, names...), t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range names {
		succeed(t, "decode", "-m", tiny, filepath.Join(in, name+".safetensors"), "-o", filepath.Join(single, name+".png"))
	}
	env := []string{"TMPDIR=" + temp}
	args := []string{"batch", "-m", tiny, filepath.Join(in, "*.safetensors"), "-o", filepath.Join(out, "{name}.png"), "--resume", "--quiet"}
	killed := batchAt(t, 2, env, args...)
	require.NoError(t, killed.Process.Kill())
	killed.Wait()

	stopped := batchAt(t, 3, env, args...)
	require.NoError(t, stopped.Process.Signal(os.Interrupt))
	stopped.Wait()
	if code := stopped.ProcessState.ExitCode(); code != job.ExitDone { // it may have finished earlier
		require.Equal(t, job.ExitInterrupted, code)
	}
	o := tesseraEnv(t, env, args...)
	require.Equal(t, job.ExitDone, o.code, o.stderr)
	all := outcomes(t, o.stdout)
	for i, name := range names {
		if i < 3 {
			assert.Equal(t, batch.Skipped, all[name].Status, name)
		}
		assert.Contains(t, []string{batch.Done, batch.Skipped}, all[name].Status, name)
	}
	made := relative(t, out)
	for name, is := range relative(t, single) {
		assert.True(t, made[name] == is, "%s differs", name)
		delete(made, name)
	}
	for name := range made {
		assert.True(t, strings.HasSuffix(name, ".png.done.json"), "left behind: %s", name)
	}
	assert.Len(t, made, len(names))
	isEmpty(t, temp)
}

// An interrupted clip says so, and the batch exits with 130.
func TestBatchInterrupted(t *testing.T) {
	t.Parallel()
	needDevice(t)
	in, out := latentFile(t, 16, 9, 32, 32), t.TempDir()
	list := manifest(t, fmt.Sprintf(`{"input": %q, "output": %q}`, in, filepath.Join(out, "frames")))
	stdout := filepath.Join(t.TempDir(), "stdout")
	f, err := os.Create(stdout)
	require.NoError(t, err)
	defer f.Close()
	cmd := exec.Command(built.program, "batch", "-m", tiny, "--manifest", list, events)
	cmd.Stdout = f
	code, stderr := interruptedCommand(t, os.Interrupt, cmd, func() {})
	assert.Equal(t, job.ExitInterrupted, code, stderr)
	assert.Contains(t, stderr, `"clip":"latent"`)
	text, err := os.ReadFile(stdout)
	require.NoError(t, err)
	assert.Equal(t, batch.Interrupted, outcomes(t, string(text))["latent"].Status)
	isEmpty(t, out)
}

// Ctrl-C ends the clips of all adapters, and the batch says how many are done.
func TestBatchSideBySideInterrupted(t *testing.T) {
	t.Parallel()
	needDevice(t)
	in, out := latentFile(t, 16, 9, 32, 32), t.TempDir()
	var lines []string
	for _, name := range []string{"a", "b", "c"} {
		lines = append(lines, fmt.Sprintf(`{"name": %q, "input": %q, "output": %q}`, name, in, filepath.Join(out, name)))
	}
	stdout := filepath.Join(t.TempDir(), "stdout")
	f, err := os.Create(stdout)
	require.NoError(t, err)
	defer f.Close()
	cmd := exec.Command(built.program, "batch", "-m", tiny, "--manifest", manifest(t, lines...), "--adapter=0,0", events)
	cmd.Stdout = f
	code, stderr := interruptedCommand(t, os.Interrupt, cmd, func() {})
	assert.Equal(t, job.ExitInterrupted, code, stderr)
	assert.Contains(t, stderr, `"text":"2 of 3 clips: 2 interrupted"`)
	text, err := os.ReadFile(stdout)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": batch.Interrupted, "b": batch.Interrupted}, statuses(t, string(text)))
	isEmpty(t, out)
}

//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// The first Ctrl-C ends a job within a second, wherever it is before its first
// step: reading, opening the device or planning, which for slices of this length
// takes long.
func TestInterruptBeforeWork(t *testing.T) {
	needDevice(t)
	model, latent := wan21(t), latentFile(t, 16, 1<<17, 1, 1)
	for _, after := range []time.Duration{300 * time.Millisecond, 600 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} {
		dir, temp := t.TempDir(), t.TempDir()
		cmd := exec.Command(built.program, "decode", "-m", model, latent, "-o", dir+"/out.npy", "--chunk=131072", "--tile=auto", "--memory=1GiB")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		time.Sleep(after)
		begun := time.Now()
		require.NoError(t, cmd.Process.Signal(os.Interrupt), "it ended before: %s", stderr.String())
		cmd.Wait()
		assert.Equal(t, job.ExitInterrupted, cmd.ProcessState.ExitCode(), "after %v: %s", after, stderr.String())
		assert.Less(t, time.Since(begun), time.Second, "after %v", after)
		isEmpty(t, dir)
		isEmpty(t, temp)
	}
}

// Ctrl-C also ends the sums over what small tiles of a long clip hand out.
func TestInterruptPlan(t *testing.T) {
	cmd := exec.Command(built.program, "plan", "-m", "seedvr2", "--frames=2000", "--size=7680x4320", "--tile=128")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	time.Sleep(3 * time.Second)
	begun := time.Now()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	cmd.Wait()
	assert.Equal(t, job.ExitInterrupted, cmd.ProcessState.ExitCode(), stderr.String())
	assert.Less(t, time.Since(begun), time.Second)
}

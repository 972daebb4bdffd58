package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// The first Ctrl-C ends a job within a second of processor time, wherever it is before
// its first step: reading, opening the device or planning, which takes long for slices of
// this length.
func TestInterruptBeforeWork(t *testing.T) {
	t.Parallel()
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
		took := interruptedWork(t, cmd)
		assert.Equal(t, job.ExitInterrupted, cmd.ProcessState.ExitCode(), "after %v: %s", after, stderr.String())
		assert.Less(t, took, time.Second, "after %v", after)
		isEmpty(t, dir)
		isEmpty(t, temp)
	}
}

// Ctrl-C also interrupts summing the results of small tiles of a long clip.
func TestInterruptPlan(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(built.program, "plan", "-m", "seedvr2", "--frames=2000", "--size=7680x4320", "--tile=128")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	time.Sleep(3 * time.Second)
	took := interruptedWork(t, cmd)
	assert.Equal(t, job.ExitInterrupted, cmd.ProcessState.ExitCode(), stderr.String())
	assert.Less(t, took, time.Second)
}

// interruptedWork interrupts a program and returns how much processor time it uses until
// its end. Time on the clock would include the machine's other work.
func interruptedWork(t *testing.T, cmd *exec.Cmd) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	require.NoError(t, err)
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	before := time.Duration(0)
	for _, ticks := range fields[11:13] { // user and system, in hundredths of a second
		n, err := strconv.Atoi(string(ticks))
		require.NoError(t, err)
		before += time.Duration(n) * 10 * time.Millisecond
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt), "it ended before")
	cmd.Wait()
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - before
}

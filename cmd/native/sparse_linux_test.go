package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/safetensors"
)

// hole is a file of a shape of which only the header takes room.
func hole(t *testing.T, name, tensor string, shape ...int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	size := int64(4)
	for _, d := range shape {
		size *= int64(d)
	}
	if filepath.Ext(name) == ".npy" {
		dims := fmt.Sprint(shape[0])
		for _, d := range shape[1:] {
			dims += fmt.Sprintf(", %d", d)
		}
		head := fmt.Sprintf("\x93NUMPY\x01\x00\x76\x00%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': ("+dims+"), }")
		write(t, path, []byte(head))
	} else {
		f, err := os.Create(path)
		require.NoError(t, err)
		_, err = safetensors.NewWriter(f, []safetensors.Spec{{Name: tensor, DType: safetensors.F32, Shape: shape}}, nil)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	if err := os.Truncate(path, info.Size()+size); err != nil {
		t.Skipf("no file of %d bytes here: %v", size, err)
	}
	return path
}

// Files of a terabyte that take no room end in one sentence, at once, and in
// little memory.
func TestSparseInput(t *testing.T) {
	for _, name := range []string{"z.npy", "z.safetensors", "z.latent"} {
		z := hole(t, name, "latent_tensor", 1, 16, 1<<16, 512, 512)
		bounded(t, job.ExitInput, "MiB of memory", "decode", "-m", tiny, z)
		bounded(t, job.ExitDone, "", "info", z)
		bounded(t, job.ExitInput, "expected at most 131072 along an axis", "info", hole(t, name, "latent_tensor", 16, 1<<20, 128, 128))
	}
	for _, name := range []string{"v.npy", "v.safetensors"} {
		long := hole(t, name, "frames", 3, 100_000, 1024, 894)
		bounded(t, job.ExitDone, "", "info", long)
		wide := hole(t, name, "frames", 3, 2, 1<<18, 1<<18)
		bounded(t, job.ExitInput, "at most 268435456 pixels", "encode", "-m", tiny, wide)
		many := hole(t, name, "frames", 3, 1<<20, 512, 170)
		bounded(t, job.ExitInput, "at most 131072 frames", "encode", "-m", tiny, many)
	}
}

func bounded(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	dir := t.TempDir()
	if args[0] != "info" {
		args = append(args, "-o", filepath.Join(dir, "out.safetensors"))
	}
	cmd := exec.Command(built.program, args...)
	begun := time.Now()
	out, _ := cmd.CombinedOutput()
	assert.Equal(t, code, cmd.ProcessState.ExitCode(), "%v: %.1000s", args, out)
	assert.Contains(t, string(out), want)
	assert.NotContains(t, string(out), "goroutine")
	assert.Less(t, time.Since(begun), 10*time.Second)
	assert.Less(t, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss, int64(300<<10), "kB of memory: %v", args)
	isEmpty(t, dir)
}

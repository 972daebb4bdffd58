package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/safetensors"
)

// peakFile names the file to which a copy of this program writes the peak memory, in kB,
// of the command that it runs. A process's peak starts with its parent's, which tests may
// have made large.
const peakFile = "TESSERA_TEST_PEAK"

func init() {
	file := os.Getenv(peakFile)
	if file == "" {
		return
	}
	os.Unsetenv(peakFile)
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Run()
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if err := os.WriteFile(file, []byte(strconv.FormatInt(peak, 10)), 0o600); err != nil {
		panic(err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// hole writes a file of a shape, of which only the header takes disk space.
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

// Sparse files of a terabyte are refused with one sentence, at once, and in little
// memory.
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
	peak := filepath.Join(t.TempDir(), "peak")
	cmd := exec.Command(os.Args[0], append([]string{built.program}, args...)...)
	cmd.Env = append(os.Environ(), peakFile+"="+peak)
	out, _ := cmd.CombinedOutput()
	assert.Equal(t, code, cmd.ProcessState.ExitCode(), "%v: %.1000s", args, out)
	assert.Contains(t, string(out), want)
	assert.NotContains(t, string(out), "goroutine")
	raw, err := os.ReadFile(peak)
	require.NoError(t, err)
	kB, err := strconv.Atoi(string(raw))
	require.NoError(t, err)
	assert.Less(t, kB, 300<<10, "kB of memory: %v", args)
	assert.Greater(t, kB, 1<<10, "kB of memory: %v", args)
	isEmpty(t, dir)
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/safetensors"
)

// allocated returns how many bytes do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// headed writes a file of tensors with a header of about 15 MB.
func headed(t *testing.T, named string, many int, meta map[string]string) string {
	t.Helper()
	specs := []safetensors.Spec{{Name: named, DType: safetensors.F32, Shape: []int{16, 1, 2, 2}}}
	for i := range many {
		specs = append(specs, safetensors.Spec{Name: fmt.Sprintf("tensor.number.%d.of.%d.weight", i, many), DType: safetensors.F32, Shape: []int{0}})
	}
	path := filepath.Join(t.TempDir(), "headed.safetensors")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = safetensors.NewWriter(f, specs, meta)
	require.NoError(t, err)
	_, err = f.Write(make([]byte, 256))
	require.NoError(t, err)
	return path
}

// Whatever kind of file info finds, it parses the header once.
func TestInfoReadsAHeaderOnce(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		code int
	}{
		"metadata":   {headed(t, "latent", 0, map[string]string{"long": strings.Repeat("x", 15<<20)}), job.ExitDone},
		"a latent":   {headed(t, "latent", 150_000, nil), job.ExitDone},
		"no model":   {headed(t, "weights", 150_000, map[string]string{"tessera.frames": "1"}), job.ExitDone},
		"two halves": {headed(t, "decoder.middle.0.residual.0.gamma", 150_000, nil), job.ExitInput},
	} {
		t.Run(name, func(t *testing.T) {
			once := allocated(func() {
				f, err := safetensors.Open(c.path)
				require.NoError(t, err)
				require.NoError(t, f.Close())
			})
			var stdout, stderr bytes.Buffer
			info := allocated(func() {
				require.Equal(t, c.code, run([]string{"info", c.path}, &stdout, &stderr), "%.500s", stderr.String())
			})
			t.Logf("once %d MB, info %d MB", once>>20, info>>20)
			require.Less(t, info, once*17/10+4<<20, "bytes that info allocates, where one reading takes %d", once)
		})
	}
}

// info does not read a latent's numbers: these would be refused.
func TestInfoReadsNoNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nan.npy")
	head := "\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (16, 1, 1, 1), }"
	head += strings.Repeat(" ", 10+0x46-len(head)-1) + "\n"
	write(t, path, append([]byte(head), bytes.Repeat([]byte{0xff}, 64)...))
	o := succeed(t, "info", path)
	require.Contains(t, o.stdout, "latent of 16 channels")
}

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Names that are not UTF-8 keep their bytes: of the checkpoint, of inputs, outputs,
// folders and patterns. Text shows the bytes escaped, JSON as surrogates.
func TestNamesKeepTheirBytes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("file systems here have no such names")
	}
	needDevice(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	model, err := os.ReadFile(tiny)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in("m\xfd.safetensors"), model, 0o600))
	require.NoError(t, os.Rename(demoClip(t, 2, 16, 24), in("clip\xff\xfe")))

	o := succeed(t, "encode", "-m", in("m\xfd.safetensors"), in("clip\xff\xfe"), "-o", in("z\xff.safetensors"))
	assert.Contains(t, o.stdout, `z\xff.safetensors`)
	_, meta := readTensor(t, in("z\xff.safetensors"))
	assert.Equal(t, "m\uFFFD.safetensors", meta["tessera.checkpoint"], "metadata is UTF-8")

	j := succeed(t, "decode", "-m", in("m\xfd.safetensors"), in("z\xff.safetensors"), "-o", in("out\xff"), "--json").stdout
	for _, name := range []string{`m\udcfd.safetensors"`, `z\udcff.safetensors"`, `out\udcff"`} {
		assert.Contains(t, j, name)
	}
	assert.Contains(t, succeed(t, "info", in("z\xff.safetensors"), "--json").stdout, `z\udcff.safetensors"`)
	succeed(t, "encode", "-m", tiny, in("out\xff/frame_%04d.png"), "-o", in("again\xfe.npy"))
	for _, name := range []string{"z\xff.safetensors", "out\xff/frame_0000.png", "again\xfe.npy"} {
		assert.FileExists(t, in(name))
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 5)
}

//go:build unix

package vae

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// Anything but a regular file is refused at once; reading it might block or never end.
func TestOnlyFilesAreCheckpoints(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.safetensors")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, want := range map[string]string{pipe: "a named pipe", "/dev/zero": "a device", dir: "a folder"} {
		_, err := Inspect(path, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.ErrorIs(t, err, ErrBadModel, path)
		require.ErrorContains(t, err, path+": "+want+", not a regular file")
	}
	_, err := Inspect(filepath.Join(dir, "none"), gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A pipe in the place of diffusers' config.json is not read.
func TestConfigThatIsAPipe(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "config.json"), 0o600))
	require.False(t, qwenConfig(filepath.Join(dir, "model.safetensors")))
}

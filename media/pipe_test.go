//go:build unix

package media

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe without a writer is refused at once, by every reader.
func TestPipesAreRefused(t *testing.T) {
	dir := t.TempDir()
	pipe := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		return path
	}
	refused := func(path string, err error) {
		require.ErrorIs(t, err, ErrInput)
		require.EqualError(t, err, "media: "+path+": a named pipe, not a regular file")
	}
	for _, name := range []string{"z.npy", "z.safetensors", "z.latent"} {
		path := pipe(name)
		_, err := ReadLatent(path, 16)
		refused(path, err)
	}
	for _, name := range []string{"v.npy", "v.safetensors", "v.y4m", "v.png", "v.mp4"} {
		path := pipe(name)
		_, err := Open(context.Background(), path, 3)
		refused(path, err)
		_, err = Inspect(context.Background(), path)
		refused(path, err)
	}
	if HaveFFmpeg() {
		path := pipe("sound.mp4")
		_, err := CreateWith(context.Background(), filepath.Join(dir, "out.mp4"), Format{Height: 2, Width: 2, Frames: 1}, CreateOptions{Sound: path, SoundAsked: true})
		refused(path, err)
	}
	frame := pipe("frames/0.png")
	_, err := Open(context.Background(), filepath.Dir(frame), 3)
	refused(frame, err)
}

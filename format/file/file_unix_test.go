//go:build unix

package file

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Anything but a regular file is named in the error, and a pipe without a writer does not
// block.
func TestOnlyFiles(t *testing.T) {
	dir, err := os.MkdirTemp("", "") // short enough for a socket
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer listener.Close()
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(pipe, link))
	for path, want := range map[string]string{
		pipe: "a named pipe", link: "a named pipe", socket: "a socket", "/dev/zero": "a device", dir: "a folder",
	} {
		_, _, err := Open(path)
		require.EqualError(t, err, "open "+path+": "+want+", not a regular file")
		_, ok := errors.AsType[*fs.PathError](err)
		require.True(t, ok, "%T", err)
		_, err = Look(path)
		require.ErrorContains(t, err, want)
	}
}

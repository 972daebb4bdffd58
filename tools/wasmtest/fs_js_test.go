package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests run in the browser, on the file system of fs.js.

func TestModuleFiles(t *testing.T) {
	data, err := os.ReadFile("fs_js_test.go")
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(data, []byte("package main")), "this file begins with %.20q", data)
	info, err := os.Stat("../../go.mod")
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular(), "%v", info.Mode())
	require.NotZero(t, info.Size())
	names, err := filepath.Glob("*_js_test.go")
	require.NoError(t, err)
	require.Contains(t, names, "fs_js_test.go")
	f, err := os.Open("fs_js_test.go")
	require.NoError(t, err)
	defer f.Close()
	part := make([]byte, 4)
	_, err = f.ReadAt(part, 8)
	require.NoError(t, err)
	require.Equal(t, "main", string(part))
	_, err = f.ReadAt(part, int64(len(data))-2)
	require.Equal(t, io.EOF, err, "read across the end")
	one, err := f.Stat()
	require.NoError(t, err)
	two, err := os.Stat("./../wasmtest/fs_js_test.go")
	require.NoError(t, err)
	require.True(t, os.SameFile(one, two), "one file under two names")
	require.Error(t, os.WriteFile("new", nil, 0o600), "a file was made in the module")
	for _, path := range []string{"none", "/etc/passwd", "../../../passwd", "/tmp/none"} {
		_, err := os.Open(path)
		require.ErrorIs(t, err, fs.ErrNotExist, path)
	}
}

func TestTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	long := bytes.Repeat([]byte("0123456789abcde\n"), 1<<19) // 8 MiB: more than a chunk
	require.NoError(t, os.WriteFile(path, long, 0o600))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(long, data), "read %d bytes, which differ", len(data))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	across := int64(4<<20 - 2)
	_, err = f.WriteAt([]byte("across"), across)
	require.NoError(t, err)
	_, err = f.Seek(across-1, io.SeekStart)
	require.NoError(t, err)
	got := make([]byte, 8)
	_, err = io.ReadFull(f, got)
	require.NoError(t, err)
	require.Equal(t, "dacross4", string(got), "across chunks")
	require.NoError(t, f.Truncate(10))
	require.NoError(t, f.Truncate(12))
	require.NoError(t, f.Close())
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "0123456789\x00\x00", string(data), "truncated")
	f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	f.WriteString("x")
	f.WriteString("y")
	f.Close()
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "0123456789\x00\x00xy", string(data), "appended")
}

func TestTemporaryDirectories(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "d", "a"), filepath.Join(dir, "b")
	require.NoError(t, os.MkdirAll(filepath.Dir(a), 0o700))
	require.NoError(t, os.WriteFile(a, []byte("a"), 0o600))
	require.Error(t, os.Remove(filepath.Dir(a)), "a directory that is not empty was removed")
	require.NoError(t, os.Rename(a, b))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, "b", entries[0].Name())
	require.False(t, entries[0].IsDir())
	require.True(t, entries[1].IsDir())
	_, err = os.OpenFile(b, os.O_CREATE|os.O_EXCL, 0o600)
	require.ErrorIs(t, err, fs.ErrExist, "made again")
	f, err := os.Open(b)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	_, err = os.Stat(b)
	require.ErrorIs(t, err, fs.ErrNotExist, "removed")
	data, err := io.ReadAll(f)
	require.NoError(t, err, "read after removal")
	require.Equal(t, "a", string(data))
	info, err := f.Stat()
	require.NoError(t, err, "stat after removal")
	require.EqualValues(t, 1, info.Size())
	f.Close()
	t.Chdir(os.TempDir())
	at, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, "/tmp", at)
}

// TestAsked does what the native test requests through the environment.
func TestAsked(t *testing.T) {
	switch os.Getenv("ASKED") {
	case "fail":
		t.Error("failed as asked")
	case "panic":
		panic("panicked as asked")
	case "exit":
		os.Exit(7)
	case "spin":
		os.Stdout.WriteString("spinning\n")
		for begun := time.Now(); time.Since(begun) < time.Hour; { // never yields
		}
	}
}

package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// These tests run in the browser, on the file system that fs.js makes.

func TestModuleFiles(t *testing.T) {
	data, err := os.ReadFile("fs_js_test.go")
	if err != nil || !bytes.HasPrefix(data, []byte("package main")) {
		t.Errorf("this file: %d bytes, %v", len(data), err)
	}
	info, err := os.Stat("../../go.mod")
	if err != nil || info.IsDir() || info.Size() == 0 {
		t.Errorf("go.mod: %v, %v", info, err)
	}
	names, err := filepath.Glob("*_js_test.go")
	if err != nil || !slices.Contains(names, "fs_js_test.go") {
		t.Errorf("glob: %v, %v", names, err)
	}
	f, err := os.Open("fs_js_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	part := make([]byte, 4)
	if _, err := f.ReadAt(part, 8); err != nil || string(part) != "main" {
		t.Errorf("read at 8: %q, %v", part, err)
	}
	if _, err := f.ReadAt(part, int64(len(data))-2); err != io.EOF {
		t.Errorf("read across the end: %v", err)
	}
	one, _ := f.Stat()
	if two, err := os.Stat("./../wasmtest/fs_js_test.go"); err != nil || !os.SameFile(one, two) {
		t.Errorf("one file under two names: %v", err)
	}
	if err := os.WriteFile("new", nil, 0o600); err == nil {
		t.Error("a file was made in the module")
	}
	for _, path := range []string{"none", "/etc/passwd", "../../../passwd", "/tmp/none"} {
		if _, err := os.Open(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	long := bytes.Repeat([]byte("0123456789abcde\n"), 1<<19) // 8 MiB: more than a chunk
	if err := os.WriteFile(path, long, 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, long) {
		t.Errorf("read %d bytes, %v", len(data), err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	across := int64(4<<20 - 2)
	if _, err := f.WriteAt([]byte("across"), across); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(across-1, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 8)
	if _, err := io.ReadFull(f, got); err != nil || string(got) != "dacross4" {
		t.Errorf("across chunks: %q, %v", got, err)
	}
	if err := f.Truncate(10); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(12); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "0123456789\x00\x00" {
		t.Errorf("truncated to %q", data)
	}
	if f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		t.Fatal(err)
	}
	f.WriteString("x")
	f.WriteString("y")
	f.Close()
	if data, _ := os.ReadFile(path); string(data[10:]) != "\x00\x00xy" {
		t.Errorf("appended to %q", data)
	}
}

func TestTemporaryDirectories(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "d", "a"), filepath.Join(dir, "b")
	if err := os.MkdirAll(filepath.Dir(a), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Dir(a)); err == nil {
		t.Error("a directory that is not empty was removed")
	}
	if err := os.Rename(a, b); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "b" || entries[0].IsDir() || !entries[1].IsDir() {
		t.Errorf("%v, %v", entries, err)
	}
	if f, err := os.OpenFile(b, os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made again: %v, %v", f, err)
	}
	f, err := os.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "a" {
		t.Errorf("read after removal: %q, %v", data, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 1 {
		t.Errorf("stat after removal: %v, %v", info, err)
	}
	f.Close()
	t.Chdir(os.TempDir())
	if at, err := os.Getwd(); err != nil || at != "/tmp" {
		t.Errorf("in %s, %v", at, err)
	}
}

// TestAsked does what the native test asks for by the environment.
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

// Package file opens regular files only: a pipe would wait for a writer, a device may
// never end, and neither can be read by range. Start at Open:
//
//	f, size, err := file.Open(path)
package file

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
)

// ByteOrderMark begins UTF-8 text files on Windows.
const ByteOrderMark = "\ufeff"

// Text returns a text file's content without a byte order mark. UTF-16, as Windows'
// PowerShell writes it, is an error.
func Text(text []byte) ([]byte, error) {
	if utf16(text) {
		return nil, errors.New("is UTF-16; save it as UTF-8")
	}
	return bytes.TrimPrefix(text, []byte(ByteOrderMark)), nil
}

// utf16 recognises UTF-16 by its byte order mark and two ASCII characters after it.
func utf16(text []byte) bool {
	if len(text) < 6 {
		return false
	}
	mark, a, b := string(text[:2]), text[2:4], text[4:6]
	return mark == "\xff\xfe" && a[0] > 0 && a[1] == 0 && b[0] > 0 && b[1] == 0 || mark == "\xfe\xff" && a[0] == 0 && a[1] > 0 && b[0] == 0 && b[1] > 0
}

// Open opens the file at path and returns its size. For anything but a regular file it
// returns, before opening it, an fs.PathError that says what it is.
func Open(path string) (*os.File, int64, error) {
	if _, err := Look(path); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// Look returns the file's info, with Open's errors, without opening it.
func Look(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return info, regular(path, info)
}

func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: errors.New(kind(info.Mode()) + ", not a regular file")}
}

// kind names what is not a regular file.
func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

package format

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file named like a checkpoint that is something else is identified, with advice.
func TestForeign(t *testing.T) {
	for text, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:20678548\nsize 501324814\n": "is a Git LFS pointer, which stands for the file",
		"\n<!DOCTYPE html>\n<html><head><title>Sign in</title>":                             "is a web page\ndownload the file itself",
		"\xef\xbb\xbf<HTML>": "is a web page",
		"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>": "is an XML text, which servers send in place of a file",
		"GGUF\x03\x00\x00\x00":                "is a GGUF file, whose weights are quantised for other programs",
		"\x89HDF\r\n\x1a\n":                   "is an HDF5 file",
		"\x93NUMPY\x01\x00\x46\x00{'":         "is a NumPy array",
		"\x1f\x8b\x08":                        "is a gzip archive\nunpack it",
		"Rar!\x1a\x07":                        "is a RAR archive\nunpack it",
		"7z\xbc\xaf\x27\x1c":                  "is a 7-Zip archive\nunpack it",
		`{"_class_name": "AutoencoderKLWan"}`: "is a JSON text, expected named tensors",
		"Entry not found\n":                   `is a text that begins with "Entry not found\n", not a safetensors file`,
		"Access to model Wan-AI/x is restricted. You must have access to it, and be authenticated": `is a text that begins with "Access to model Wan-AI/x is restricted.`,
		"\xff\xfe{\x00\"\x00w\x00":  "is UTF-16; save it as UTF-8",
		strings.Repeat("\x00", 100): "is zeros at the start, as after an interrupted download",
	} {
		path := filepath.Join(t.TempDir(), "vae.safetensors")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		f, err := Open(path)
		require.ErrorContains(t, err, path+": "+want, "%q", text)
		require.Nil(t, f)
		f, err = Read(bytes.NewReader([]byte(text)), int64(len(text)), "vae.pth")
		require.ErrorContains(t, err, "vae.pth: "+want)
		require.Nil(t, f)
	}
	index := `{"metadata": {"total_size": 7}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}`
	_, err := Read(strings.NewReader(index), int64(len(index)), "i.json")
	require.ErrorContains(t, err, "i.json: is the index of a checkpoint in several files, which only the program opens, if they lie beside it")
}

// extent records how far it was read.
type extent struct {
	io.ReaderAt
	end int64
}

func (e *extent) ReadAt(p []byte, offset int64) (int, error) {
	e.end = max(e.end, offset+int64(len(p)))
	return e.ReaderAt.ReadAt(p, offset)
}

// headed returns a safetensors file without tensors, with a header of length bytes.
func headed(length int) []byte {
	head := append([]byte("{}"), bytes.Repeat([]byte(" "), length-2)...)
	return append(binary.LittleEndian.AppendUint64(nil, uint64(length)), head...)
}

// Identifying a file reads 64 bytes of it, or its header, and 4096 of a JSON text. A
// header whose length has the bytes of blanks and a brace is not such a text.
func TestForeignReadsLittle(t *testing.T) {
	for _, length := range []int{56, '{', 0x7b20, 0x7b0a, 0x7b09} {
		file := headed(length)
		r := &extent{ReaderAt: bytes.NewReader(file)}
		require.NoError(t, foreign(r, "m.safetensors"), "header of %#x bytes", length)
		require.EqualValues(t, 64, r.end, "header of %#x bytes", length)
		f, err := Read(bytes.NewReader(file), int64(len(file)), "m.safetensors")
		require.NoError(t, err, "header of %#x bytes", length)
		require.Empty(t, f.Names())
	}
	for text, end := range map[string]int64{"<html>": 64, "version https://git-lfs.github.com/spec/v1\n": 4096} { // a pointer continues with the size
		r := &extent{ReaderAt: strings.NewReader(text + strings.Repeat(" ", 1<<20))}
		require.Error(t, foreign(r, "m.safetensors"))
		require.EqualValues(t, end, r.end, text)
	}
	late := "\xef\xbb\xbf \r\n{\"metadata\": {\"format\": \"" + strings.Repeat("x", 2000) + "\"}, \"weight_map\": {}}"
	r := &extent{ReaderAt: strings.NewReader(late)}
	require.ErrorContains(t, foreign(r, "m.json"), "is the index of a checkpoint in several files")
	require.EqualValues(t, 4096, r.end)
}

package format

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What people have under a checkpoint's name and is none is said by name, with what to
// do about it.
func TestForeign(t *testing.T) {
	for text, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:20678548\nsize 501324814\n": "is a Git LFS pointer, which stands for the file: fetch the file itself",
		"\n<!DOCTYPE html>\n<html><head><title>Sign in</title>":                             "is a web page: download the file itself",
		"\xef\xbb\xbf<HTML>": "is a web page",
		"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>": "is an XML text, which servers send in place of a file",
		"GGUF\x03\x00\x00\x00":        "is a GGUF file, whose weights are quantised for other programs",
		"\x89HDF\r\n\x1a\n":           "is an HDF5 file",
		"\x93NUMPY\x01\x00\x46\x00{'": "is a NumPy array",
		"\x1f\x8b\x08":                "is a gzip archive: unpack it",
		"Rar!\x1a\x07":                "is a RAR archive: unpack it",
		"7z\xbc\xaf\x27\x1c":          "is a 7-Zip archive: unpack it",
		`{"metadata": {"total_size": 7}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}`: "is the index of a checkpoint in several files",
		`{"_class_name": "AutoencoderKLWan"}`:                                                      "is a JSON text, expected named tensors",
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
}

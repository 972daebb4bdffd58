package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tessera/format/file"
	"tessera/format/quote"
)

// foreigners are files that people have under a checkpoint's or a latent's name, by how
// they begin, in small letters.
var foreigners = []struct{ begins, is string }{
	{"version https://git-lfs.github.com/spec/", "a Git LFS pointer, which stands for the file: fetch the file itself, with git lfs pull or from its page"},
	{"<!doctype html", "a web page: download the file itself; on Hugging Face its address has /resolve/ in place of /blob/"},
	{"<html", "a web page: download the file itself; on Hugging Face its address has /resolve/ in place of /blob/"},
	{"<!--", "a web page: download the file itself; on Hugging Face its address has /resolve/ in place of /blob/"},
	{"gguf", "a GGUF file, whose weights are quantised for other programs: take the VAE's .safetensors or .pth"},
	{"<?xml", "an XML text, which servers send in place of a file: download it again"},
	{"\x89hdf", "an HDF5 file, expected safetensors or torch's"},
	{"\x93numpy", "a NumPy array, expected named tensors"},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive: unpack it"},
	{"rar!", "a RAR archive: unpack it"},
	{"\x1f\x8b", "a gzip archive: unpack it"},
}

// placeholders are so many of them, the first, which are no video or picture under any name.
const placeholders = 5

// shardIndex is in the JSON that lists in which of several files each tensor is.
const shardIndex = `"weight_map"`

// A file's first bytes tell what it is. They are fewer than those of any safetensors
// header, of which a page reads no more than there is. A JSON text is read further.
const (
	firstBytes = 64
	textBytes  = 4 << 10
)

// foreign refuses a file that is neither safetensors nor torch's, where it can be told
// what it is.
func foreign(r io.ReaderAt, name string) error {
	head := begins(r, firstBytes)
	is := foreigner(head)
	if isJSON(head) {
		is = "a JSON text, expected named tensors"
		if isIndex(r) {
			is = "the index of a checkpoint in several files, which the program opens where they lie beside it: here take the one that has the VAE"
		}
	}
	if _, err := file.Text(head); err != nil {
		return &ForeignError{name, err}
	}
	switch {
	case is != "" || len(head) == 0:
	case isText(head):
		is = fmt.Sprintf("a text that begins with %q, not a safetensors file: servers send such in place of one", head)
	}
	if is == "" {
		return nil
	}
	return &ForeignError{name, errors.New("is " + is)}
}

// foreigner is which of foreigners begins so, "" for none.
func foreigner(head []byte) string {
	for _, f := range foreigners {
		if n := len(f.begins); len(head) >= n && lower(head[:n]) == f.begins {
			return f.is
		}
	}
	if len(head) == firstBytes && bytes.Count(head, []byte{0}) == firstBytes {
		return "zeros at its beginning, as where a download broke off: download it again"
	}
	return ""
}

// Foreign says what a file is that has one of the names of checkpoints and latents, and
// another format than any of them; "" where that cannot be told.
func Foreign(r io.ReaderAt) string {
	if is := foreigner(begins(r, firstBytes)); is != "" {
		return "is " + is
	}
	return ""
}

// ForeignError says what a file is that holds no named tensors.
type ForeignError struct {
	File string
	Err  error
}

func (e *ForeignError) Error() string { return "format: " + quote.Text(e.File) + ": " + e.Err.Error() }
func (e *ForeignError) Unwrap() error { return e.Err }

// Placeholder says what a file is that has the name of a video or picture, and that a
// server or Git has in its place, or that is a GGUF; "" for any other.
func Placeholder(r io.ReaderAt) string {
	head := lower(begins(r, firstBytes))
	for _, f := range foreigners[:placeholders] {
		if strings.HasPrefix(head, f.begins) {
			return "is " + f.is
		}
	}
	return ""
}

// isText tells a text, such as "Entry not found": all of the bytes are printable.
func isText(head []byte) bool {
	const least = 8 // of fewer there is not even a length
	return len(head) >= least && !slices.ContainsFunc(head, func(c byte) bool { return (c < ' ' || c > '~') && !bytes.ContainsRune([]byte("\t\r\n"), rune(c)) })
}

// begins are the first n bytes at most, without a byte order mark and blanks before
// them.
func begins(r io.ReaderAt, n int) []byte {
	head := make([]byte, n)
	n, _ = r.ReadAt(head, 0) // what can't be read is told when it is opened
	return bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte(file.ByteOrderMark)), " \t\r\n")
}

// isIndex tells the index of a checkpoint in several files.
func isIndex(r io.ReaderAt) bool {
	return isJSON(begins(r, firstBytes)) && bytes.Contains(begins(r, textBytes), []byte(shardIndex))
}

// isJSON tells a JSON object by how it begins. The length of a safetensors header may
// have these bytes too, and has zeros behind them.
func isJSON(head []byte) bool {
	return bytes.HasPrefix(head, []byte("{")) && bytes.IndexByte(head, 0) < 0
}

// lower is text with ASCII's letters small.
func lower(text []byte) string {
	small := bytes.Clone(text)
	for i, c := range small {
		if 'A' <= c && c <= 'Z' {
			small[i] += 'a' - 'A'
		}
	}
	return string(small)
}

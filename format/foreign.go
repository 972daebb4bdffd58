package format

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"tessera/format/file"
	"tessera/format/known"
	"tessera/format/quote"
)

// shardIndex is in the JSON that lists in which of several files each tensor is.
const shardIndex = `"weight_map"`

// foreign refuses a file that is neither safetensors nor torch's, where it can be told
// what it is. It reads known.Head bytes, which are fewer than those of any safetensors
// header, of which a page reads no more than there is, and known.More of a text.
func foreign(r io.ReaderAt, name string) error {
	head := begins(r, known.Head)
	if _, err := file.Text(head); err != nil {
		return &ForeignError{name, err}
	}
	m := known.ByStart(name, head, func() []byte { return begins(r, known.More) })
	if m == nil {
		m = known.Media(head)
	}
	switch {
	case m != nil || len(head) == 0:
	case isIndex(r):
		m = &known.Mistake{Is: "is the index of a checkpoint in several files, which the program opens where they lie beside it", Do: "take the one of the files that has the VAE"}
	case isJSON(head):
		m = &known.Mistake{Is: "is a JSON text, expected named tensors", Do: "take the .safetensors or .pth beside it"}
	case isText(head):
		m = &known.Mistake{Is: fmt.Sprintf("is a text that begins with %q, not a safetensors file", head), Do: "servers send such in place of a file: download it again"}
	}
	if m == nil {
		return nil
	}
	return &ForeignError{name, m}
}

// Foreign says what a file is that has one of the names of checkpoints and latents, and
// another format than any of them; nil where that cannot be told.
func Foreign(r io.ReaderAt, name string) error {
	if m := known.ByStart(name, begins(r, known.Head), func() []byte { return begins(r, known.More) }); m != nil {
		return m
	}
	return nil
}

// ForeignError says why a file holds no named tensors.
type ForeignError struct {
	File string
	Err  error
}

func (e *ForeignError) Error() string { return "format: " + quote.Text(e.File) + ": " + e.Err.Error() }
func (e *ForeignError) Unwrap() error { return e.Err }

// Placeholder says what a file is that has the name of a video or picture, and that a
// server or Git has in its place, or that is a GGUF; nil for any other.
func Placeholder(r io.ReaderAt, name string) error {
	if m := known.Placeholder(name, begins(r, known.Head), func() []byte { return begins(r, known.More) }); m != nil {
		return m
	}
	return nil
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
	return isJSON(begins(r, known.Head)) && bytes.Contains(begins(r, known.More), []byte(shardIndex))
}

// isJSON tells a JSON object by how it begins. The length of a safetensors header may
// have these bytes too, and has zeros behind them.
func isJSON(head []byte) bool {
	return bytes.HasPrefix(head, []byte("{")) && bytes.IndexByte(head, 0) < 0
}

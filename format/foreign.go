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

// shardIndex occurs in the JSON that lists the file of each tensor.
const shardIndex = `"weight_map"`

// foreign refuses a file that is neither safetensors nor torch's if it knows what the
// file is. It reads known.Head bytes, fewer than any safetensors header has, because a
// page reads nothing beyond the header, and known.More bytes of a text.
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
		m = &known.Mistake{Is: "is the index of a checkpoint in several files, which only the program opens, if they lie beside it", Do: "choose the file that has the VAE"}
	case isJSON(head):
		m = &known.Mistake{Is: "is a JSON text, expected named tensors", Do: "take the .safetensors or .pth beside it"}
	case isText(head):
		m = &known.Mistake{Is: fmt.Sprintf("is a text that begins with %q, not a safetensors file", head), Do: "servers send this in place of a file: download it again"}
	}
	if m == nil {
		return nil
	}
	return &ForeignError{name, m}
}

// Foreign says what a file is that is named like a checkpoint or latent but has another
// format; nil if unknown.
func Foreign(r io.ReaderAt, name string) error {
	if m := known.ByStart(name, begins(r, known.Head), func() []byte { return begins(r, known.More) }); m != nil {
		return m
	}
	return nil
}

// ForeignError says why a file contains no named tensors.
type ForeignError struct {
	File string
	Err  error
}

func (e *ForeignError) Error() string { return "format: " + quote.Text(e.File) + ": " + e.Err.Error() }
func (e *ForeignError) Unwrap() error { return e.Err }

// Placeholder says what a file is that is named like a video or picture, if a server or
// Git put it in the file's place, or if it is a GGUF; nil for other files.
func Placeholder(r io.ReaderAt, name string) error {
	if m := known.Placeholder(name, begins(r, known.Head), func() []byte { return begins(r, known.More) }); m != nil {
		return m
	}
	return nil
}

// isText recognises a text, such as "Entry not found": all bytes are printable.
func isText(head []byte) bool {
	const least = 8 // fewer bytes do not even hold a length
	return len(head) >= least && !slices.ContainsFunc(head, func(c byte) bool { return (c < ' ' || c > '~') && !bytes.ContainsRune([]byte("\t\r\n"), rune(c)) })
}

// begins returns at most the first n bytes, without a byte order mark or blanks before
// them.
func begins(r io.ReaderAt, n int) []byte {
	head := make([]byte, n)
	n, _ = r.ReadAt(head, 0) // opening the file reports a read error
	return bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte(file.ByteOrderMark)), " \t\r\n")
}

// isIndex recognises the index of a checkpoint in several files.
func isIndex(r io.ReaderAt) bool {
	return isJSON(begins(r, known.Head)) && bytes.Contains(begins(r, known.More), []byte(shardIndex))
}

// isJSON recognises a JSON object by its beginning. The length of a safetensors header
// may have these bytes too, but with zeros after them.
func isJSON(head []byte) bool {
	return bytes.HasPrefix(head, []byte("{")) && bytes.IndexByte(head, 0) < 0
}

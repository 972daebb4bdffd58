package pthtest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
)

// alignment is torch's alignment of an entry's data.
const alignment = 64

// Entry is one file of a zip.
type Entry struct {
	Name   string
	Data   func(io.Writer) error // nil for no data
	Method uint16                // zip.Store by default
}

// Zip writes entries as torch does: stored, with sizes after the data, each aligned to 64
// bytes by padding in an extra field.
func Zip(w io.Writer, entries ...Entry) error {
	out := &counter{w: w}
	z := zip.NewWriter(out)
	for i, e := range entries {
		if err := z.Flush(); err != nil {
			return err
		}
		at := out.n + 30 + len(e.Name) + 4
		if i > 0 {
			at += 16 // sizes and checksum of the previous entry, written with this one
		}
		part, err := z.CreateHeader(&zip.FileHeader{Name: e.Name, Method: e.Method, Extra: padding(-at & (alignment - 1))})
		if err == nil && e.Data != nil {
			err = e.Data(part)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// padding returns an extra field with n bytes in it.
func padding(n int) []byte {
	head := binary.LittleEndian.AppendUint16([]byte("FB"), uint16(n))
	return append(head, bytes.Repeat([]byte("Z"), n)...)
}

type counter struct {
	w io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}

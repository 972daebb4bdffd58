package vae

import "io"

// Spool holds the bytes of a blend, zero where nothing was written. Close
// discards them.
type Spool interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

package engine

import "io"

// Spool holds bytes that the device has no room for, zero where nothing was
// written. Close discards them.
type Spool interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Spooled is what a spool is to hold. Each run of a plan has one of its own for it.
type Spooled struct{ Bytes int64 }

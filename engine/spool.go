package engine

import "io"

// Spool stores bytes that do not fit on the device; bytes that were never written are
// zero. Close discards them.
type Spool interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Spooled declares a spool. Each run of a plan opens its own.
type Spooled struct{ Bytes int64 }

package engine

import "io"

// Spool holds bytes that the device has no room for, zero where nothing was
// written. Close discards them.
type Spool interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Spooled declares a spool. Each run of a plan opens its own.
type Spooled struct{ Bytes int64 }

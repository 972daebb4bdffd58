package engine

import (
	"fmt"
	"io"
)

// Spool holds bytes that the device has no room for, zero where nothing was
// written. Close discards them.
type Spool interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// spool makes one, of Options.Spool's kind.
func (o Options) spool(size int64) (Spool, error) {
	open := o.Spool
	if open == nil {
		open = newSpool
	}
	s, err := open(size)
	if err != nil {
		return nil, fmt.Errorf("engine: spool of %s: %w", Bytes(size), err)
	}
	return s, nil
}

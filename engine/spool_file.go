//go:build !js

package engine

import (
	"errors"
	"os"
)

// fileSpool is a temporary file.
type fileSpool struct{ *os.File }

func newSpool(size int64) (Spool, error) {
	f, err := os.CreateTemp("", "tessera-blend-*")
	if err != nil {
		return nil, err
	}
	s := fileSpool{f}
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close removes the file.
func (s fileSpool) Close() error { return errors.Join(s.File.Close(), os.Remove(s.Name())) }

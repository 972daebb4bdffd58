//go:build !js

package engine

import (
	"errors"
	"os"
)

// fileSpool is a temporary file. It has no name any more where the system lets
// an open file lose it: then it is gone with the program, however that ends.
type fileSpool struct {
	*os.File
	named bool
}

func newSpool(size int64) (Spool, error) {
	f, err := os.CreateTemp("", "tessera-blend-*")
	if err != nil {
		return nil, err
	}
	s := &fileSpool{f, os.Remove(f.Name()) != nil}
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close gives the disk back.
func (s *fileSpool) Close() error {
	err := s.File.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.Name()))
	}
	return err
}

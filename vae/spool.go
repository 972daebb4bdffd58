package vae

import (
	"fmt"
	"io"

	"tessera/tiling"
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
		return nil, fmt.Errorf("vae: spool of %s: %w", Bytes(size), err)
	}
	return s, nil
}

// moveFunc is a spool's ReadAt or WriteAt.
type moveFunc func(b []byte, at int64) (int, error)

// moveRows moves a rectangle of frame t between data and a spool of frames of a
// size, a row at a time. A pixel has so many bytes.
func moveRows(data []byte, pixel int, frame tiling.Size, t int, r tiling.Rect, move moveFunc) error {
	row := (r.X1 - r.X0) * pixel
	for y := r.Y0; y < r.Y1; y++ {
		at := (int64(t)*int64(frame.H)+int64(y))*int64(frame.W) + int64(r.X0)
		if n, err := move(data[(y-r.Y0)*row:][:row], at*int64(pixel)); n < row && err != nil && err != io.EOF {
			return fmt.Errorf("vae: spool: %w", err)
		}
	}
	return nil
}

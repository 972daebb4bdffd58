package runner

import (
	"fmt"
	"io"

	"tessera/engine"
	"tessera/tiling"
)

// spools are a run's open spools, by declaration.
type spools map[*engine.Spooled]engine.Spool

// open opens a spool.
func (s spools) open(of *engine.Spooled, maker func(size int64) (engine.Spool, error)) error {
	if maker == nil {
		maker = newSpool
	}
	spool, err := maker(of.Bytes)
	if err != nil {
		return fmt.Errorf("runner: spool of %s: %w", engine.Bytes(of.Bytes), err)
	}
	s[of] = spool
	return nil
}

// close discards all spools.
func (s spools) close() {
	for of, spool := range s {
		spool.Close()
		delete(s, of)
	}
}

// spooling is a sink that writes a part of a spool's frame.
type spooling struct {
	spool engine.Spool
	to    *engine.Rectangle
}

func (s *spooling) put(data []byte) error { return write(s.spool, s.to, data) }

// read fills data, which is all zeros, with a part of a spool's frame.
func read(from io.ReaderAt, part *engine.Rectangle, data []byte) error {
	return rows(part, data, func(b []byte, at int64) error {
		if n, err := from.ReadAt(b, at); n < len(b) && err != nil && err != io.EOF { // it was never written
			return err
		}
		return nil
	})
}

// write writes data to a part of a spool's frame.
func write(to io.WriterAt, part *engine.Rectangle, data []byte) error {
	return rows(part, data, func(b []byte, at int64) error {
		n, err := to.WriteAt(b, at)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite
		}
		return err
	})
}

// rows moves a rectangle row by row.
func rows(r *engine.Rectangle, data []byte, move func(b []byte, at int64) error) error {
	row := (r.Part.X1 - r.Part.X0) * r.Pixel
	for y := r.Part.Y0; y < r.Part.Y1; y++ {
		at := (int64(r.T)*int64(r.Size.H)+int64(y))*int64(r.Size.W) + int64(r.Part.X0)
		if err := move(data[(y-r.Part.Y0)*row:][:row], at*int64(r.Pixel)); err != nil {
			return fmt.Errorf("runner: spool: %w", err)
		}
	}
	return nil
}

// cropped returns the part of a frame that is kept.
func cropped(c *engine.Crop, raw []byte) []byte {
	pixel, size := c.To.Pixel, c.Part.Size()
	row := c.Width * pixel
	data := make([]byte, 0, size.H*size.W*pixel)
	for y := c.Part.Y0; y < c.Part.Y1; y++ {
		data = append(data, raw[y*row+c.Part.X0*pixel:y*row+c.Part.X1*pixel]...)
	}
	return data
}

// flat returns n bytes as a rectangle of one pixel.
func flat(n int) *engine.Rectangle {
	return &engine.Rectangle{Pixel: n, Size: tiling.Size{H: 1, W: 1}, Part: tiling.Rect{Y1: 1, X1: 1}}
}

// offset is a spool, starting at a byte.
type offset struct {
	spool engine.Spool
	at    int64
}

func (s *offset) ReadAt(b []byte, at int64) (int, error)  { return s.spool.ReadAt(b, s.at+at) }
func (s *offset) WriteAt(b []byte, at int64) (int, error) { return s.spool.WriteAt(b, s.at+at) }

package runner

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/tiling"
)

// inMemory is a spool in memory. Writes beyond its end fail.
type inMemory []byte

func (s inMemory) ReadAt(p []byte, at int64) (int, error) {
	if n := copy(p, s[min(at, int64(len(s))):]); n < len(p) {
		return n, io.EOF
	}
	return len(p), nil
}

func (s inMemory) WriteAt(p []byte, at int64) (int, error) {
	if n := copy(s[min(at, int64(len(s))):], p); n < len(p) {
		return n, io.ErrShortWrite
	}
	return len(p), nil
}

func (s inMemory) Close() error { return nil }

// numbered returns n bytes that identify their position, none of them zero.
func numbered(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i%255 + 1)
	}
	return b
}

// A rectangle's bytes are at its rows and columns of its frame, and only there.
func TestRectangle(t *testing.T) {
	const frames = 3
	size := tiling.Size{H: 5, W: 7}
	for _, pixel := range []int{1, 4, 12} {
		for _, part := range []tiling.Rect{
			{Y1: 5, X1: 7}, {Y0: 1, Y1: 4, X0: 2, X1: 6}, {Y0: 4, Y1: 5, X0: 6, X1: 7}, {Y0: 2, Y1: 3, X1: 7}, {Y1: 5, X0: 3, X1: 4}, {Y0: 2, Y1: 2, X1: 7},
		} {
			for frame := range frames {
				bytes := part.Size().H * part.Size().W * pixel
				spool := make(inMemory, frames*size.H*size.W*pixel)
				data, want := numbered(bytes), make(inMemory, len(spool))
				next := 0
				for i := range want {
					x, y, at := i/pixel%size.W, i/pixel/size.W%size.H, i/pixel/size.W/size.H
					if at == frame && y >= part.Y0 && y < part.Y1 && x >= part.X0 && x < part.X1 {
						want[i] = data[next]
						next++
					}
				}
				require.Equal(t, bytes, next)
				r := &engine.Rectangle{Pixel: pixel, Size: size, T: frame, Part: part}
				require.NoError(t, write(spool, r, data))
				require.Equal(t, want, spool, "%+v of frame %d, %d bytes a pixel", part, frame, pixel)
				got := make([]byte, bytes)
				require.NoError(t, read(spool, r, got))
				require.Equal(t, data, got, "%+v of frame %d, %d bytes a pixel", part, frame, pixel)
			}
		}
	}
}

// broken is a spool that always fails.
type broken struct{ inMemory }

var errFull = errors.New("no space left")

func (broken) ReadAt([]byte, int64) (int, error)  { return 0, errFull }
func (broken) WriteAt([]byte, int64) (int, error) { return 0, errFull }

func TestRectangleTellsErrors(t *testing.T) {
	r := &engine.Rectangle{Pixel: 4, Size: tiling.Square(2), Part: tiling.Rect{Y1: 2, X1: 2}}
	require.ErrorIs(t, write(broken{}, r, make([]byte, 16)), errFull)
	require.ErrorIs(t, read(broken{}, r, make([]byte, 16)), errFull)
	err := spools{}.open(&engine.Spooled{Bytes: 3 << 20}, func(int64) (engine.Spool, error) { return nil, errFull })
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, "runner: spool of 3.0 MiB")
}

// Bytes that were never written read as zeros, like data before it is read.
func TestSpoolsAreZeros(t *testing.T) {
	of, all := &engine.Spooled{Bytes: 64}, spools{}
	require.NoError(t, all.open(of, nil))
	s := all[of]
	require.NoError(t, write(s, &engine.Rectangle{Pixel: 4, Size: tiling.Square(4), Part: tiling.Rect{Y0: 1, Y1: 3, X0: 1, X1: 3}}, numbered(16)))
	got := make([]byte, 64)
	require.NoError(t, read(s, &engine.Rectangle{Pixel: 4, Size: tiling.Square(4), Part: tiling.Rect{Y1: 4, X1: 4}}, got))
	want := make([]byte, 64)
	copy(want[20:28], numbered(16))
	copy(want[36:44], numbered(16)[8:])
	require.Equal(t, want, got)
	all.close()
	require.Empty(t, all)
	if f, ok := s.(interface{ Name() string }); ok {
		_, err := os.Stat(f.Name())
		require.ErrorIs(t, err, os.ErrNotExist, "the file is left behind")
	}
}

// brief writes one byte less than it is given, and reports no error.
type brief struct{ inMemory }

func (s brief) WriteAt(p []byte, at int64) (int, error) { return len(p) - 1, nil }

// A spool that does not write all bytes is a failure.
func TestShortWriteIsTold(t *testing.T) {
	r := &engine.Rectangle{Pixel: 4, Size: tiling.Square(4), Part: tiling.Rect{Y1: 2, X1: 2}}
	require.ErrorIs(t, write(brief{make(inMemory, 64)}, r, make([]byte, 16)), io.ErrShortWrite)
}

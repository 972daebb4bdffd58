package engine

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/tiling"
	"tessera/wgsl"
)

// inMemory is a spool in memory. What lies beyond its end can't be written.
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

// numbered are n bytes that tell where they are, none of them zero.
func numbered(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i%255 + 1)
	}
	return b
}

// A rectangle's bytes lie at its rows and columns of its frame, and nowhere
// else.
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
				r := &rectangle{spool, pixel, size, frame, part}
				require.NoError(t, r.put(nil, data))
				require.Equal(t, want, spool, "%+v of frame %d, %d bytes a pixel", part, frame, pixel)
				got := make([]byte, bytes)
				require.NoError(t, r.get(nil, got))
				require.Equal(t, data, got, "%+v of frame %d, %d bytes a pixel", part, frame, pixel)
			}
		}
	}
}

// broken is a spool that can't.
type broken struct{ inMemory }

var errFull = errors.New("no space left")

func (broken) ReadAt([]byte, int64) (int, error)  { return 0, errFull }
func (broken) WriteAt([]byte, int64) (int, error) { return 0, errFull }

func TestRectangleTellsErrors(t *testing.T) {
	r := &rectangle{broken{}, 4, tiling.Square(2), 0, tiling.Rect{Y1: 2, X1: 2}}
	require.ErrorIs(t, r.put(nil, make([]byte, 16)), errFull)
	require.ErrorIs(t, r.get(nil, make([]byte, 16)), errFull)
	_, err := Options{Spool: func(int64) (Spool, error) { return nil, errFull }}.spool(3 << 20)
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, "engine: spool of 3.0 MiB")
}

// What was never written is zeros, as data is before it is got.
func TestSpoolsAreZeros(t *testing.T) {
	s, err := Options{}.spool(64)
	require.NoError(t, err)
	r := &rectangle{s, 4, tiling.Square(4), 0, tiling.Rect{Y0: 1, Y1: 3, X0: 1, X1: 3}}
	require.NoError(t, r.put(nil, numbered(16)))
	got := make([]byte, 64)
	require.NoError(t, (&rectangle{s, 4, tiling.Square(4), 0, tiling.Rect{Y1: 4, X1: 4}}).get(nil, got))
	want := make([]byte, 64)
	copy(want[20:28], numbered(16))
	copy(want[36:44], numbered(16)[8:])
	require.Equal(t, want, got)
	require.NoError(t, s.Close())
	if f, ok := s.(interface{ Name() string }); ok {
		_, err := os.Stat(f.Name())
		require.ErrorIs(t, err, os.ErrNotExist, "the file is left behind")
	}
}

// Halves and floats come back as they were stored.
func TestEncode(t *testing.T) {
	v := []float32{0, 1, -2.5, 65504, 0.000061035156}
	for _, elem := range []wgsl.Elem{wgsl.F32, wgsl.F16, wgsl.Packed} {
		b := make([]byte, len(v)*elem.Bytes())
		encode(b, v, elem)
		got := make([]float32, len(v))
		decode(got, b, elem)
		require.Equal(t, v, got, "stored as %v", elem)
	}
}

//go:build !js

package media

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNPYFromNumPy reads what NumPy wrote; see testdata/npy/make_npy.py.
func TestNPYFromNumPy(t *testing.T) {
	for _, name := range []string{"f2", "f4", "f8", "big", "version2"} {
		clip := openClip(t, filepath.Join("testdata/npy", name+".npy"), Format{Height: 2, Width: 2, Frames: 1})
		frame := readFrame(t, clip, 0)
		want := make([]float32, 12)
		for i := range 12 { // i counts in [3,1,2,2]
			want[i%4*3+i/4] = float32(i-6) / 8
		}
		assert.Equal(t, want, frame, name)
	}
	for name, want := range map[string]string{
		"int":     `dtype "<i4", expected float16, float32 or float64`,
		"fortran": "Fortran order",
		"scalar":  "shape [], expected [3,T,H,W]",
	} {
		_, err := Open(context.Background(), filepath.Join("testdata/npy", name+".npy"), 3)
		assert.ErrorContains(t, err, want, name)
	}
}

func TestNPYHeaders(t *testing.T) {
	header := func(text string) string {
		return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
	}
	good := "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n"
	for _, c := range []struct{ file, want string }{
		{"\x93NUMPY", "too few"},
		{"\x93NUMPX\x01\x00\x00\x00\x00\x00", "not a .npy file"},
		{"\x93NUMPY\x09\x00\x00\x00\x00\x00", "format version 9"},
		{"\x93NUMPY\x02\x00\xff\xff\xff\xff", "header length 4294967295"},
		{"\x93NUMPY\x01\x00\xff\x00{'descr'", "header length 255"},
		{header("{'descr': '<f4'}\n     "), "expected a dictionary"},
		{header(strings.Replace(good, "(2, 1)", "(2, -1)", 1)), "expected a dictionary"},
		{header(strings.Replace(good, "(2, 1)", "(99999999999999999999,)", 1)), "value out of range"},
		{header(strings.Replace(good, "(2, 1)", "(4611686018427387904, 4)", 1)), "beyond 2^63 bytes"},
		{header(strings.Replace(good, "<f4", "|O", 1)), "dtype"},
		{header(good) + "1234567", "truncated: shape [2 1] needs 8 bytes of data, the file holds 7"},
		{header(good) + "123456789", "1 bytes follow the data"},
	} {
		_, err := openNPY(strings.NewReader(c.file), int64(len(c.file)))
		assert.ErrorContains(t, err, c.want, "%.60q", c.file)
	}
}

func TestNPYPrefix(t *testing.T) {
	for _, shape := range [][]int{{1}, {3, 5}, {16, 1000, 135, 240}, {1 << 40, 1 << 10, 3, 4, 5}} {
		prefix := npyPrefix(shape)
		assert.Zero(t, len(prefix)%64, "%v: %d bytes", shape, len(prefix))
		assert.Equal(t, byte('\n'), prefix[len(prefix)-1], "%v", shape)
		text, data, err := npyHeader(bytes.NewReader(prefix), int64(len(prefix)))
		require.NoError(t, err, "%v", shape)
		require.EqualValues(t, len(prefix), data, "%v: where data begins", shape)
		_, got, err := parseNPY(text)
		require.NoError(t, err, "%v", shape)
		assert.Equal(t, shape, got)
	}
}

// TestNPYTruncatedLater: a file that shrinks after opening is an error, not
// old data.
func TestNPYTruncatedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	f := Format{Height: 4, Width: 4, Frames: 2}
	writeClip(t, path, f)
	clip := openClip(t, path, f)
	require.NoError(t, os.Truncate(path, 200))
	require.ErrorContains(t, clip.ReadFrame(1, make([]float32, 48)), "x.npy: frame 1: unexpected EOF")
}

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

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
)

// TestNPYFromNumPy reads NumPy's files; see testdata/npy/make_npy.py.
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

// TestNPYTruncatedLater: a file that shrinks after opening gives an error, not old data.
func TestNPYTruncatedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	f := Format{Height: 4, Width: 4, Frames: 2}
	writeClip(t, path, f)
	clip := openClip(t, path, f)
	require.NoError(t, os.Truncate(path, 200))
	require.ErrorContains(t, clip.ReadFrame(1, make([]float32, 48)), "x.npy: frame 1: unexpected EOF")
}

// Pixels may have any order that the shape identifies, in .npy, safetensors and torch's
// files.
func TestOrdersOfPixels(t *testing.T) {
	const c, f, h, w = 3, 5, 6, 7
	value := func(channel, frame, y, x int) byte { return byte(((channel*f+frame)*h+y)*w + x) }
	size := map[rune]int{'B': 1, 'C': c, 'F': f, 'H': h, 'W': w}
	for _, order := range []string{"CFHW", "FCHW", "FHWC", "BCFHW", "BFCHW", "BFHWC", "CHW", "HWC"} {
		var shape []int
		n := 1
		for _, letter := range order {
			shape = append(shape, size[letter])
			n *= size[letter]
		}
		codes, floats := make([]byte, n), make([]float32, n)
		for i := range codes {
			place, rest := map[rune]int{}, i
			for j := len(order) - 1; j >= 0; j-- {
				place[rune(order[j])] = rest % shape[j]
				rest /= shape[j]
			}
			codes[i] = value(place['C'], place['F'], place['H'], place['W'])
			floats[i] = float32(codes[i])/127.5 - 1
		}
		dir := t.TempDir()
		files := map[string][]byte{
			"floats.npy":         append(npyPrefix(shape), floatBytes(nil, floats)...),
			"codes.npy":          append(bytes.Replace(npyPrefix(shape), []byte("<f4"), []byte("|u1"), 1), codes...),
			"floats.safetensors": latentFile(t, nil, latentTensor{"frames", safetensors.F32, shape, floats}),
		}
		for name, tensor := range map[string]pthtest.Tensor{
			"floats.pt": {Name: "video", DType: safetensors.F32, Shape: shape, Data: pthtest.Bytes(floatBytes(nil, floats))},
			"codes.pth": {Name: "anything", DType: safetensors.U8, Shape: shape, Data: pthtest.Bytes(codes)},
		} {
			var b bytes.Buffer
			require.NoError(t, pthtest.Write(&b, []pthtest.Tensor{tensor}, pthtest.Options{}))
			files[name] = b.Bytes()
		}
		for name, file := range files {
			about := order + " in " + name
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, file, 0o666))
			for _, channels := range []int{3, 4} {
				var notes []string
				clip, err := OpenWith(context.Background(), path, channels, OpenOptions{Note: func(text string) { notes = append(notes, text) }})
				require.NoError(t, err, about)
				assert.Empty(t, notes, about)
				frames := f
				if len(strings.TrimPrefix(order, "B")) == 3 {
					frames = 1
				}
				require.Equal(t, frames, clip.Frames(), about)
				dst := make([]float32, channels*h*w)
				for frame := range frames {
					require.NoError(t, clip.ReadFrame(frame, dst), about)
					for i, v := range dst {
						want := float32(1)
						if channel := i % channels; channel < c {
							want = float32(value(channel, frame, i/channels/w, i/channels%w))/127.5 - 1
						}
						require.Equal(t, want, v, "%s: frame %d, value %d", about, frame, i)
					}
				}
				require.NoError(t, clip.Close())
			}
		}
	}
}

// A shape that fits several orders gets a note; RGBA of three frames is not read as four
// frames of RGB, nor a latent as a clip.
func TestDoubtfulOrdersOfPixels(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o666))
		return path
	}
	var notes []string
	path := file("three.npy", append(npyPrefix([]int{3, 3, 2, 3}), make([]byte, 4*54)...))
	clip, err := OpenWith(context.Background(), path, 3, OpenOptions{Note: func(text string) { notes = append(notes, text) }})
	require.NoError(t, err)
	require.NoError(t, clip.Close())
	assert.Equal(t, []string{path + ": shape [3 3 2 3] is read as CFHW, but could be FCHW or FHWC"}, notes)

	pt := func(name string, shape []int, extra ...string) []byte {
		n := 1
		for _, d := range shape {
			n *= d
		}
		tensors := []pthtest.Tensor{{Name: name, DType: safetensors.F32, Shape: shape, Data: pthtest.Bytes(make([]byte, 4*n))}}
		for _, other := range extra {
			tensors = append(tensors, pthtest.Tensor{Name: other, DType: safetensors.F32, Shape: []int{1}, Data: pthtest.Bytes(make([]byte, 4))})
		}
		var b bytes.Buffer
		require.NoError(t, pthtest.Write(&b, tensors, pthtest.Options{}))
		return b.Bytes()
	}
	for want, content := range map[string][]byte{
		"shape [4 3 2 5], expected [3,T,H,W]: they are RGBA":              pt("frames", []int{4, 3, 2, 5}),
		"shape [2 5 6 4], expected [T,H,W,3]: they are RGBA":              pt("frames", []int{2, 5, 6, 4}),
		"shape [16 2 5 6], expected [3,T,H,W], [T,3,H,W] or [T,H,W,3]":    pt("samples", []int{16, 2, 5, 6}),
		"is a latent of shape [16 2 5 3], expected a video":               pt("latents", []int{16, 2, 5, 3}),
		"is a latent of shape [16 1 5 3], expected a video":               pt("latent_image", []int{16, 1, 5, 3}),
		"is a latent of shape [3 2 5 6], expected a video":                pt("latents_2x5x6_float32", []int{3, 2, 5, 6}),
		"is a latent of shape [16 2 5 7], expected a video":               pt("latents", []int{16, 2, 5, 7}, "mask", "y"),
		"2 tensors (a, b), expected one named frames, video, samples, or": pt("a", []int{3, 2, 5, 6}, "b"),
	} {
		_, err := Open(context.Background(), file("z.pt", content), 3)
		assert.ErrorIs(t, err, ErrInput, want)
		assert.ErrorContains(t, err, want)
	}
	_, err = Inspect(context.Background(), file("z.npy", append(npyPrefix([]int{16, 1, 2, 3}), make([]byte, 4*96)...)))
	require.ErrorContains(t, err, "shape [16 1 2 3], expected [4,T,H,W]", "info takes it for a latent")
}

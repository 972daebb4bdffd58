package main

import (
	"encoding/binary"
	"encoding/json"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/tiff"

	"tessera/app/job"
)

// samples16 returns the 16-bit colours of a PNG or TIFF, row by row.
func samples16(t *testing.T, path string) []uint16 {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	decode := png.Decode
	if strings.HasPrefix(filepath.Ext(path), ".tif") {
		decode = tiff.Decode
	}
	img, err := decode(f)
	require.NoError(t, err, path)
	var all []uint16
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			all = append(all, uint16(r), uint16(g), uint16(b))
		}
	}
	return all
}

// TestDeepFrames: --pix-fmt of 16 bits writes .npy's floats rounded once, by a command,
// by a batch and after --resume; impossible formats are refused before the work.
func TestDeepFrames(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	z := latentFile(t, 16, 1, 3, 2)
	succeed(t, "decode", "-m", tiny, z, "-o", in("floats.safetensors"))
	x, _ := readTensor(t, in("floats.safetensors"))
	plane := len(x.data) / 3
	var want []uint16
	levels := map[uint16]bool{}
	for i := range plane {
		for c := range 3 {
			v := math.Round((math.Max(-1, math.Min(1, float64(x.data[c*plane+i]))) + 1) / 2 * 65535)
			want = append(want, uint16(v))
			levels[uint16(v)] = true
		}
	}
	require.Greater(t, len(levels), 256, "more than 8 bits")
	succeed(t, "decode", "-m", tiny, z, "-o", in("a.png"), "--pix-fmt=rgb48be")
	succeed(t, "decode", "-m", tiny, z, "-o", in("a.tiff"), "--pix-fmt=rgb48le", "--resume")
	succeed(t, "decode", "-m", tiny, z, "-o", in("frames"), "--pix-fmt=rgb48be")
	line, err := json.Marshal(clipLine{Input: z, Output: in("b.tif"), Options: map[string]any{"pix-fmt": "rgb48le"}})
	require.NoError(t, err)
	succeed(t, "batch", "-m", tiny, "--manifest", manifest(t, string(line)), "--progress=none")
	for _, name := range []string{"a.png", "a.tiff", "b.tif", filepath.Join("frames", "frame_0000.png")} {
		assert.Equal(t, want, samples16(t, in(name)), name)
	}
	refuse(t, []refusal{
		{name: "yuv", args: "decode -m " + tiny + " " + z + " -o OUT.png --pix-fmt yuv420p", code: job.ExitUsage, want: `pixel format "yuv420p" of frames of 3 channels, expected rgb24, rgb48be, rgb48le`},
		{name: "floats", args: "decode -m " + tiny + " " + z + " -o OUT.tiff --pix-fmt gbrpf32le", code: job.ExitUsage, want: `expected rgb24, rgb48be, rgb48le`},
	})
}

// TestLightThereAndBack: a decode to OpenEXR is the light of a decode to floats. Encoding
// it, as a file, from standard input or as a picture in a folder, equals encoding the
// floats.
func TestLightThereAndBack(t *testing.T) {
	t.Parallel()
	needDevice(t)
	if !haveFFmpeg() {
		t.Skip("needs ffmpeg")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	z := latentFile(t, 16, 1, 3, 2)
	succeed(t, "decode", "-m", tiny, z, "-o", in("x.safetensors"))
	succeed(t, "decode", "-m", tiny, z, "-o", in("x.exr"))
	succeed(t, "decode", "-m", tiny, z, "-o", in("frames"), "--pix-fmt=gbrpf32le")
	x, _ := readTensor(t, in("x.safetensors"))
	plane := len(x.data) / 3
	width := x.shape[3]
	file := read(t, in("x.exr"))
	assert.Equal(t, file, read(t, filepath.Join(in("frames"), "frame_0000.exr")))
	line := 8 + 3*4*width // number and length of a row, and its planes B, G, R of floats
	rows := file[len(file)-plane/width*line:]
	for i := range plane {
		for p, c := range []int{2, 1, 0} {
			u := (math.Max(-1, math.Min(1, float64(x.data[c*plane+i]))) + 1) / 2
			light := u / 12.92 // IEC 61966-2-1
			if u > 0.04045 {
				light = math.Pow((u+0.055)/1.055, 2.4)
			}
			at := i/width*line + 8 + 4*(p*width+i%width)
			require.InDelta(t, light, math.Float32frombits(binary.LittleEndian.Uint32([]byte(rows[at:]))), 1e-7)
		}
	}

	for i, v := range x.data { // with the file's light
		x.data[i] = max(-1, min(1, v))
	}
	clamped := writeTensors(t, in("clamped.safetensors"), nil, tensor{"frames", x.shape, x.data})
	succeed(t, "encode", "-m", tiny, clamped, "-o", in("want.safetensors"))
	want, _ := readTensor(t, in("want.safetensors"))
	for _, input := range []string{"x.exr", "frames", filepath.Join("frames", "frame_%04d.exr")} {
		succeed(t, "encode", "-m", tiny, in(input), "-o", in("got.safetensors"))
		got, _ := readTensor(t, in("got.safetensors"))
		require.InDeltaSlice(t, want.data, got.data, 1e-4, input)
	}
	o := piped(t, strings.NewReader(file), "encode", "-m", tiny, "-", "-o", "-", "--format=npy")
	require.Equal(t, 0, o.code, o.stderr)
	succeed(t, "encode", "-m", tiny, in("x.exr"), "-o", in("got.npy"))
	assert.Equal(t, read(t, in("got.npy")), o.stdout)
}

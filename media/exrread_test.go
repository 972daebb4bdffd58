//go:build !js

package media

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/x448/float16"
)

// exrSample is a channel of a test's file.
type exrSample struct {
	name    string
	half    bool
	values  []float32
	integer bool
}

// exrFile assembles an uncompressed OpenEXR file, with one row per width values and
// further attributes, from the format's description.
func exrFile(width int, flags uint32, more []byte, channels ...exrSample) []byte {
	le := binary.LittleEndian
	channels = slices.Clone(channels)
	slices.SortFunc(channels, func(a, b exrSample) int { return cmp.Compare(a.name, b.name) })
	height := len(channels[0].values) / width
	out := le.AppendUint32([]byte("\x76\x2f\x31\x01"), 2|flags)
	attribute := func(name, kind, data string) {
		out = append(out, name+"\x00"+kind+"\x00"...)
		out = append(le.AppendUint32(out, uint32(len(data))), data...)
	}
	u32 := func(v ...int32) string {
		var b []byte
		for _, v := range v {
			b = le.AppendUint32(b, uint32(v))
		}
		return string(b)
	}
	list := ""
	for _, c := range channels {
		kind := int32(2)
		if c.half {
			kind = 1
		}
		if c.integer {
			kind = 0
		}
		list += c.name + "\x00" + u32(kind, 0, 1, 1)
	}
	window := u32(0, 0, int32(width-1), int32(height-1))
	one := u32(int32(math.Float32bits(1)))
	attribute("channels", "chlist", list+"\x00")
	attribute("compression", "compression", "\x00")
	attribute("dataWindow", "box2i", window)
	attribute("displayWindow", "box2i", window)
	attribute("lineOrder", "lineOrder", "\x00")
	attribute("pixelAspectRatio", "float", one)
	attribute("screenWindowCenter", "v2f", u32(0, 0))
	attribute("screenWindowWidth", "float", one)
	out = append(append(out, more...), 0)
	var rows [][]byte
	for y := range height {
		var row []byte
		for _, c := range channels {
			for _, v := range c.values[y*width:][:width] {
				if c.half {
					row = le.AppendUint16(row, float16.Fromfloat32(v).Bits())
				} else {
					row = le.AppendUint32(row, math.Float32bits(v))
				}
			}
		}
		rows = append(rows, append(le.AppendUint32(le.AppendUint32(nil, uint32(y)), uint32(len(row))), row...))
	}
	at := len(out) + 8*height
	for _, row := range rows {
		out = le.AppendUint64(out, uint64(at))
		at += len(row)
	}
	return append(out, bytes.Join(rows, nil)...)
}

// steps are levels of linear light with known 8-bit codes in sRGB's curve: 0.5 is 187.52,
// 0.2140 is 127.5 (the usual middle), 0.0031308 is 10.31, 0.001 is 12.92*0.255 = 3.29.
var steps = map[float32]float64{0: 0, 1: 255, 0.5: 187.5160, 0.21404114: 127.5, 0.0031308: 10.3149, 0.001: 3.2946, 0.0625: 70.7126}

// TestLinearLight: OpenEXR of half and float, with and without alpha, and with one
// channel.
func TestLinearLight(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	values := slices.Sorted(maps.Keys(steps))
	other := slices.Repeat([]float32{0.5}, len(values))
	ones := slices.Repeat([]float32{1}, len(values))
	for _, half := range []bool{false, true} {
		for _, c := range []struct {
			name  string
			alpha []float32
			gray  bool
		}{{"rgb", nil, false}, {"rgba", ones, false}, {"gray", nil, true}, {"gray and alpha", ones, true}} {
			channels := []exrSample{{"R", half, values, false}, {"G", half, other, false}, {"B", half, other, false}}
			if c.gray {
				channels = []exrSample{{"Y", half, values, false}}
			}
			if c.alpha != nil {
				channels = append(channels, exrSample{"A", half, c.alpha, false})
			}
			path := putFile(t, dir, c.name+".exr", exrFile(len(values), 0, nil, channels...))
			clip, warnings, notes := told(t, path, OpenOptions{})
			assert.Empty(t, warnings, c.name)
			assert.Empty(t, notes, c.name)
			frame := readFrame(t, clip, 0)
			for i, v := range values {
				off := 1e-3
				if half {
					off = 0.1 // 11 bits
				}
				assert.InDelta(t, steps[v], 127.5*(frame[3*i]+1), off, "%s: %v", c.name, v)
				if want := steps[0.5]; !c.gray {
					assert.InDelta(t, want, 127.5*(frame[3*i+2]+1), 1e-3)
				} else {
					assert.Equal(t, frame[3*i], frame[3*i+1])
				}
			}
			assert.Equal(t, withAlpha(frame), readAlpha(t, path, 4, 0), c.name)
			s, err := Inspect(t.Context(), path)
			require.NoError(t, err)
			assert.Equal(t, Format{Height: 1, Width: len(values), Frames: 1}, s.Format)
		}
	}
}

// TestLightBeyond: light outside of 0 to 1 is clipped with a warning, one per folder,
// before the work if the first picture has it. Premultiplied colours are divided by
// alpha, and kept where it is 0. NaN is refused.
func TestLightBeyond(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	flat := func(name string, v ...float32) exrSample { return exrSample{name, false, v, false} }
	inf := float32(math.Inf(1))
	bright := exrFile(3, 0, nil, flat("R", 4.5, inf, 1), flat("G", -0.25, 0, 1), flat("B", 1, 0.5, 1))
	plain := exrFile(3, 0, nil, flat("R", 1, 0, 1), flat("G", 0.5, 0, 1), flat("B", 1, 0.5, 1))
	clip, warnings, _ := told(t, putFile(t, dir, "bright.exr", bright), OpenOptions{})
	assert.Equal(t, []string{"is linear light from -0.25 to +Inf: values outside 0 to 1 are clipped"}, warnings)
	frame := readFrame(t, clip, 0)
	assert.Equal(t, []float32{1, -1, 1, 1, -1}, frame[:5])

	folder := filepath.Join(dir, "frames")
	require.NoError(t, os.Mkdir(folder, 0o777))
	for i, data := range [][]byte{plain, bright, bright} {
		putFile(t, folder, fmt.Sprintf("f_%02d.exr", i), data)
	}
	warnings = nil
	clip, err := OpenWith(t.Context(), filepath.Join(folder, "f_%02d.exr"), 3, OpenOptions{Warn: func(text string) { warnings = append(warnings, text) }})
	require.NoError(t, err)
	require.Equal(t, 3, clip.Frames())
	require.Empty(t, warnings, "the first is within")
	for i := range 3 {
		readFrame(t, clip, i)
	}
	assert.Len(t, warnings, 1)

	path := putFile(t, dir, "alpha.exr", exrFile(3, 0, nil,
		flat("R", 0.25, 0.5, 0.5), flat("G", 0.125, 0, 0), flat("B", 0.5, 0.5, 0), flat("A", 0.5, 1, 0)))
	rgba := readAlpha(t, path, 4, 0)
	for i, want := range []float64{0.5, 0.25, 1, 0.5, 0.5, 0, 0.5, 1, 0.5, 0, 0, 0} { // straight, in light
		got := (float64(rgba[i]) + 1) / 2
		if i%4 < 3 {
			got = math.Pow((got+0.055)/1.055, 2.4)
			if rgba[i] == -1 {
				got = 0
			}
		}
		assert.InDelta(t, want, got, 1e-6, "value %d", i)
	}
	clip, warnings, _ = told(t, path, OpenOptions{})
	assert.Equal(t, []string{"transparency is dropped: colours are divided by it, without blending"}, warnings)
	assert.Equal(t, colours(rgba), readFrame(t, clip, 0))

	over := exrFile(1, 0, nil, flat("R", 0.75), flat("G", 0.25), flat("B", 0), flat("A", 0.5))
	_, warnings, _ = told(t, putFile(t, dir, "over.exr", over), OpenOptions{})
	assert.Contains(t, warnings, "is linear light from 0 to 1.5: values outside 0 to 1 are clipped")

	nan := exrFile(3, 0, nil, flat("R", 1, 0, 1), flat("G", 0.5, 0, float32(math.NaN())), flat("B", 1, 0.5, 1))
	_, err = Open(t.Context(), putFile(t, dir, "nan.exr", nan), 3)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "nan.exr: unreadable OpenEXR: channel G, row 0, column 2 is NaN, expected a number")
}

// TestOpenEXRHeaders: files other than flat RGB are refused by name; other primaries and
// channels cause warnings.
func TestOpenEXRHeaders(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	v := []float32{0.5, 0.25}
	rgb := []exrSample{{"R", false, v, false}, {"G", false, v, false}, {"B", false, v, false}}
	primaries := func(xy ...float32) []byte {
		b := []byte("chromaticities\x00chromaticities\x00\x20\x00\x00\x00")
		for _, v := range xy {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	with := func(more ...exrSample) []exrSample { return append(slices.Clone(rgb), more...) }
	for _, c := range []struct {
		name            string
		data            []byte
		warnings, notes []string
	}{
		{"709.exr", exrFile(2, 0, primaries(0.64, 0.33, 0.3, 0.6, 0.15, 0.06, 0.3127, 0.329), rgb...), nil, nil},
		{"2020.exr", exrFile(2, 0, primaries(0.708, 0.292, 0.17, 0.797, 0.131, 0.046, 0.3127, 0.329), rgb...), []string{"colours of BT.2020 are read as BT.709's, paler than they are"}, nil},
		{"odd.exr", exrFile(2, 0, primaries(0.7, 0.29, 0.2, 0.7, 0.1, 0.05, 0.3127, 0.329), rgb...), []string{"colours of other primaries (red at 0.7, 0.29) are read as BT.709's, paler than they are"}, nil},
		{"depth.exr", exrFile(2, 0, nil, with(exrSample{"Z", false, v, false})...), nil, []string{"the channels Z of depth.exr are left out"}},
	} {
		_, warnings, notes := told(t, putFile(t, dir, c.name, c.data), OpenOptions{})
		assert.Equal(t, c.warnings, warnings, c.name)
		assert.Equal(t, c.notes, notes, c.name)
	}
	good := exrFile(2, 0, nil, rgb...)
	// patched replaces bytes after the name of an attribute.
	patched := func(name string, behind int, b ...byte) []byte {
		data := bytes.Clone(good)
		at := bytes.Index(data, []byte(name+"\x00"))
		require.Positive(t, at)
		copy(data[at+behind:], b)
		return data
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"layer.exr", exrFile(2, 0, nil, exrSample{"diffuse.R", false, v, false}), "has the channels diffuse.R, expected R, G and B, or Y"},
		{"luma.exr", exrFile(2, 0, nil, exrSample{"Y", false, v, false}, exrSample{"RY", false, v, false}, exrSample{"BY", false, v, false}), "has the channels BY, RY, Y, expected R, G and B, or Y"},
		{"whole.exr", exrFile(2, 0, nil, exrSample{"R", false, v, true}, exrSample{"G", false, v, true}, exrSample{"B", false, v, true}), "channel B is of whole numbers, expected half or float"},
		{"deep.exr", exrFile(2, 1<<11, nil, rgb...), "holds deep data, expected a flat picture"},
		{"origin.exr", patched("displayWindow", len("displayWindow box2i size"), 1), "its display window begins at (1,0), which ffmpeg reads wrongly, expected (0,0)"},
		{"dwa.exr", patched("compression", len("compression compression size"), 9), "is compressed as DWAA or DWAB with channels of float, which ffmpeg reads wrongly, expected half or another compression"},
		{"mixed.exr", exrFile(2, 0, nil, exrSample{"R", true, v, false}, rgb[1], rgb[2]), "channels R and B are of different types, expected one of half or float"},
		{"cut.exr", good[:len(good)-9], "ends within chunk 0 of 1"},
		{"gone.exr", good[:len(good)-32], "ends before chunk 0 of 1"},
		{"table.exr", good[:len(good)-33], "ends within its table of 1 chunks"},
		{"head.exr", good[:60], "unreadable OpenEXR: unexpected EOF"},
	} {
		_, err := Open(t.Context(), putFile(t, dir, c.name, c.data), 3)
		require.ErrorIs(t, err, ErrInput, c.name)
		require.ErrorContains(t, err, c.name+": ")
		require.ErrorContains(t, err, c.want)
	}
	path := putFile(t, dir, "x.exr", good)
	t.Setenv("PATH", dir)
	_, err := Open(t.Context(), path, 3)
	require.ErrorContains(t, err, "x.exr: needs ffmpeg, which isn't installed")
	require.NotErrorIs(t, err, ErrInput)
	s, err := Inspect(t.Context(), path)
	require.NoError(t, err, "the header tells")
	assert.Equal(t, Format{Height: 1, Width: 2, Frames: 1}, s.Format)
	for i := range good[:300] { // no panic
		broken := bytes.Clone(good)
		broken[i] ^= 0xff
		_, err := readEXRHeader(bytes.NewReader(broken[:len(broken)-i]))
		_ = err
	}
}

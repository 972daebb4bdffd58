//go:build !js

package media

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"

	"github.com/x448/float16"
)

// exrMark begins the attributes of OpenEXR files that this package writes, which
// distinguishes its frames from other files.
const exrMark = "software\x00string\x00\x07\x00\x00\x00tessera"

// exrVersion follows the magic number: version 2, one part in scan lines.
const exrVersion = "\x02\x00\x00\x00"

// writeEXR writes a frame in linear light, clamped to [0,1], as an uncompressed OpenEXR
// file of half (16 bits) or float (32). Colours are multiplied by alpha, as the format
// requires, so those with alpha 0 become black. The file declares BT.709 primaries.
func writeEXR(w io.Writer, f Format, frame []float32, bits int) error {
	out, le := bufio.NewWriterSize(w, 1<<16), binary.LittleEndian
	channels := f.channels()
	kind := uint32(2)
	if bits == 16 {
		kind = 1
	}
	var header []byte
	attribute := func(name, kind string, data []byte) {
		header = append(append(append(append(header, name...), 0), kind...), 0)
		header = append(le.AppendUint32(header, uint32(len(data))), data...)
	}
	words := func(v ...uint32) (b []byte) {
		for _, v := range v {
			b = le.AppendUint32(b, v)
		}
		return b
	}
	floats := func(v ...float32) (b []byte) {
		for _, v := range v {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	names := "BGR" // in alphabetical order, as their samples
	if channels == 4 {
		names = "ABGR"
	}
	var list []byte
	for _, name := range names {
		list = append(append(list, byte(name), 0), words(kind, 0, 1, 1)...)
	}
	window := words(0, 0, uint32(f.Width-1), uint32(f.Height-1))
	header = append(header, exrMagic+exrVersion+exrMark...)
	attribute("channels", "chlist", append(list, 0))
	attribute("chromaticities", "chromaticities", floats(0.64, 0.33, 0.30, 0.60, 0.15, 0.06, 0.3127, 0.3290))
	attribute("compression", "compression", []byte{0})
	attribute("dataWindow", "box2i", window)
	attribute("displayWindow", "box2i", window)
	attribute("lineOrder", "lineOrder", []byte{0})
	attribute("pixelAspectRatio", "float", floats(1))
	attribute("screenWindowCenter", "v2f", floats(0, 0))
	attribute("screenWindowWidth", "float", floats(1))
	header = append(header, 0)
	line := f.Width * channels * bits / 8
	first := uint64(len(header) + 8*f.Height)
	for y := range f.Height {
		header = le.AppendUint64(header, first+uint64(y)*uint64(8+line))
	}
	if _, err := out.Write(header); err != nil {
		return err
	}
	row := make([]byte, 0, 8+line)
	for y := range f.Height {
		row = append(row[:0], words(uint32(y), uint32(line))...)
		for c := channels - 1; c >= 0; c-- {
			for x := range f.Width {
				v := lightOf(frame[(y*f.Width+x)*channels:][:channels], c)
				if bits == 16 {
					row = le.AppendUint16(row, float16.Fromfloat32(v).Bits())
				} else {
					row = le.AppendUint32(row, math.Float32bits(v))
				}
			}
		}
		if _, err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Flush()
}

// lightOf returns channel c of a pixel in linear light.
func lightOf(p []float32, c int) float32 {
	u := (float64(clamp1(p[c])) + 1) / 2
	if c == 3 {
		return float32(u)
	}
	if len(p) == 4 {
		return float32(toLight(u) * (float64(clamp1(p[3])) + 1) / 2)
	}
	return float32(toLight(u))
}

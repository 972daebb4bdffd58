//go:build !js

package media

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// profile returns an ICC profile with only a description: ASCII for version 2, or UTF-16
// for version 4.
func profile(name string, version int) []byte {
	be := binary.BigEndian
	tag := append([]byte("desc\x00\x00\x00\x00"), be.AppendUint32(nil, uint32(len(name)+1))...)
	tag = append(append(tag, name...), 0)
	if version == 4 {
		text := utf16.Encode([]rune(name))
		tag = append([]byte("mluc\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x0cenUS"), be.AppendUint32(nil, uint32(2*len(text)))...)
		tag = be.AppendUint32(tag, 28)
		for _, u := range text {
			tag = be.AppendUint16(tag, u)
		}
	}
	b := be.AppendUint32(make([]byte, 128), 2)
	b = append(append(b, "wtpt"...), make([]byte, 8)...)
	b = be.AppendUint32(append(b, "desc"...), 128+4+24)
	return append(be.AppendUint32(b, uint32(len(tag))), tag...)
}

// small returns a picture of 3 x 2 pixels of different colours, in each format with an
// encoder here.
func small(t *testing.T, ext string) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	for i := range 6 {
		img.Set(i%3, i/3, color.NRGBA{byte(40 * i), byte(255 - 40*i), byte(9 * i), 255})
	}
	var b bytes.Buffer
	if ext == ".png" {
		require.NoError(t, png.Encode(&b, img))
	} else {
		require.NoError(t, jpeg.Encode(&b, img, nil))
	}
	return b.Bytes()
}

// withChunk inserts a chunk into a PNG, before its pixels or after them.
func withChunk(data []byte, name string, chunk []byte, behind bool) []byte {
	be := binary.BigEndian
	whole := be.AppendUint32(nil, uint32(len(chunk)))
	whole = append(append(whole, name...), chunk...)
	whole = be.AppendUint32(whole, crc32.ChecksumIEEE(whole[4:]))
	at := 33 // after IHDR
	if behind {
		at = len(data) - 12
	}
	return bytes.Join([][]byte{data[:at], whole, data[at:]}, nil)
}

// withProfile inserts a profile into a picture.
func withProfile(t *testing.T, ext string, data, profile []byte) []byte {
	t.Helper()
	if ext == ".png" {
		b := bytes.NewBufferString("a name\x00\x00")
		w := zlib.NewWriter(b)
		_, err := w.Write(profile)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return withChunk(data, "iCCP", b.Bytes(), false)
	}
	segment := append([]byte("ICC_PROFILE\x00\x01\x01"), profile...)
	segment = append(binary.BigEndian.AppendUint16([]byte{0xff, 0xe2}, uint16(2+len(segment))), segment...)
	return bytes.Join([][]byte{data[:2], segment, data[2:]}, nil)
}

// TestColourProfiles: colours are read as sRGB's; a picture with another profile causes a
// warning, one per folder.
func TestColourProfiles(t *testing.T) {
	const says = " isn't applied: its colours are read as sRGB"
	for _, ext := range []string{".png", ".jpg"} {
		for _, c := range []struct{ name, want string }{
			{"Display P3", `x` + ext + ` has a colour profile, "Display P3", which` + says},
			{"\x1b[31mred", `x` + ext + ` has a colour profile, "\x1b[31mred", which` + says},
			{"", `x` + ext + ` has a colour profile, without a name, which` + says},
			{"sRGB IEC61966-2.1", ""},
		} {
			for _, version := range []int{2, 4} {
				path := filepath.Join(t.TempDir(), "x"+ext)
				require.NoError(t, os.WriteFile(path, withProfile(t, ext, small(t, ext), profile(c.name, version)), 0o666))
				_, warnings, _ := told(t, path, OpenOptions{})
				if c.want == "" {
					assert.Empty(t, warnings, "%s, version %d", c.name, version)
					continue
				}
				assert.Equal(t, []string{c.want}, warnings, "version %d", version)
			}
		}
		_, warnings, _ := told(t, folderOf(t, ext, nil, profile("Display P3", 4), profile("Adobe RGB (1998)", 2)), OpenOptions{})
		assert.Equal(t, []string{`2 pictures have colour profiles, the first is 1` + ext + `'s, "Display P3"; they aren't applied: colours are read as sRGB`}, warnings)
		for _, broken := range [][]byte{{}, make([]byte, 131), profile("x", 2)[:140], bytes.Repeat([]byte{255}, 200)} {
			_, warnings, _ := told(t, folderOf(t, ext, broken), OpenOptions{})
			assert.Len(t, warnings, 1, "%d bytes", len(broken))
		}
	}
}

// folderOf writes a picture for each profile, nil for none.
func folderOf(t *testing.T, ext string, profiles ...[]byte) string {
	t.Helper()
	dir := t.TempDir()
	for i, p := range profiles {
		data := small(t, ext)
		if p != nil {
			data = withProfile(t, ext, data, p)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, string(rune('0'+i))+ext), data, 0o666))
	}
	return dir
}

// TestWebPProfile: the profile chunk of an extended file.
func TestWebPProfile(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join(t.TempDir(), "x.webp")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=48x32", "-frames:v", "1", "-c:v", "libwebp", "-lossless", "1", path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	le := binary.LittleEndian.AppendUint32
	icc := profile("Display P3", 4)
	body := append(le([]byte("WEBPVP8X"), 10), 1<<5, 0, 0, 0, 47, 0, 0, 31, 0, 0)
	body = append(append(le(append(body, "ICCP"...), uint32(len(icc))), icc...), data[12:]...)
	require.NoError(t, os.WriteFile(path, append(le([]byte("RIFF"), uint32(len(body))), body...), 0o666))
	_, warnings, _ := told(t, path, OpenOptions{})
	assert.Equal(t, []string{`x.webp has a colour profile, "Display P3", which isn't applied: its colours are read as sRGB`}, warnings)
}

// TestPNGOrientation: the orientation chunk, before the pixels or after them.
func TestPNGOrientation(t *testing.T) {
	exif := withEXIF([]byte("xx"), 6, binary.BigEndian)[2+4+6:]
	plain := small(t, ".png")
	dir := t.TempDir()
	path := filepath.Join(dir, "x.png")
	require.NoError(t, os.WriteFile(path, plain, 0o666))
	upright := readFrame(t, openClip(t, path, Format{Height: 2, Width: 3, Frames: 1}), 0)
	for _, behind := range []bool{false, true} {
		require.NoError(t, os.WriteFile(path, withChunk(plain, "eXIf", exif, behind), 0o666))
		clip, _, notes := told(t, path, OpenOptions{})
		assert.Equal(t, []string{"x.png is rotated as its EXIF data specifies"}, notes)
		h, w := clip.Size()
		require.Equal(t, [2]int{3, 2}, [2]int{h, w})
		frame := readFrame(t, clip, 0)
		for y := range 3 { // a quarter clockwise: the first column is the last row
			for x := range 2 {
				assert.Equal(t, upright[((1-x)*3+y)*3:][:3], frame[(y*2+x)*3:][:3])
			}
		}
	}
}

// TestCMYK: CMYK is refused by name.
func TestCMYK(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jpg")
	header := "\xff\xd8" + "\xff\xc0\x00\x14\x08\x00\x10\x00\x10\x04\x01\x11\x00\x02\x11\x00\x03\x11\x00\x04\x11\x00" + "\xff\xda\x00\x02"
	require.NoError(t, os.WriteFile(path, []byte(header), 0o666))
	_, err := Open(context.Background(), path, 3)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "x.jpg: is a CMYK picture, expected RGB, YCbCr or gray")
}

// TestOpeningEndsWithContext: a cancelled context ends the opening of a folder of many
// pictures.
func TestOpeningEndsWithContext(t *testing.T) {
	dir := folderOf(t, ".png", nil, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Open(ctx, dir, 3)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrInput)
}

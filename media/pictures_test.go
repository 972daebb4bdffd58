//go:build !js

package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPictures: JPEG and WebP, alone, in folders and by patterns, keep their colours.
func TestPictures(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	f := Format{Height: 48, Width: 64, Frames: 12}
	made := filepath.Join(dir, "made")
	writeClip(t, made, f)
	want := openClip(t, made, f)
	for _, c := range []struct {
		name   string
		args   []string
		levels float64
	}{
		{"444.jpg", []string{"-pix_fmt", "yuvj444p", "-q:v", "1"}, 2},
		{"422.jpeg", []string{"-pix_fmt", "yuvj422p", "-q:v", "1"}, 8}, // ffmpeg's scaler puts this chroma at the left
		{"420.JPG", []string{"-c:v", "mjpeg", "-f", "image2", "-pix_fmt", "yuvj420p", "-q:v", "1"}, 3},
		{"gray.jpg", []string{"-pix_fmt", "gray", "-q:v", "1"}, 200},
		{"lossy.webp", []string{"-c:v", "libwebp", "-pix_fmt", "yuv420p", "-quality", "98"}, 4},
		{"lossless.webp", []string{"-c:v", "libwebp", "-pix_fmt", "bgra", "-lossless", "1"}, 1e-4},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join(dir, c.name)
			require.NoError(t, os.Mkdir(folder, 0o777))
			chroma := "" // ffmpeg puts it at the left, JPEG and WebP in the middle
			if strings.Contains(fmt.Sprint(c.args), "42") {
				chroma = ":out_h_chr_pos=128"
			}
			pattern := filepath.Join(folder, "x %d"+filepath.Ext(c.name)) // 1 to 12: 10 comes after 9
			from := []string{"-i", filepath.Join(made, "frame_%04d.png")}
			if strings.Contains(fmt.Sprint(c.args), "yuvj") {
				from = fullRange(t, dir, f)
			}
			ffmpeg(t, append(append(append(from,
				"-vf", "scale=flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp"+chroma), c.args...), "-start_number", "1", pattern)...)
			t.Setenv("PATH", dir) // no ffmpeg
			for _, input := range []string{folder, pattern} {
				clip, warnings, notes := told(t, input, OpenOptions{})
				assert.Empty(t, warnings, c.name)
				assert.Empty(t, notes, c.name)
				h, w := clip.Size()
				require.Equal(t, f, Format{Height: h, Width: w, Frames: clip.Frames()})
				for i := range f.Frames {
					if c.name != "gray.jpg" {
						checkColour(t, i, readFrame(t, clip, i), readFrame(t, want, i), c.levels)
					}
				}
			}
			one := openClip(t, filepath.Join(folder, "x 7"+filepath.Ext(c.name)), Format{Height: 48, Width: 64, Frames: 1})
			assert.Equal(t, readFrame(t, openClip(t, folder, f), 6), readFrame(t, one, 0), c.name)
		})
	}
}

// TestPicturesAgainstFFmpeg: (200,60,40) and a chroma ramp, by this package's decoders
// and by ffmpeg's, with zscale's linear chroma.
func TestPicturesAgainstFFmpeg(t *testing.T) {
	needFFmpeg(t)
	if canToneMap(context.Background()) != nil {
		t.Skip("this ffmpeg has no zscale")
	}
	dir := t.TempDir()
	// All parameters are given: ffmpeg 5.1 otherwise chooses ends and colours at random,
	// even with a seed.
	const ramps = "gradients=s=64x48:n=4:seed=3:x0=3:y0=5:x1=60:y1=40:c0=0x2040C0:c1=0xC83C28:c2=0x30A050:c3=0xE0D020"
	for _, c := range []struct {
		name, span string
		args       []string
	}{
		{"x.jpg", "full", []string{"-pix_fmt", "yuvj420p", "-q:v", "2"}},
		{"x2.jpg", "full", []string{"-pix_fmt", "yuvj422p", "-q:v", "2"}},
		{"x.webp", "limited", []string{"-c:v", "libwebp", "-pix_fmt", "yuv420p", "-quality", "90"}},
	} {
		flat := filepath.Join(dir, "flat"+c.name)
		ffmpeg(t, append(append([]string{"-f", "lavfi", "-i", "color=0xC83C28:s=63x47,format=rgb24", "-frames:v", "1"}, c.args...), flat)...)
		got := centre(t, openClip(t, flat, Format{Height: 47, Width: 63, Frames: 1}), 0)
		for i, want := range []float64{200, 60, 40} {
			assert.InDelta(t, want, got[i], 2, "%s: %v", c.name, got)
		}
		path := filepath.Join(dir, c.name)
		ffmpeg(t, append(append([]string{"-f", "lavfi", "-i", ramps, "-frames:v", "1"}, c.args...), path)...)
		raw, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-vf",
			"zscale=filter=bilinear:dither=none:matrixin=170m:matrix=gbr:chromalin=center:rangein="+c.span+":range=full,format=gbrp",
			"-pix_fmt", "rgb24", "-f", "rawvideo", "-").Output()
		require.NoError(t, err)
		want := make([]float32, len(raw))
		for i, v := range raw {
			want[i] = float32(v)/127.5 - 1
		}
		off := largest(t, readFrame(t, openClip(t, path, Format{Height: 48, Width: 64, Frames: 1}), 0), want)
		assert.LessOrEqual(t, off, 2.4, "%s: levels", c.name) // 0.5 for rounding, and 1.8 for the code of chroma by which decoders differ
	}
}

// TestPictureNames: files in a folder or of a pattern, and missing ones.
func TestPictureNames(t *testing.T) {
	dir := t.TempDir()
	put := func(folder string, names ...string) string {
		folder = filepath.Join(dir, folder)
		for i, name := range names {
			writeClip(t, filepath.Join(folder, "tmp.png"), Format{Height: 8, Width: 8 + i/100, Frames: 1})
			require.NoError(t, os.Rename(filepath.Join(folder, "tmp.png"), filepath.Join(folder, name)))
		}
		return folder
	}
	for _, name := range []string{"gap", "same", "mixed", "steps", "none", "photos"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o777))
	}
	gap := put("gap", "f_0003.png", "f_0004.png", "f_0008.png", "f_0010.png")
	const missing = "4 numbers are missing, the first after f_0004.png: the 4 existing frames are used in order"
	for _, path := range []string{gap, filepath.Join(gap, "f_%04d.png")} {
		clip, warnings, _ := told(t, path, OpenOptions{})
		assert.Equal(t, []string{missing}, warnings)
		assert.Equal(t, 4, clip.Frames())
	}
	_, warnings, _ := told(t, put("photos", "a1.png", "b7.png", "c.png"), OpenOptions{})
	assert.Empty(t, warnings)

	same := put("same", "f_1.png", "f_01.png", "f_02.png", "g_1.png", "f_x.png")
	clip, _, _ := told(t, filepath.Join(same, "f_%02d.png"), OpenOptions{})
	assert.Equal(t, 2, clip.Frames())
	clip, _, _ = told(t, filepath.Join(same, "f_%d.png"), OpenOptions{})
	assert.Equal(t, 1, clip.Frames())
	assert.Equal(t, inFolder(same, []string{"f_01.png", "f_02.png"}), PictureFiles(filepath.Join(same, "f_%02d.png")))
	require.NoError(t, os.Remove(filepath.Join(same, "g_1.png")))
	require.NoError(t, os.Remove(filepath.Join(same, "f_x.png")))

	put("mixed", "a.png")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mixed", "b.jpeg"), []byte("x"), 0o666))
	named := put("none", "f_%03d.png", "f_001.png", "f_002.png") // a file with exactly that name
	clip, _, _ = told(t, filepath.Join(named, "f_%03d.png"), OpenOptions{})
	assert.Equal(t, 1, clip.Frames())
	for _, c := range []struct{ path, want string }{
		{same, "same: f_01.png and f_1.png have the same number"},
		{filepath.Join(dir, "mixed"), "mixed: folder holds 1 .jpg and 1 .png files, expected one kind"},
		{filepath.Join(gap, "x_%04d.png"), "x_%04d.png: no file has this name or a number in this place"},
		{filepath.Join(gap, "f_%04d.bmp"), "f_%04d.bmp: no such file"},
		{filepath.Join(dir, "mixed", "b.jpeg"), `b.jpeg: unreadable: begins with "x", expected a PNG, JPEG, WebP, TIFF or OpenEXR picture`},
	} {
		_, err := Open(context.Background(), c.path, 3)
		assert.ErrorContains(t, err, c.want)
		assert.ErrorIs(t, err, ErrInput)
	}
}

// TestPictureSizes: a picture of another size is named.
func TestPictureSizes(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	for i, size := range []string{"32x16", "32x16", "16x32"} {
		ffmpeg(t, "-f", "lavfi", "-i", "color=s="+size, "-frames:v", "1", filepath.Join(dir, fmt.Sprintf("x%d.jpg", i)))
	}
	_, err := Open(context.Background(), filepath.Join(dir, "x%d.jpg"), 3)
	require.ErrorContains(t, err, filepath.Join(dir, "x2.jpg")+": is 16 x 32, expected 32 x 16 as x0.jpg has")
	// The third is rotated, which gives it their size.
	path := filepath.Join(dir, "x2.jpg")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, withEXIF(data, 6, binary.BigEndian), 0o666))
	_, _, notes := told(t, dir, OpenOptions{})
	assert.Equal(t, []string{"x2.jpg is rotated as its EXIF data specifies"}, notes)
}

// withEXIF inserts an orientation into a JPEG.
func withEXIF(jpeg []byte, orientation uint16, order binary.AppendByteOrder) []byte {
	exif := []byte("Exif\x00\x00II*\x00\x08\x00\x00\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		exif = []byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08")
	}
	u16 := func(v uint16) { exif = order.AppendUint16(exif, v) }
	u16(2)
	for _, entry := range [][2]uint16{{0x010f, 7}, {0x0112, orientation}} {
		u16(entry[0])
		u16(3)
		exif = order.AppendUint32(exif, 1)
		u16(entry[1])
		u16(0)
	}
	segment := append([]byte{0xff, 0xe1}, binary.BigEndian.AppendUint16(nil, uint16(len(exif)+2))...)
	return bytes.Join([][]byte{jpeg[:2], segment, exif, jpeg[2:]}, nil)
}

// TestOrientation rotates a picture of four colours: red, green above blue, white. EXIF
// defines the result: for 6 "the 0th row is the visual right-hand side, the 0th column
// the visual top", and so on.
func TestOrientation(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.jpg")
	ffmpeg(t, "-f", "lavfi", "-i", "color=red:s=48x32", "-vf",
		"drawbox=24:0:24:16:0x00ff00:fill,drawbox=0:16:24:16:blue:fill,drawbox=24:16:24:16:white:fill", "-frames:v", "1", "-pix_fmt", "yuvj444p", "-q:v", "1", plain)
	data, err := os.ReadFile(plain)
	require.NoError(t, err)
	for o, want := range []string{"RGBW", "RGBW", "GRWB", "WBGR", "BWRG", "RBGW", "BRWG", "WGBR", "GWRB", "RGBW"} { // 0 and 9 are invalid
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			path := filepath.Join(dir, "x.jpg")
			require.NoError(t, os.WriteFile(path, withEXIF(data, uint16(o), order), 0o666))
			clip, _, notes := told(t, path, OpenOptions{})
			assert.Len(t, notes, map[bool]int{true: 1}[o >= 2 && o <= 8], "%d", o)
			h, w := clip.Size()
			assert.Equal(t, o >= 5 && o <= 8, h > w, "%d: %dx%d", o, h, w)
			frame := readFrame(t, clip, 0)
			var got strings.Builder
			for _, at := range [][2]int{{h / 4, w / 4}, {h / 4, 3 * w / 4}, {3 * h / 4, w / 4}, {3 * h / 4, 3 * w / 4}} {
				p := frame[(at[0]*w+at[1])*3:]
				code := 0
				for i := range 3 {
					code = 2*code + int(math.Round(float64(p[i]+1)/2))
				}
				got.WriteByte(" B G  RW"[map[int]int{4: 6, 2: 3, 1: 1, 7: 7}[code]])
			}
			assert.Equal(t, want, got.String(), "orientation %d", o)
		}
	}
	for _, bad := range []string{"", "II*\x00", "II*\x00\xff\xff\xff\xff", "II*\x00\x08\x00\x00\x00\xff\xff", "XX*\x00\x08\x00\x00\x00\x00\x00"} {
		assert.Equal(t, turn(1), exifTurn([]byte(bad)), "%q", bad)
	}
}

// TestWebPOrientation: the orientation chunk of an extended file.
func TestWebPOrientation(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.webp")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=48x32", "-frames:v", "1", "-c:v", "libwebp", "-lossless", "1", path)
	plain := readFrame(t, openClip(t, path, Format{Height: 32, Width: 48, Frames: 1}), 0)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	exif := withEXIF([]byte("xx"), 8, binary.LittleEndian)[6+4:]
	exif = exif[2:]
	le := binary.LittleEndian.AppendUint32
	body := append([]byte("WEBPVP8X"), le(nil, 10)...)
	body = append(body, 1<<3, 0, 0, 0, 47, 0, 0, 31, 0, 0)
	body = append(body, data[12:]...)
	body = append(append(append(body, "EXIF"...), le(nil, uint32(len(exif)))...), exif...)
	require.NoError(t, os.WriteFile(path, append(append([]byte("RIFF"), le(nil, uint32(len(body)))...), body...), 0o666))
	turned := readFrame(t, openClip(t, path, Format{Height: 48, Width: 32, Frames: 1}), 0)
	for _, at := range [][2]int{{0, 0}, {10, 3}, {47, 31}} { // a quarter counter-clockwise
		y, x := at[0], at[1]
		assert.Equal(t, plain[(x*48+47-y)*3:][:3], turned[(y*32+x)*3:][:3])
	}
}

// TestPicturesTransparent: dropped transparency is reported if there is any.
func TestPicturesTransparent(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	for _, c := range []struct {
		name  string
		alpha float64
		args  []string
		says  int
	}{
		{"a.png", 0.5, nil, 1}, {"b.png", 1, nil, 0},
		{"a.webp", 0.5, []string{"-c:v", "libwebp", "-pix_fmt", "yuva420p"}, 1},
		{"b.webp", 1, []string{"-c:v", "libwebp", "-lossless", "1", "-pix_fmt", "bgra"}, 0},
	} {
		path := filepath.Join(dir, c.name)
		ffmpeg(t, append(append([]string{"-f", "lavfi", "-i", "color=0xC83C28:s=64x48", "-vf",
			fmt.Sprintf("format=rgba,colorchannelmixer=aa=%v", c.alpha), "-frames:v", "1"}, c.args...), path)...)
		clip, warnings, _ := told(t, path, OpenOptions{})
		assert.Len(t, warnings, c.says, c.name)
		if c.says > 0 {
			assert.Contains(t, warnings[0], "transparency is dropped")
		}
		got := centre(t, clip, 0)
		for i, want := range []float64{200, 60, 40} {
			assert.InDelta(t, want, got[i], 3, "%s: %v", c.name, got)
		}
		assert.InDelta(t, 2*c.alpha-1, readAlpha(t, path, 4, 0)[3], 0.02, c.name)
	}
	folder := filepath.Join(dir, "frames")
	require.NoError(t, os.Mkdir(folder, 0o700))
	for i, name := range []string{"b.png", "a.png", "a.png"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.png", i)), data, 0o600))
	}
	var warnings []string
	clip, err := OpenWith(t.Context(), folder, 3, OpenOptions{Warn: func(text string) { warnings = append(warnings, text) }})
	require.NoError(t, err)
	require.Empty(t, warnings, "the first is opaque")
	for i := range 3 {
		centre(t, clip, i)
	}
	assert.Equal(t, []string{folder + ": transparency is dropped: colours are used as stored, without blending"}, warnings)
}

// Git LFS pointers and web pages in place of pictures and videos are identified.
func TestPlaceholders(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:20678548\nsize 5013\n": "is a Git LFS pointer, which stands for the file",
		"\n<!DOCTYPE html><html><head><title>Sign in</title>":                          "is a web page\ndownload the file itself",
	} {
		for _, name := range []string{"x.mp4", "x.png", "x.webp", "x.tiff", "x.exr", "x.y4m", "x.npy", "x"} {
			path := putFile(t, dir, name, []byte(text))
			_, err := Open(t.Context(), path, 3)
			require.ErrorIs(t, err, ErrInput, name)
			require.ErrorContains(t, err, path+": "+want, name)
			_, err = Inspect(t.Context(), path)
			require.ErrorContains(t, err, path+": "+want, name)
		}
		folder := t.TempDir()
		path := putFile(t, folder, "frame_0000.png", []byte(text))
		_, err := Open(t.Context(), folder, 3)
		require.ErrorContains(t, err, path+": "+want)
	}
}

// A PNG that is too small for its pixels is refused; one of a single colour is read.
func TestPNGThatHoldsNoPixels(t *testing.T) {
	var flat bytes.Buffer
	require.NoError(t, png.Encode(&flat, image.NewRGBA(image.Rect(0, 0, 4096, 4096))))
	path := filepath.Join(t.TempDir(), "flat.png")
	require.NoError(t, os.WriteFile(path, flat.Bytes(), 0o666))
	_, err := readPictureHeader(path)
	require.NoError(t, err)
	lying := bytes.Clone(flat.Bytes())
	copy(lying[16:], "\x00\x00\x40\x00\x00\x00\x40\x00") // 16384 x 16384
	binary.BigEndian.PutUint32(lying[29:], crc32.ChecksumIEEE(lying[12:29]))
	require.NoError(t, os.WriteFile(path, lying, 0o666))
	_, err = readPictureHeader(path)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "bytes can't hold 16384 x 16384 pixels")
}

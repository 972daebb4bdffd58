//go:build !js

package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// deepGray returns a 16-bit PNG of one value, with or without alpha.
func deepGray(t *testing.T, value uint16, alpha bool) []byte {
	t.Helper()
	img := image.NewNRGBA64(image.Rect(0, 0, 8, 6))
	for i := range 48 {
		a := uint16(65535)
		if alpha && i == 0 {
			a = 0x8000
		}
		img.SetNRGBA64(i%8, i/8, color.NRGBA64{value, value, value, a})
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

const (
	saysPQ   = "HDR (PQ) is read as if it were SDR, flat and dark; --tone-map converts it"
	saysHLG  = "HDR (HLG) is read as if it were SDR, flat and dark; --tone-map converts it"
	saysWide = "colours of BT.2020 are read as BT.709's, paler than they are"
)

// TestPNGColours: the chunk cICP (PNG, third edition, 11.3.2.6; code points of ITU-T
// H.273), with the texts used for video, for one picture and for folders.
func TestPNGColours(t *testing.T) {
	dir := t.TempDir()
	plain := deepGray(t, 30000, false)
	for i, c := range []struct {
		chunk []byte
		want  []string
	}{
		{[]byte{9, 16, 0, 1}, []string{saysWide, saysPQ}},
		{[]byte{9, 18, 0, 1}, []string{saysWide, saysHLG}},
		{[]byte{1, 16, 0, 1}, []string{saysPQ}},
		{[]byte{12, 13, 0, 1}, []string{"colours of Display P3 are read as BT.709's, paler than they are"}},
		{[]byte{1, 13, 0, 1}, nil},
		{[]byte{2, 2, 0, 1}, nil},
		{[]byte{9, 16}, nil}, // broken
	} {
		path := putFile(t, dir, fmt.Sprintf("%d.png", i), withChunk(plain, "cICP", c.chunk, false))
		clip, warnings, notes := told(t, path, OpenOptions{})
		assert.Equal(t, c.want, warnings, "%v", c.chunk)
		assert.Empty(t, notes)
		assert.InDelta(t, 30000/32767.5-1, readFrame(t, clip, 0)[0], 1e-6)
		s, err := Inspect(t.Context(), path)
		require.NoError(t, err)
		assert.Equal(t, c.want, s.Warnings, "%v", c.chunk)
	}
	// It has priority over a profile.
	both := withChunk(withProfile(t, ".png", plain, profile("Rec. 2100 PQ", 4)), "cICP", []byte{9, 16, 0, 1}, false)
	_, warnings, _ := told(t, putFile(t, dir, "both.png", both), OpenOptions{})
	assert.Equal(t, []string{saysWide, saysPQ}, warnings)

	folder := filepath.Join(dir, "frames")
	require.NoError(t, os.Mkdir(folder, 0o777))
	pq := withChunk(plain, "cICP", []byte{9, 16, 0, 1}, false)
	putFile(t, folder, "0.png", pq)
	putFile(t, folder, "1.png", pq)
	_, warnings, _ = told(t, folder, OpenOptions{})
	assert.Equal(t, []string{saysWide, saysPQ}, warnings)
	putFile(t, folder, "2.png", plain)
	_, warnings, _ = told(t, filepath.Join(folder, "%d.png"), OpenOptions{})
	assert.Equal(t, []string{"2 of 3 pictures, 0.png the first: " + saysWide, "2 of 3 pictures, 0.png the first: " + saysPQ}, warnings)

	frame := apngFrame{w: 2, h: 2, pixels: []color.NRGBA{{}, {9, 9, 9, 255}, {9, 9, 9, 255}, {9, 9, 9, 255}}}
	moving := withChunk(apng(t, 2, 2, false, frame, frame), "cICP", []byte{9, 16, 0, 1}, false)
	_, warnings, _ = told(t, putFile(t, dir, "moving.png", moving), OpenOptions{ToneMap: true})
	assert.Contains(t, warnings, "HDR (PQ) of an animation is read as if it were SDR, flat and dark; --tone-map is for pictures and video")
}

// TestToneMapPictures: gray of given nits in PQ, as TestToneMap has it in video, alone
// and in a folder, rotated and with alpha, which stays.
func TestToneMapPictures(t *testing.T) {
	needFFmpeg(t)
	if canToneMap(t.Context()) != nil {
		t.Skip("this ffmpeg has no zscale")
	}
	dir := t.TempDir()
	folder := filepath.Join(dir, "frames")
	require.NoError(t, os.Mkdir(folder, 0o777))
	all := []float64{10, 203, 1000}
	for i, nits := range all {
		data := withChunk(deepGray(t, uint16(math.Round(65535*pq(nits))), false), "cICP", []byte{9, 16, 0, 1}, false)
		putFile(t, folder, fmt.Sprintf("%d.png", i), data)
	}
	putFile(t, folder, "3.png", deepGray(t, 30000, false))
	clip, warnings, notes := told(t, folder, OpenOptions{ToneMap: true})
	assert.Empty(t, warnings)
	assert.Equal(t, []string{"3 of 4 pictures, 0.png the first: HDR (PQ) is tone-mapped to SDR, BT.709"}, notes)
	for i, nits := range all {
		want := 255 * math.Pow(hable(nits/203)/hable(10), 1/2.4)
		for _, got := range centre(t, clip, i) {
			assert.InDelta(t, want, got, 2, "%v nits", nits)
		}
	}
	assert.InDelta(t, 30000/65535.0*255, centre(t, clip, 3)[0], 1e-3, "SDR stays")

	turned := withChunk(deepGray(t, uint16(math.Round(65535*pq(203))), true), "cICP", []byte{9, 16, 0, 1}, false)
	turned = withChunk(turned, "eXIf", withEXIF([]byte("xx"), 6, binary.BigEndian)[2+4+6:], false)
	path := putFile(t, dir, "turned.png", turned)
	rgba, err := OpenWith(t.Context(), path, 4, OpenOptions{ToneMap: true})
	require.NoError(t, err)
	h, w := rgba.Size()
	require.Equal(t, [2]int{8, 6}, [2]int{h, w})
	frame := make([]float32, h*w*4)
	require.NoError(t, rgba.ReadFrame(0, frame))
	for i := range h * w {
		assert.InDelta(t, 2*math.Pow(hable(1)/hable(10), 1/2.4)-1, frame[4*i], 0.02)
		want := 1.0
		if i == w-1 { // the first pixel, a quarter clockwise
			want = 0x8000/32767.5 - 1
		}
		assert.InDelta(t, want, frame[4*i+3], 1e-6, "alpha of %d", i)
	}
	_, warnings, _ = told(t, filepath.Join(folder, "3.png"), OpenOptions{ToneMap: true})
	assert.Equal(t, []string{"is not HDR: --tone-map has no effect"}, warnings)
}

// TestHEIFColours: the property colr of the main picture has priority over its stream's
// tags.
func TestHEIFColours(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "video", "iphone-grid-256x192.heic"))
	require.NoError(t, err)
	p, err := heifProperties(putFile(t, t.TempDir(), "x.heic", data))
	require.NoError(t, err)
	assert.Equal(t, &cicp{1, 13, 6}, p.colours)
	assert.Nil(t, nclx([]byte("prof and a profile")))

	hdr := bytes.Clone(data)
	copy(hdr[bytes.Index(hdr, []byte("nclx"))+4:], []byte{0, 9, 0, 16, 0, 9})
	path := putFile(t, t.TempDir(), "hdr.heic", hdr)
	p, err = heifProperties(path)
	require.NoError(t, err)
	var s ffprobeStream
	s.colours(p.colours)
	assert.Equal(t, []string{"bt2020", "smpte2084", "bt2020nc", "PQ", "BT.2020"}, []string{s.Primaries, s.Transfer, s.ColorSpace, s.hdr(), s.wide()})

	needFFmpeg(t)
	if clip, err := Open(t.Context(), path, 3); err == nil { // an ffmpeg that knows tiles
		clip.Close()
		_, warnings, _ := told(t, path, OpenOptions{})
		assert.Equal(t, []string{saysWide, saysPQ}, warnings)
	}
}

// TestAVIFColours: AVIF whose stream has no colour tags, but whose property does.
func TestAVIFColours(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join(t.TempDir(), "x.avif")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48", "-frames:v", "1", "-vf", "format=yuv420p", "-c:v", "libaom-av1", "-cpu-used", "8", "-still-picture", "1", path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(data, []byte("nclx"))
	require.Positive(t, at)
	copy(data[at+4:], []byte{0, 9, 0, 16, 0, 9})
	require.NoError(t, os.WriteFile(path, data, 0o666))
	_, warnings, _ := told(t, path, OpenOptions{})
	assert.Equal(t, []string{saysWide, saysPQ}, warnings)
	s, err := Inspect(t.Context(), path)
	require.NoError(t, err)
	assert.Equal(t, warnings, s.Warnings)
}

func putFile(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, data, 0o666))
	return path
}

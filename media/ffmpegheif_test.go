//go:build !js

package media

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
)

// TestTiledHEIC reads a picture of 4 x 3 tiles, and compares with tiles that ffmpeg
// decodes one by one. ffmpeg before 7.1 cannot read it, which the error says.
func TestTiledHEIC(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join("testdata", "video", "iphone-grid-256x192.heic")
	clip, err := Open(context.Background(), path, 3)
	if err != nil {
		require.ErrorIs(t, err, ErrInput)
		require.ErrorContains(t, err, "iphone-grid-256x192.heic: is a picture in HEIC, which this ffmpeg doesn't read (7.1 and newer do); expected a PNG or JPEG of it, such as heif-convert makes")
		help, err := exec.Command("ffprobe", "-h", "full").CombinedOutput()
		require.NoError(t, err)
		require.NotContains(t, string(help), "-show_stream_groups", "this ffmpeg knows of tiles")
		_, err = Inspect(context.Background(), path)
		require.ErrorContains(t, err, "is a picture in HEIC")
		return
	}
	defer clip.Close()
	f := Format{Height: 192, Width: 256, Frames: 1}
	require.Equal(t, f, formatOf(clip))
	s, err := Inspect(context.Background(), path)
	require.NoError(t, err)
	assert.Equal(t, f, s.Format)
	assert.Empty(t, s.Notes)
	got := readFrame(t, clip, 0)
	for tile := range 12 {
		raw, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-map", fmt.Sprintf("0:%d", tile), "-vf",
			"scale=flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp:in_color_matrix=bt601", "-f", "rawvideo", "-pix_fmt", "rgba", "-").Output()
		require.NoError(t, err)
		want := make([]float32, 64*64*3)
		FromRGBA(want, raw, 3)
		at := image.Pt(tile%4*64, tile/4*64)
		for y := 6; y < 58; y++ { // chroma is interpolated across tiles
			for x := 6; x < 58; x++ {
				for c, v := range want[(y*64+x)*3:][:3] { // its rounding depends on the width
					require.InDelta(t, v, got[((at.Y+y)*256+at.X+x)*3+c], 2.01/127.5, "tile %d, %d, %d", tile, x, y)
				}
			}
		}
	}

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for turns, notes := range [][]string{0: nil, 1: {"is rotated by 90 degrees, as the file specifies"}, 2: {"is rotated by 180 degrees, as the file specifies"}, 3: {"is rotated by 270 degrees, as the file specifies"}} {
		turned := filepath.Join(t.TempDir(), "turned.heic")
		require.NoError(t, os.WriteFile(turned, heifTurned(t, data, turns), 0o666))
		clip, _, said := told(t, turned, OpenOptions{})
		assert.Equal(t, notes, said)
		h, w := clip.Size()
		require.Equal(t, []int{192, 256, 192, 256}[turns], h)
		frame := readFrame(t, clip, 0)
		for _, c := range [][4]int{{100, 50, 50, 155}, {7, 180, 180, 248}} { // x and y, and their place after a quarter turn counterclockwise
			x, y := [4]int{c[0], c[2], 255 - c[0], 191 - c[2]}[turns], [4]int{c[1], c[3], 191 - c[1], 255 - c[3]}[turns]
			for i := range 3 {
				assert.InDelta(t, got[(c[1]*256+c[0])*3+i], frame[(y*w+x)*3+i], 0.02, "turned by %d quarters", turns)
			}
		}
	}
}

// heifTurned returns the tiled picture with a rotation instead of the property of its
// depth.
func heifTurned(t *testing.T, data []byte, turns int) []byte {
	t.Helper()
	out := bytes.Clone(data)
	at := bytes.Index(out, []byte("pixi"))
	require.Positive(t, at)
	copy(out[at:], "irot")
	out[at+4] = byte(turns)
	return out
}

// TestHEIFTurns: the rotation is the main picture's, and broken files are reported or
// have none.
func TestHEIFTurns(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "video", "iphone-grid-256x192.heic"))
	require.NoError(t, err)
	write := func(data []byte) string {
		path := filepath.Join(t.TempDir(), "x.heic")
		require.NoError(t, os.WriteFile(path, data, 0o666))
		return path
	}
	for turns := range 4 {
		got, err := heifProperties(write(heifTurned(t, data, turns)))
		require.NoError(t, err)
		assert.Equal(t, turns, got.turns)
	}
	got, err := heifProperties(write(data))
	require.NoError(t, err)
	assert.Zero(t, got.turns)
	assert.Equal(t, "HEIC", heifKind(write(data)))
	assert.Empty(t, heifKind(filepath.Join("testdata", "video", "cover-first.mp4")))

	for way, filter := range []string{"vflip,", "hflip,"} {
		mirrored := heifTurned(t, data, way)
		copy(mirrored[bytes.Index(mirrored, []byte("irot")):], "imir")
		got, err = heifProperties(write(mirrored))
		require.NoError(t, err)
		assert.Equal(t, pictureProperties{mirror: filter, colours: got.colours, tiled: true}, got)
	}
	links := bytes.Index(data, []byte("ipma"))
	short := bytes.Clone(data)
	short[links+11] = 200 // entries
	_, err = heifProperties(write(short))
	require.ErrorContains(t, err, "x.heic: its box of properties ends early")
	for i := range data[:1031] { // no panic
		broken := bytes.Clone(data)
		broken[i] ^= 0xff
		heifProperties(write(broken[:len(broken)-i]))
	}
}

// TestAVIFMirrored: the picture is red and lime above blue and white. It is rotated a
// quarter counterclockwise, and then flipped vertically.
func TestAVIFMirrored(t *testing.T) {
	needFFmpeg(t)
	data, err := os.ReadFile(filepath.Join("testdata", "video", "turned-then-mirrored.avif"))
	require.NoError(t, err)
	red, lime, blue, white := []float32{1, -1, -1}, []float32{-1, 1, -1}, []float32{-1, -1, 1}, []float32{1, 1, 1}
	turn, mirror := bytes.Index(data, []byte("irot")), bytes.Index(data, []byte("imir"))
	links := bytes.Index(data, []byte("ipma")) + 19 // the last two of the one item
	for name, c := range map[string]struct {
		change func(data []byte)
		want   [][]float32 // from left to right and from top to bottom
	}{
		"as it is":              {func([]byte) {}, [][]float32{red, blue, lime, white}},
		"left and right":        {func(data []byte) { data[mirror+4] = 1 }, [][]float32{white, lime, blue, red}},
		"turned the other way":  {func(data []byte) { data[turn+4] = 3 }, [][]float32{white, lime, blue, red}},
		"mirrored, then turned": {func(data []byte) { data[links], data[links+1] = data[links+1], data[links] }, [][]float32{white, lime, blue, red}},
	} {
		changed := bytes.Clone(data)
		c.change(changed)
		clip, warnings, notes := told(t, putFile(t, t.TempDir(), "x.avif", changed), OpenOptions{})
		assert.Empty(t, warnings, name)
		assert.Len(t, notes, 2, name)
		assert.Contains(t, notes, "is mirrored, as the file specifies", name)
		h, w := clip.Size()
		require.Equal(t, []int{64, 48}, []int{h, w}, name)
		frame := readFrame(t, clip, 0)
		for i, want := range c.want {
			at := (16+32*(i/2))*w + 12 + 24*(i%2)
			assert.InDeltaSlice(t, want, frame[at*3:][:3], 0.05, "%s: quarter %d", name, i)
		}
	}
}

// TestTiledAVIF reads a picture of four tiles and warns that its transparency is dropped.
// ffmpeg before 7.1 reads one tile of it, which is refused.
func TestTiledAVIF(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join("testdata", "video", "tiles-with-alpha.avif")
	help, err := exec.Command("ffprobe", "-h", "full").CombinedOutput()
	require.NoError(t, err)
	if !strings.Contains(string(help), "-show_stream_groups") {
		_, err := Open(context.Background(), path, 3)
		require.ErrorIs(t, err, ErrInput)
		require.ErrorContains(t, err, "tiles-with-alpha.avif: is a picture in tiles, which this ffmpeg doesn't put together (7.1 and newer do); expected a PNG or JPEG of it, such as heif-convert makes")
		return
	}
	clip, warnings, notes := told(t, path, OpenOptions{})
	assert.Equal(t, []string{"transparency is stored as a separate picture, which is ignored"}, warnings)
	assert.Empty(t, notes)
	h, w := clip.Size()
	require.Equal(t, []int{128, 128}, []int{h, w})
	frame := readFrame(t, clip, 0)
	for i, want := range [][]float32{{1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}, {1, 1, 1}} {
		assert.InDeltaSlice(t, want, frame[((32+64*(i/2))*w+32+64*(i%2))*3:][:3], 0.05, "tile %d", i)
	}
}

// TestAnimatedAVIF reads the clip, not its single picture, which newer versions of ffmpeg
// list first.
func TestAnimatedAVIF(t *testing.T) {
	needFFmpeg(t)
	path := filepath.Join("testdata", "video", "animated-5frames.avif")
	clip, _, _ := told(t, path, OpenOptions{})
	assert.Equal(t, Format{Height: 64, Width: 64, Frames: 5, FPS: latent.Rational{Num: 10, Den: 1}}, formatOf(clip))
	assert.NotEqual(t, readFrame(t, clip, 0), readFrame(t, clip, 4))
	found, err := probeAll(context.Background(), path)
	require.NoError(t, err)
	assert.Equal(t, len(found.videos()) > 1, found.choice(len(found.Streams)-1) != "")
}

// TestGridFilter: how tiles are assembled, and cropped.
func TestGridFilter(t *testing.T) {
	g := tileGrid{Width: 100, Height: 90, X: 4}
	for i := range 2 {
		g.Tiles = append(g.Tiles, struct {
			Stream int `json:"stream_index"`
			X      int `json:"tile_horizontal_offset"`
			Y      int `json:"tile_vertical_offset"`
		}{3 + i, 64 * i, 0})
	}
	assert.Equal(t, "[0:3][0:4]xstack=inputs=2:layout=0_0|64_0:fill=black,crop=100:90:4:0:exact=1", g.filter())
	g.Tiles = g.Tiles[:1]
	assert.True(t, strings.HasPrefix(g.filter(), "[0:3]crop=100:90"))
}

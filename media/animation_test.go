//go:build !js

package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
)

// TestAnimations compares with the frames from which ffmpeg made a file; ffmpeg writes
// the differences between frames. This package reads the file without ffmpeg.
func TestAnimations(t *testing.T) {
	needFFmpeg(t)
	dir := t.TempDir()
	file := func(name, filter string, args ...string) (path, pattern string) {
		path, pattern = filepath.Join(dir, name), filepath.Join(dir, name+"%d.png")
		ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=0.9", "-vf", filter, pattern)
		ffmpeg(t, append(append([]string{"-framerate", "10", "-start_number", "1", "-i", pattern}, args...), path)...)
		return path, pattern
	}
	const see, through = "format=rgb24", "format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='if(lt(X,8*N),0,if(lt(Y,20),128,255))'"
	lossless := []string{"-c:v", "libwebp_anim", "-lossless", "1", "-pix_fmt", "bgra"}
	for _, c := range []struct {
		name, filter string
		args         []string
		levels       float64
	}{
		{"rgb.png", see, []string{"-f", "apng", "-plays", "0"}, 1e-4},
		{"rgba.png", through, []string{"-f", "apng"}, 1e-4},
		{"gray.png", "format=gray", []string{"-f", "apng"}, 1e-4},
		{"palette.png", "split[a][b];[a]palettegen[p];[b][p]paletteuse", []string{"-f", "apng", "-pix_fmt", "pal8"}, 1e-4},
		{"rgb.webp", see, lossless, 1e-4},
		{"lossy.webp", "boxblur=6,format=rgb24", []string{"-c:v", "libwebp_anim", "-quality", "95"}, 0},
	} {
		path, pattern := file(c.name, c.filter, c.args...)
		clip, err := Open(context.Background(), path, 4)
		require.NoError(t, err)
		defer clip.Close()
		require.Equal(t, Format{Height: 48, Width: 64, Frames: 9, FPS: latent.Rational{Num: 10, Den: 1}}, formatOf(clip), c.name)
		for _, i := range []int{0, 1, 5, 8, 7, 6, 2, 3, 4} {
			want := readAlpha(t, fmt.Sprintf(pattern, i+1), 4, 0)
			got := make([]float32, len(want))
			require.NoError(t, clip.ReadFrame(i, got))
			if c.levels > 0 {
				assert.LessOrEqual(t, largest(t, got, want), c.levels, "%s: frame %d", c.name, i)
			} else {
				checkColour(t, i, colours(got), colours(want), 3)
			}
		}
	}
}

// TestAnimationsOfOthers reads files of other programs, and compares one with ffmpeg's
// reading.
func TestAnimationsOfOthers(t *testing.T) {
	f := Format{Height: 48, Width: 64, Frames: 9, FPS: latent.Rational{Num: 10, Den: 1}}
	for _, name := range []string{"animated-9frames.png", "animated-9frames.webp"} {
		path := filepath.Join("testdata", "video", name)
		clip, warnings, notes := told(t, path, OpenOptions{})
		require.Equal(t, f, formatOf(clip))
		assert.Empty(t, append(warnings, notes...))
		s, err := Inspect(context.Background(), path)
		require.NoError(t, err)
		assert.Equal(t, f, s.Format)
		assert.NotEqual(t, readFrame(t, clip, 0), readFrame(t, clip, 8))
	}
	needFFmpeg(t)
	path := filepath.Join("testdata", "video", "animated-9frames.png")
	raw, err := exec.Command("ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgba", "-").Output()
	require.NoError(t, err)
	require.Len(t, raw, 9*48*64*4)
	for i := range 9 {
		want := make([]float32, 48*64*3)
		FromRGBA(want, raw[i*48*64*4:][:48*64*4], 3)
		assert.Equal(t, want, readFrame(t, openClip(t, path, f), i), "frame %d", i)
	}
}

// apngFrame is a picture of an animation that a test makes: its position, time in
// milliseconds, disposal, blending, and pixels in rows.
type apngFrame struct {
	x, y, w, h, ms int
	dispose, blend byte
	pixels         []color.NRGBA
}

// apng returns a file of these frames. hidden adds a picture before them that is not part
// of the animation.
func apng(t *testing.T, width, height int, hidden bool, frames ...apngFrame) []byte {
	t.Helper()
	idat := func(f apngFrame) []byte {
		img := image.NewNRGBA(image.Rect(0, 0, f.w, f.h))
		for i, p := range f.pixels {
			img.SetNRGBA(i%f.w, i/f.w, p)
		}
		var b bytes.Buffer
		// One transparent pixel makes the encoder keep RGBA for all pictures.
		require.NoError(t, png.Encode(&b, img))
		require.EqualValues(t, 6, b.Bytes()[25], "kind of colours")
		at := bytes.Index(b.Bytes(), []byte("IDAT"))
		return b.Bytes()[at+4:][:binary.BigEndian.Uint32(b.Bytes()[at-4:])]
	}
	be := binary.BigEndian
	out := []byte("\x89PNG\r\n\x1a\n")
	out = appendChunk(out, "IHDR", append(be.AppendUint32(be.AppendUint32(nil, uint32(width)), uint32(height)), 8, 6, 0, 0, 0))
	out = appendChunk(out, "acTL", be.AppendUint32(be.AppendUint32(nil, uint32(len(frames))), 0))
	if hidden {
		out = appendChunk(out, "IDAT", idat(apngFrame{w: width, h: height}))
	}
	for i, f := range frames {
		head := be.AppendUint32(nil, uint32(i))
		for _, v := range []int{f.w, f.h, f.x, f.y} {
			head = be.AppendUint32(head, uint32(v))
		}
		head = append(be.AppendUint16(be.AppendUint16(head, uint16(f.ms)), 1000), f.dispose, f.blend)
		out = appendChunk(out, "fcTL", head)
		if i == 0 && !hidden {
			out = appendChunk(out, "IDAT", idat(f))
		} else {
			out = appendChunk(out, "fdAT", append(be.AppendUint32(nil, uint32(i)), idat(f)...))
		}
	}
	return appendChunk(out, "IEND", nil)
}

// TestAnimationRules: pictures that are blended, replaced, restored and put beside a
// hidden one, with results computed by hand.
func TestAnimationRules(t *testing.T) {
	red, green, blue := color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 0, 255}, color.NRGBA{0, 0, 255, 102}
	clear, faint := color.NRGBA{}, color.NRGBA{255, 255, 0, 51}
	for _, hidden := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "x.png")
		require.NoError(t, os.WriteFile(path, apng(t, 3, 1, hidden,
			apngFrame{0, 0, 3, 1, 100, 0, 0, []color.NRGBA{red, green, clear}},
			apngFrame{1, 0, 2, 1, 100, 2, 1, []color.NRGBA{blue, blue}},   // over green, and over clear; undone
			apngFrame{0, 0, 2, 1, 100, 1, 0, []color.NRGBA{faint, clear}}, // in place of red and green; cleared
			apngFrame{2, 0, 1, 1, 300, 0, 1, []color.NRGBA{faint}},
			apngFrame{2, 0, 1, 1, 300, 0, 1, []color.NRGBA{faint}}, // over an equal colour: alpha 0.2 + 0.2 * 0.8
		), 0o666))
		clip, err := Open(context.Background(), path, 4)
		require.NoError(t, err)
		defer clip.Close()
		const none = 0.0
		want := [][]float64{ // alpha 102 is 0.4: blue over green is 0.4 of blue
			{255, 0, 0, 255, 0, 255, 0, 255, none, none, none, 0},
			{255, 0, 0, 255, 0, 153, 102, 255, 0, 0, 255, 102},
			{255, 255, 0, 51, none, none, none, 0, none, none, none, 0},
			{none, none, none, 0, none, none, none, 0, 255, 255, 0, 51},
			{none, none, none, 0, none, none, none, 0, 255, 255, 0, 91.8},
		}
		require.Equal(t, Format{Height: 1, Width: 3, Frames: 5, FPS: latent.Rational{Num: 50, Den: 9}}, formatOf(clip))
		got := make([]float32, 12)
		for _, i := range []int{0, 1, 2, 3, 4, 3, 2, 1, 0} {
			require.NoError(t, clip.ReadFrame(i, got))
			for j, v := range want[i] {
				assert.InDelta(t, v, (float64(got[j])+1)*127.5, 1e-3, "frame %d, value %d", i, j)
			}
		}
		_, warnings, _ := told(t, path, OpenOptions{})
		assert.Equal(t, []string{
			"frames are 100 to 300 ms apart: read as 180 ms apart (50/9 frames/s), which moves them by up to 0.24 s",
			"transparency is dropped: colours are used as stored, without blending",
		}, warnings)
	}
}

// TestAnimationRate: rates that WebP stores only rounded, and the fastest rate that PNG
// can state.
func TestAnimationRate(t *testing.T) {
	rate := func(seconds ...float64) latent.Rational {
		a := &animation{}
		for _, s := range seconds {
			a.parts = append(a.parts, animationPart{seconds: s})
		}
		r, _ := a.rate()
		return r
	}
	assert.Equal(t, latent.Rational{Num: 24, Den: 1}, rate(0.042, 0.041, 0.042))
	assert.Equal(t, latent.Rational{Num: 5, Den: 1}, rate(0.1, 0.3))
	assert.Equal(t, latent.Rational{}, rate(0.1))
	assert.True(t, rate(1.0/65535, 1.0/65535).Known())
}

// TestDamagedAnimations: truncated and empty files, and pictures beyond the canvas.
func TestDamagedAnimations(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o666))
		return path
	}
	for _, ext := range []string{".png", ".webp"} {
		data, err := os.ReadFile(filepath.Join("testdata", "video", "animated-9frames"+ext))
		require.NoError(t, err)
		for _, length := range []int{len(data) * 6 / 10, len(data) - 14} {
			path := file("cut"+ext, data[:length])
			_, err = Open(context.Background(), path, 3)
			require.ErrorIs(t, err, ErrInput)
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, "cut"+ext+": damaged: it ends ")
			clip, warnings, _ := told(t, path, OpenOptions{AcceptDamaged: true})
			require.Len(t, warnings, 1)
			require.Contains(t, warnings[0], fmt.Sprintf("; %d frames read", clip.Frames()))
			require.Less(t, clip.Frames(), 9)
			require.Greater(t, clip.Frames(), 2)
			readFrame(t, clip, clip.Frames()-1)
		}
		folder := filepath.Join(dir, ext)
		require.NoError(t, os.Mkdir(folder, 0o777))
		for _, name := range []string{"1", "2"} {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name+ext), data, 0o666))
		}
		_, err = Open(context.Background(), folder, 3)
		require.ErrorIs(t, err, ErrInput)
		require.ErrorContains(t, err, "1"+ext+": is animated, expected a still picture")
	}
	dot := apngFrame{0, 0, 1, 1, 100, 0, 0, []color.NRGBA{{}}}
	beyond := dot
	beyond.x = 2
	_, err := Open(context.Background(), file("beyond.png", apng(t, 2, 1, false, dot, beyond)), 3)
	require.ErrorContains(t, err, "beyond.png: picture 1 of its animation lies at (2,0)-(3,1), expected a place within 2 x 1")
	require.ErrorIs(t, err, ErrInput)
	other := dot
	other.pixels, other.w = []color.NRGBA{{}, {}}, 2
	data := apng(t, 2, 1, false, dot, other)
	data[bytes.LastIndex(data, []byte("fcTL"))+11] = 1 // it has two pixels
	clip, err := Open(context.Background(), file("size.png", data), 3)
	require.NoError(t, err)
	defer clip.Close()
	require.ErrorIs(t, clip.ReadFrame(1, make([]float32, 6)), ErrInput)
}

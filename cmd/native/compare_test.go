package main

import (
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func haveFFmpeg() bool {
	_, err := exec.LookPath("ffmpeg")
	return err == nil
}

func readPNG(t testing.TB, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err, path)
	return img
}

// at returns channel c of a pixel of frame t of a video [3,T,H,W].
func (v tensor) at(c, t, y, x int) float64 {
	return float64(v.data[((c*v.shape[1]+t)*v.shape[2]+y)*v.shape[3]+x])
}

// pngError returns the largest difference of a PNG's codes from frame i of v.
func pngError(t testing.TB, path string, v tensor, i int) int {
	t.Helper()
	worst := 0
	each(readPNG(t, path), func(c, y, x int, code uint8) {
		want := math.Round((min(1, max(-1, v.at(c, i, y, x))) + 1) / 2 * 255)
		worst = max(worst, int(math.Abs(float64(code)-want)))
	})
	return worst
}

// psnr returns the PSNR of v, clamped, against a folder of PNG, for a peak of 2.
func psnr(t testing.TB, folder string, v tensor) float64 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.png"))
	require.NoError(t, err)
	require.Len(t, files, v.shape[1], "originals")
	var sum float64
	for i, f := range files {
		each(readPNG(t, f), func(c, y, x int, code uint8) {
			e := min(1, max(-1, v.at(c, i, y, x))) - (float64(code)/127.5 - 1)
			sum += e * e
		})
	}
	return 10 * math.Log10(4/(sum/float64(len(v.data))))
}

func each(img image.Image, visit func(c, y, x int, code uint8)) {
	b := img.Bounds()
	for y := range b.Dy() {
		for x := range b.Dx() {
			r, g, bl, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
			visit(0, y, x, uint8(r>>8))
			visit(1, y, x, uint8(g>>8))
			visit(2, y, x, uint8(bl>>8))
		}
	}
}

func nmse32(got, want []float32) float64 {
	wide := make([]float64, len(want))
	for i, v := range want {
		wide[i] = float64(v)
	}
	return nmse(got, wide)
}

package ref

import (
	"slices"
	"testing"
)

// numbers returns n irregular numbers in [-1, 1].
func numbers(n int) []float64 {
	v := make([]float64, n)
	for i, state := 0, uint32(n); i < n; i++ {
		state = state*1664525 + 1013904223
		v[i] = float64(int32(state)) / (1 << 31)
	}
	return v
}

// A 1x1 convolution, the pixel shuffle and a 3x3 convolution in sequence equal the
// folded weight, including borders and biases. By hand: with nearest enlargement, a
// kernel of ones has 4 taps in the pixel's own cell, 2 in those beside it and 1 in the
// corner.
func TestFoldUp(t *testing.T) {
	const H, W, C, O = 3, 2, 2, 3
	x, upscale, p, weight, b := numbers(H*W*C), numbers(4*C*C), numbers(4*C), numbers(O*C*9), numbers(O)
	u := PixelShuffle3D(Conv3D(x, 1, H, W, C, upscale, p, 4*C, 1, 1, 1, 1), 1, H, W, C, 1, false)
	u = Window(u, 1, 2*H, 2*W, C, -1, -1, 2*H+2, 2*W+2)
	want := Conv3D(u, 1, 2*H+2, 2*W+2, C, weight, b, O, 1, 3, 1, 1)

	folded := FoldUp(weight, upscale, O, C, C)
	var cell []float64 // [4, O, 1, 2, 2] to [4, 2, 2, O]
	for parity := range 4 {
		bias := FoldUp(weight, p, O, C, 1)[parity*O*4:]
		for at := range 4 {
			for o := range O {
				cell = append(cell, bias[o*4+at])
			}
		}
	}
	near(t, ConvUp(x, 1, H, W, C, folded, slices.Repeat(b, 4), cell, O, 1, 1, 0, 0, 2*H, 2*W), want)

	ones := slices.Repeat([]float64{1}, 9)
	near(t, FoldUp(ones, ones[:4], 1, 1, 1), []float64{1, 2, 2, 4, 2, 1, 4, 2, 2, 4, 1, 2, 4, 2, 2, 1})
}

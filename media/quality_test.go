//go:build !js

package media

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// directSSIM computes SSIM as in the paper: a full 2-D window at every position, means
// first, then moments about them. Frames are in [-1,1].
func directSSIM(a, b []float32, height, width, channels int) float64 {
	const size, sigma = 11, 1.5
	var window [size][size]float64
	var total float64
	for i := range size {
		for j := range size {
			di, dj := float64(i-size/2), float64(j-size/2)
			window[i][j] = math.Exp(-(di*di + dj*dj) / (2 * sigma * sigma))
			total += window[i][j]
		}
	}
	var sum float64
	n := 0
	for c := range channels {
		at := func(f []float32, y, x int) float64 {
			return (math.Max(-1, math.Min(1, float64(f[(y*width+x)*channels+c]))) + 1) / 2
		}
		for y := 0; y+size <= height; y++ {
			for x := 0; x+size <= width; x++ {
				var ma, mb float64
				for i := range size {
					for j := range size {
						w := window[i][j] / total
						ma += w * at(a, y+i, x+j)
						mb += w * at(b, y+i, x+j)
					}
				}
				var va, vb, cov float64
				for i := range size {
					for j := range size {
						w := window[i][j] / total
						da, db := at(a, y+i, x+j)-ma, at(b, y+i, x+j)-mb
						va, vb, cov = va+w*da*da, vb+w*db*db, cov+w*da*db
					}
				}
				const c1, c2 = 0.0001, 0.0009
				sum += (2*ma*mb + c1) / (ma*ma + mb*mb + c1) * (2*cov + c2) / (va + vb + c2)
				n++
			}
		}
	}
	return sum / float64(n)
}

func TestSSIMAgainstDirect(t *testing.T) {
	for _, size := range [][2]int{{11, 11}, {11, 30}, {23, 12}, {40, 33}} {
		h, w := size[0], size[1]
		original := testFrame(0, h, w)
		for _, amount := range []float32{0, 0.02, 0.2, 1.5} {
			decoded := noise(3, h, w)
			for i := range decoded {
				decoded[i] = original[i] + amount*decoded[i]
			}
			got := NewQuality(h, w, 3).Add(original, decoded).SSIM
			want := directSSIM(original, decoded, h, w, 3)
			at := fmt.Sprintf("%d x %d, noise %v", w, h, amount)
			assert.InDelta(t, want, got, 1e-12, at)
			switch amount {
			case 0:
				assert.Equal(t, 1.0, got, at)
			case 1.5:
				assert.LessOrEqual(t, got, 0.5, at)
			}
		}
	}
}

// TestAlphaQuality: alpha counts like the other channels.
func TestAlphaQuality(t *testing.T) {
	const h, w = 14, 13
	original := alphaFrame(0, h, w)
	opaque := slices.Clone(original)
	decoded := slices.Clone(original)
	for i := 3; i < len(decoded); i += 4 {
		opaque[i] = 1
		decoded[i] = 0.8 // 0.2 less, in one channel of four
	}
	q := NewQuality(h, w, 4)
	require.InDelta(t, 10*math.Log10(4/(0.04/4)), q.Add(opaque, decoded).PSNR, 1e-5)
	for i, v := range noise(5, h, w)[:h*w] {
		decoded[4*i+3] = v
		decoded[4*i+i%3] += 0.1 * v
	}
	got := q.Add(original, decoded).SSIM
	require.InDelta(t, directSSIM(original, decoded, h, w, 4), got, 1e-12)
	require.LessOrEqual(t, got, 0.95)
	same := q.Add(original, original)
	require.Equal(t, [2]float64{1, 0}, [2]float64{same.SSIM, same.MSE}, "SSIM and MSE of identical frames")
}

func TestPSNR(t *testing.T) {
	const h, w = 12, 14
	original := make([]float32, h*w*3)
	q := NewQuality(h, w, 3)
	require.Zero(t, q.Overall(), "without frames")
	shifted := func(by float32) []float32 {
		out := make([]float32, len(original))
		for i := range out {
			out[i] = original[i] + by
		}
		return out
	}
	same := q.Add(original, original)
	require.Equal(t, FrameQuality{PSNR: math.Inf(1), SSIM: 1}, same, "identical frames")
	// An error of 0.2 everywhere is 20 log10(2/0.2) = 20 dB.
	require.InDelta(t, 20, q.Add(original, shifted(0.2)).PSNR, 1e-5)
	// 5 is clamped to 1, an error of 1: 6.02 dB.
	require.InDelta(t, 20*math.Log10(2), q.Add(original, shifted(5)).PSNR, 1e-9)
	// Overall uses the mean of the squares 0, 0.04 and 1, not of the decibels.
	want := 10 * math.Log10(4/((0.04+1)/3))
	require.InDelta(t, want, q.Overall().PSNR, 1e-5, "overall")
	require.Len(t, q.Frames(), 3)
}

// TestTinyFrames: frames smaller than the window still have a measure.
func TestTinyFrames(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 40}, {8, 9}, {10, 10}} {
		h, w := size[0], size[1]
		q := NewQuality(h, w, 3)
		assert.Equal(t, 1.0, q.Add(testFrame(0, h, w), testFrame(0, h, w)).SSIM, "%v: identical frames", size)
		assert.Less(t, q.Add(testFrame(0, h, w), noise(1, h, w)).SSIM, 0.9, "%v: noise", size)
	}
}

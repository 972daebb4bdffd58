package media

import (
	"fmt"
	"math"
)

// Quality measures how close decoded frames are to the originals.
//
// Values are clamped to [-1,1] first, as a display does. PSNR uses the full range of 2 as
// its peak. SSIM is that of Wang et al. 2004: an 11 x 11 Gaussian window of sigma 1.5, K1
// = 0.01, K2 = 0.03, on values in [0,1], at every position inside the frame, per channel
// and then averaged. Alpha counts like the other channels in both. Where a frame has
// fewer than 11 pixels along a side, the window has that length, less one if it is even.
type Quality struct {
	height, width int
	channels      int
	frames        []FrameQuality
	a, b          []float64 // one channel of each frame, in [0,1]
	blur          blurrer
}

// FrameQuality is the measure of one frame.
type FrameQuality struct {
	MSE  float64 // mean squared error, for values in [-1,1]
	PSNR float64 // dB, +Inf for identical frames
	SSIM float64 // at most 1, which is for identical frames
}

// NewQuality measures frames [height,width,channels], each at least 1.
func NewQuality(height, width, channels int) *Quality {
	return &Quality{
		height: height, width: width, channels: channels,
		a: make([]float64, height*width), b: make([]float64, height*width),
		blur: newBlurrer(height, width),
	}
}

// Add measures the next frame, both [H,W,C]. It panics if a length is wrong.
func (q *Quality) Add(original, decoded []float32) FrameQuality {
	if n := q.height * q.width * q.channels; len(original) != n || len(decoded) != n {
		panic(fmt.Sprintf("media: quality of %d and %d values, expected %d", len(original), len(decoded), n))
	}
	var squares, ssim float64
	n := q.channels
	for c := range n {
		for i := range q.a {
			x, y := float64(clamp1(original[n*i+c])), float64(clamp1(decoded[n*i+c]))
			squares += (x - y) * (x - y)
			q.a[i], q.b[i] = x*0.5+0.5, y*0.5+0.5
		}
		ssim += q.blur.ssim(q.a, q.b) / float64(n)
	}
	f := FrameQuality{MSE: squares / float64(len(original)), SSIM: ssim}
	f.PSNR = psnr(f.MSE)
	q.frames = append(q.frames, f)
	return f
}

// Frames returns the measures so far, in order. The slice belongs to q.
func (q *Quality) Frames() []FrameQuality { return q.frames }

// Overall returns the measure of the whole clip: PSNR from the mean squared error of all
// frames, SSIM as the mean over frames. It is zero without frames.
func (q *Quality) Overall() FrameQuality {
	if len(q.frames) == 0 {
		return FrameQuality{}
	}
	var all FrameQuality
	for _, f := range q.frames {
		all.MSE += f.MSE / float64(len(q.frames))
		all.SSIM += f.SSIM / float64(len(q.frames))
	}
	all.PSNR = psnr(all.MSE)
	return all
}

// psnr returns dB for a peak of 2.
func psnr(mse float64) float64 { return 10 * math.Log10(4/mse) }

// blurrer averages under a Gaussian window at every position inside the frame, along rows
// and columns separately.
type blurrer struct {
	height, width int
	rows, columns []float64 // window along y and along x
	half          []float64 // [H, width-len(columns)+1]: blurred along x
	out           [5][]float64
	product       []float64
}

func newBlurrer(height, width int) blurrer {
	b := blurrer{height: height, width: width, rows: gaussian(height), columns: gaussian(width)}
	outH, outW := height-len(b.rows)+1, width-len(b.columns)+1
	b.half = make([]float64, height*outW)
	for i := range b.out {
		b.out[i] = make([]float64, outH*outW)
	}
	b.product = make([]float64, height*width)
	return b
}

// gaussian returns SSIM's window of 11 weights, or as many as fit size, with sum 1.
func gaussian(size int) []float64 {
	const sigma = 1.5
	n := min(11, size-1+size%2)
	w := make([]float64, n)
	var sum float64
	for i := range w {
		d := float64(i - n/2)
		w[i] = math.Exp(-d * d / (2 * sigma * sigma))
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// blur averages src, [H,W], into dst.
func (b *blurrer) blur(dst, src []float64) {
	outW := b.width - len(b.columns) + 1
	for y := range b.height {
		row, half := src[y*b.width:(y+1)*b.width], b.half[y*outW:(y+1)*outW]
		for x := range half {
			var sum float64
			for k, w := range b.columns {
				sum += w * row[x+k]
			}
			half[x] = sum
		}
	}
	clear(dst)
	for y := 0; y < len(dst)/outW; y++ {
		line := dst[y*outW : (y+1)*outW]
		for k, w := range b.rows {
			for x, v := range b.half[(y+k)*outW : (y+k+1)*outW] {
				line[x] += w * v
			}
		}
	}
}

// ssim computes the SSIM of two channels [H,W] in [0,1].
func (b *blurrer) ssim(x, y []float64) float64 {
	b.blur(b.out[0], x)
	b.blur(b.out[1], y)
	for i, pair := range [3][2][]float64{{x, x}, {y, y}, {x, y}} {
		for j := range b.product {
			b.product[j] = pair[0][j] * pair[1][j]
		}
		b.blur(b.out[2+i], b.product)
	}
	const c1, c2 = 0.01 * 0.01, 0.03 * 0.03
	var sum float64
	for i := range b.out[0] {
		mx, my := b.out[0][i], b.out[1][i]
		vx, vy, cov := b.out[2][i]-mx*mx, b.out[3][i]-my*my, b.out[4][i]-mx*my
		sum += (2*mx*my + c1) * (2*cov + c2) / ((mx*mx + my*my + c1) * (vx + vy + c2))
	}
	return sum / float64(len(b.out[0]))
}

package ref

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// near requires numbers equal to 12 digits, or to 12 decimal places below 1.
func near(t *testing.T, got, want []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		assert.InDelta(t, want[i], got[i], 1e-12*max(1, math.Abs(want[i])), "number %d", i)
	}
}

// Two frames of one pixel, four channels in two groups. By hand: a group {a, b} has
// mean (a+b)/2 and biased deviation |a-b|/2, so it becomes -1, +1 in the order of its
// values, then times gamma plus beta. Frames do not mix: the second frame's groups are
// 100 times the first's and give equal results.
func TestGroupNorm(t *testing.T) {
	x := []float64{1, 3, 10, -10, 100, 300, 1000, -1000}
	gamma, beta := []float64{1, 2, 3, 4}, []float64{0, 10, 20, 30}
	want := []float64{-1, 12, 23, 26}
	near(t, GroupNorm(x, 2, 1, 4, 2, gamma, beta, 0, false), slices.Concat(want, want))

	// eps 3 under variance 1: 1/sqrt(4).
	near(t, GroupNorm(x[:2], 1, 1, 2, 1, gamma, beta, 3, false), []float64{-0.5, 11})

	// Statistics cover pixels: values 0, 4 in one channel over two pixels.
	near(t, GroupNorm([]float64{0, 4}, 1, 2, 1, 1, []float64{1}, []float64{0}, 0, false), []float64{-1, 1})

	// silu(1) = 1/(1+1/e) = 0.7310585786300049, silu(-1) = -0.2689414213699951.
	near(t, GroupNorm([]float64{0, 4}, 1, 2, 1, 1, []float64{1}, []float64{0}, 0, true), []float64{-0.2689414213699951, 0.7310585786300049})
}

// One frame of two tokens, C = 4, so the scale is 1/2. Query 0 is 2*ln(3) in channel 0;
// keys are 1 and 0 there: scores ln 3 and 0, weights 3/4 and 1/4. Query 1 is zero:
// weights 1/2. In the second frame one key's score is 2000 higher than the other's:
// weight 1, no overflow. A zero query that also sees the frame before has weights 1/2.
func TestAttention(t *testing.T) {
	ln9 := 2 * math.Log(3)
	qkv := []float64{
		ln9, 0, 0, 0 /**/, 1, 0, 0, 0 /**/, 4, 8, 0, -4,
		0, 0, 0, 0 /**/, 0, 0, 5, 0 /**/, 0, 4, 0, 4,

		1000, 0, 0, 0 /**/, 4, 0, 0, 0 /**/, 1, 2, 3, 4,
		1000, 0, 0, 0 /**/, 0, 0, 0, 0 /**/, 5, 6, 7, 8,
	}
	near(t, Attention(qkv, 2, 2, 4, false), []float64{
		3, 7, 0, -2,
		2, 6, 0, 0,
		1, 2, 3, 4,
		1, 2, 3, 4,
	})
	past := []float64{
		0, 0, 0, 0 /**/, 9, 9, 9, 9 /**/, 1, 2, 3, 4,
		0, 0, 0, 0 /**/, 5, 5, 5, 5 /**/, 3, 6, -3, 0,
	}
	near(t, Attention(past, 2, 1, 4, true), []float64{
		1, 2, 3, 4,
		2, 4, 0, 2,
	})
}

// Z = 2. Pixel 0: log-variances 0 and 2 ln 2, deviations 1 and 2. Pixel 1: -100 is
// clamped to -30 and 100 to 20, deviations exp(-15) and exp(10).
func TestSample(t *testing.T) {
	moments := []float64{5, 6, 0, 2 * math.Ln2, 0, 0, -100, 100}
	noise := []float64{10, 100, 1, 1}
	near(t, Sample(moments, noise, 2, 2), []float64{15, 206, math.Exp(-15), math.Exp(10)})
}

// 1x2 pixels of a 2x3 tile, on a 2x3 canvas at (1, 1), two frames.
func TestFeather(t *testing.T) {
	canvas := []float64{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}
	tile := []float64{10, 20, 99, 99, 99, 99, 30, 40, 99, 99, 99, 99}
	FeatherBlend(canvas, 2, 2, 3, 1, tile, 2, 3, []float64{0.5}, []float64{1, 0.5}, 1, 1)
	near(t, canvas, []float64{1, 1, 1, 1, 6, 6, 2, 2, 2, 2, 17, 12})

	// Two channels; no tile covers the second pixel, and the third's count is 2.
	near(t, FeatherNormalise([]float64{1, 2, 0, 0, 6, 8}, 1, 3, 2, []float64{1, 0, 2}), []float64{1, 2, 0, 0, 3, 4})
	near(t, FeatherNormalise([]float64{1e-6, 3}, 2, 1, 1, []float64{1e-9}), []float64{1, 3e6})
}

// -1, 0, 1 are 0, 127.5 rounded up, 255. Values beyond are clamped, and a pixel that is
// not all finite is 0.
func TestToRGBA8(t *testing.T) {
	x := []float64{9, 9, 9, -1, 0, 1, 2, -2, 0, 0, math.NaN(), 0, 0, 0, math.Inf(-1), 9, 9, 9}
	require.Equal(t, []uint32{255<<24 | 255<<16 | 128<<8, 255<<24 | 128<<16 | 255, 0, 0}, ToRGBA8(x, 1, 1, 6, 0, 1, 1, 4))
}

// By hand: a pixel of (3, 4) has length 5, so it is (0.6, 0.8) times sqrt(2) times
// gamma; a zero pixel stays zero; a length below 1e-12 is replaced by 1e-12.
func TestRMSNorm(t *testing.T) {
	gamma := []float64{1, 10}
	near(t, RMSNorm([]float64{3, 4, 0, 0, -4e-13, 0}, 3, 2, gamma, 0, false),
		[]float64{0.6 * math.Sqrt2, 8 * math.Sqrt2, 0, 0, -0.4 * math.Sqrt2, 0})

	// One channel becomes 1 or -1: silu as in TestGroupNorm.
	near(t, RMSNorm([]float64{7, -7}, 2, 1, gamma, 0, true), []float64{0.7310585786300049, -0.2689414213699951})

	// 12.5 is the mean of squares of 3 and 4: with 12.5 more, they are divided by 5.
	near(t, RMSNorm([]float64{3, 4}, 1, 2, gamma, 12.5, false), []float64{0.6, 8})
}

// Three frames of one channel, 2x2 pixels. In pairs, the first frame is with a zero
// frame. Two output channels hold the two frames of a pair; one holds the mean of both.
func TestAvgDown3D(t *testing.T) {
	x := []float64{1, 2, 3, 6 /**/, 10, 20, 30, 60 /**/, 4, 4, 4, 8}
	near(t, AvgDown3D(x, 3, 2, 2, 1, 1, 1, 2, false), []float64{3, 30, 5})
	near(t, AvgDown3D(x, 3, 2, 2, 1, 2, 2, 2, false), []float64{0, 3, 30, 5})
	near(t, AvgDown3D(x, 3, 2, 2, 1, 2, 2, 2, true), []float64{3, 3, 30, 5}) // the first frame is paired with itself
	near(t, AvgDown3D(x, 3, 2, 2, 1, 1, 2, 2, false), []float64{1.5, 17.5})

	// A pixel's four numbers in four channels, row before column.
	near(t, AvgDown3D(x[:4], 1, 2, 2, 1, 4, 1, 2, false), []float64{1, 2, 3, 6})

	// One frame of two pixels in a row, two channels: unchanged.
	near(t, AvgDown3D([]float64{1, 2, 3, 4}, 1, 1, 2, 2, 2, 1, 1, false), []float64{1, 2, 3, 4})
}

// One pixel of two channels. Into one channel: each row takes a channel; into two: all
// of a block are equal; in time, with eight numbers a block: each frame takes a
// channel.
func TestDupUp3D(t *testing.T) {
	x := []float64{1, 2}
	near(t, DupUp3D(x, 1, 1, 1, 2, 1, 1, 2), []float64{1, 1, 2, 2})
	near(t, DupUp3D(x, 1, 1, 1, 2, 2, 1, 2), []float64{1, 2, 1, 2, 1, 2, 1, 2})
	near(t, DupUp3D(x, 1, 1, 1, 2, 1, 2, 2), []float64{1, 1, 1, 1, 2, 2, 2, 2})

	// Two frames of two pixels in a column.
	near(t, DupUp3D([]float64{1, 2, 3, 4}, 2, 2, 1, 1, 1, 2, 1), []float64{1, 2, 1, 2, 3, 4, 3, 4})
	near(t, DupUp3D([]float64{1, 2}, 1, 2, 1, 1, 1, 1, 2), []float64{1, 1, 1, 1, 2, 2, 2, 2})
}

// Two frames, each with two pixels in a column, of four channels: into one channel,
// then into three, which are two and the first again.
func TestShuffle3D(t *testing.T) {
	near(t, Shuffle3D([]float64{0, 1, 2, 3 /**/, 4, 5, 6, 7}, 1, 2, 1, 4, 1, 1, 2), []float64{0, 1, 2, 3, 4, 5, 6, 7})
	near(t, Shuffle3D([]float64{0, 1, 2, 3}, 1, 1, 1, 4, 3, 2, 1), []float64{0, 2, 0, 1, 3, 1})
}

// Rows of three pixels, surrounded by mirrored ones; a single pixel is surrounded by
// itself.
func TestMirror(t *testing.T) {
	near(t, Mirror([]float64{1, 2, 3, 4, 5, 6}, 1, 2, 3, 1), []float64{5, 4, 5, 6, 5, 2, 1, 2, 3, 2, 5, 4, 5, 6, 5, 2, 1, 2, 3, 2})
	near(t, Mirror([]float64{7}, 1, 1, 1, 1), []float64{7, 7, 7, 7, 7, 7, 7, 7, 7})
}

// Colour 0 is 0 to 3 in the order (row 0, column 0), (1, 0), (0, 1), (1, 1); colour 1
// is 10 more. The second patch is to the right.
func TestUnpatchify(t *testing.T) {
	x := []float64{0, 1, 2, 3, 10, 11, 12, 13 /**/, 20, 21, 22, 23, 30, 31, 32, 33}
	near(t, Unpatchify(x, 1, 1, 2, 2, 2, false), []float64{
		0, 10, 2, 12, 20, 30, 22, 32,
		1, 11, 3, 13, 21, 31, 23, 33,
	})
	near(t, Unpatchify(x, 1, 1, 2, 2, 2, true), []float64{ // the order is (0, 0), (0, 1), (1, 0), (1, 1)
		0, 10, 1, 11, 20, 30, 21, 31,
		2, 12, 3, 13, 22, 32, 23, 33,
	})
}

// Two outputs with three taps of two numbers: 1+10+100 and 2+20+200, and likewise for
// the other; with the last tap separate, 1+10 and 2+20 before it.
func TestSumTaps(t *testing.T) {
	w := []float64{1, 2, 10, 20, 100, 200, 3, 4, 30, 40, 300, 400}
	near(t, SumTaps(w, 2, 3, 2, 3), []float64{111, 222, 333, 444})
	near(t, SumTaps(w, 2, 3, 2, 2), []float64{11, 22, 100, 200, 33, 44, 300, 400})
	near(t, SumTaps(w, 2, 3, 2, 1), w)
}

func TestLeakyReLU(t *testing.T) {
	near(t, LeakyReLU([]float64{-2, 0, 3, math.Inf(1)}), []float64{-0.4, 0, 3, math.Inf(1)})
}

func TestReLU(t *testing.T) {
	near(t, ReLU([]float64{-2, 0, 3, -1e-300, math.Inf(1), math.Inf(-1)}), []float64{0, 0, 3, 0, math.Inf(1), 0})
}

// Two frames of 1x2 pixels, with a row above and two columns to the right.
func TestReplicate(t *testing.T) {
	near(t, Replicate([]float64{1, 2, 3, 4}, 2, 1, 2, 1, -1, 0, 2, 4), []float64{1, 2, 2, 2, 1, 2, 2, 2, 3, 4, 4, 4, 3, 4, 4, 4})
}

// A quarter of the way.
func TestFade(t *testing.T) {
	near(t, Fade([]float64{4, 0, -8}, []float64{8, 4, 8}, 0.25), []float64{5, 1, -4})
}

// Two frames of a pixel.
func TestTimeAttention(t *testing.T) {
	ln3 := math.Log(3)
	qkv := []float64{5, 0, 4, 1, ln3, 8} // the second frame's weights are 1/4 and 3/4
	near(t, TimeAttention(qkv, 2, 1, 1, 1, false), []float64{4, 7})

	// Two heads of one channel, whose queries and keys have length one: for the second
	// frame, the first head has keys -1 and 1, the second 0 and 1.
	qkv = []float64{1, 1, -9, 0, 2, 4, 7, 8, 5, 2, 6, 12}
	e := math.E
	near(t, TimeAttention(qkv, 2, 1, 2, 2, true), []float64{2, 4, (2/e + 6*e) / (1/e + e), (4 + 12*e) / (1 + e)})
}

// A row of two pixels of two channels: as channels, as two means of two, and repeated.
func TestSpaceToDepth(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8} // two rows
	near(t, SpaceToDepth(x, 1, 1, 1, 2, 8, 1, 2, 1), []float64{1, 2, 3, 4, 5, 6, 7, 8})
	near(t, SpaceToDepth(x, 1, 1, 1, 2, 4, 1, 2, 2), []float64{1.5, 3.5, 5.5, 7.5})
	near(t, SpaceToDepth(x[:2], 1, 1, 1, 2, 4, 1, 1, 1), []float64{1, 2, 1, 2})
	near(t, SpaceToDepth(x[:4], 1, 1, 1, 2, 4, 2, 1, 1), []float64{1, 2, 3, 4}) // in time
}

// A pixel of eight channels as 2x2 of two, and as one frame pair of two; a pixel of
// four as 2x2 of two, repeated.
func TestDepthToSpace(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	near(t, DepthToSpace(x, 1, 1, 1, 8, 2, 1, 2, 2, 1), x)
	near(t, DepthToSpace(x, 1, 1, 1, 8, 1, 1, 2, 2, 1), []float64{1, 3, 5, 7})
	near(t, DepthToSpace(x[:4], 1, 1, 1, 4, 2, 1, 2, 2, 2), []float64{1, 1, 2, 2, 3, 3, 4, 4})
	near(t, DepthToSpace(x[:2], 1, 1, 1, 2, 1, 2, 1, 1, 1), []float64{1, 2}) // in time
}

// silu(1) = 0.7310585786300049, silu(-1) = -0.2689414213699951. Two columns of each
// frame share one of the smaller frame. The first of three frames uses the first of
// two, the others the second. v is 1, so the sums are 1 and -1 if times and plus add up
// to them.
func TestSpatialNorm(t *testing.T) {
	const up, down = 0.7310585786300049, -0.2689414213699951
	near(t, SpatialNorm([]float64{1, 1, 1, 1, 1, 1}, 3, 1, 2, 1, []float64{3, 2}, []float64{-2, -3}, 2, 1, 1), []float64{up, up, down, down, down, down})

	// Of four frames, an even number, each two share one of two.
	near(t, SpatialNorm([]float64{1, 1, 1, 1}, 4, 1, 1, 1, []float64{1, -1}, []float64{0, 0}, 2, 1, 1), []float64{up, up, down, down})

	// Rows and channels do not mix: two rows share each of the smaller frame's two.
	near(t, SpatialNorm([]float64{1, 0, 1, 0, 1, 0, 1, 0}, 1, 4, 1, 2, []float64{1, 5, -1, 5}, []float64{0, -1, 0, 1}, 1, 2, 1), []float64{up, down, up, down, down, up, down, up})
}

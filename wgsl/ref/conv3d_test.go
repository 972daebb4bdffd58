package ref

import "testing"

// Weights are powers of ten: the digits of a sum are the values under its taps, first
// tap last.
func TestConv3D(t *testing.T) {
	x := []float64{
		1, 2, 3,
		4, 5, 6,
		7, 8, 9,
	}
	weight := []float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}
	near(t, Conv3D(x, 1, 3, 3, 1, weight, []float64{0.5}, 1, 1, 3, 1, 1), []float64{987654321.5})

	// Stride 2 on this input, padded by one pixel around.
	padded := Window(x, 1, 3, 3, 1, -1, -1, 5, 5)
	near(t, Conv3D(padded, 1, 5, 5, 1, weight, []float64{0}, 1, 1, 3, 1, 2), []float64{
		540210000, 65032000,
		870540, 98065,
	})

	// Three taps in time, every second frame; then two channels in and out.
	near(t, Conv3D(x[:5], 5, 1, 1, 1, weight[:3], []float64{0}, 1, 3, 1, 2, 1), []float64{321, 543})
	near(t, Conv3D(x[2:4], 1, 1, 1, 2, weight[:4], []float64{0, 0}, 2, 1, 1, 1, 1), []float64{43, 4300})
}

// Two frames of one row of two pixels, two channels.
func TestWindow(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	near(t, Window(x, 2, 1, 2, 2, 0, 1, 2, 2), []float64{3, 4, 0, 0, 0, 0, 0, 0, 7, 8, 0, 0, 0, 0, 0, 0})
	near(t, Window(x, 2, 1, 2, 2, -1, -1, 2, 2), []float64{0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 5, 6})
}

func TestEnlarge(t *testing.T) {
	near(t, Enlarge([]float64{1, 2, 3, 4}, 1, 1, 2, 2), []float64{
		1, 2, 1, 2, 3, 4, 3, 4,
		1, 2, 1, 2, 3, 4, 3, 4,
	})
	near(t, Enlarge([]float64{1, 2, 3, 4}, 2, 2, 1, 1), []float64{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4})
}

// Two frames of one pixel, then one frame of two; C = 2.
func TestInterleave(t *testing.T) {
	u := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	near(t, Interleave(u, 2, 1, 2), u)
	near(t, Interleave(u, 1, 2, 2), []float64{1, 2, 5, 6, 3, 4, 7, 8})
}

//go:build !js

package wgsl

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

// quantised are the shapes for both directions.
var quantised = []struct {
	name    string
	H, W, C int
}{
	{"one_pixel", 1, 1, 1},
	{"primes", 5, 17, 13},
	{"three_channels", 9, 16, 3},
	{"one_row", 1, 129, 64},
	{"one_column", 31, 1, 18},
	{"one_over_a_workgroup", 13, 3, 20},
	{"rows_past_65535_groups", 65537, 1, 5},
	{"seedvr2_256", 24, 64, 256},
}

// steps returns [rows, W, C] numbers that f32 and the reference round alike: each, as
// stored, is at least a hundredth of a step away from a rounding edge. A channel's
// largest number is a power of two; others are whole multiples of its 127th plus less
// than a third of one. Channel 5 is zero.
func steps(rows, W, C int, e Elem) []float32 {
	out := make([]float32, rows*W*C)
	whole, beside := integers(3, len(out), -126, 126), random(4, len(out), 0, 1)
	for i := range out {
		c, w := i%C, i/C%W
		most := math.Ldexp(1, (c+i/C/W)%9-4)
		v := float64(whole[i]) + 0.3*math.Tanh(float64(beside[i]))
		if w == (7*c)%W {
			v = 127
		}
		if c != 5 {
			out[i] = float32(most * v / 127)
		}
	}
	return gputest.Round(out, format(e))
}

func TestQuantise(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range quantised {
		eachKernel(t, "quantise", c.name, dev, func(t *testing.T, s *Set) {
			data := steps(c.H, c.W, c.C, s.Elem)
			xs, x := activation("x", s.Elem, 1, c.H, c.W, c.C, data)
			y := x.Quantised()
			words := int(y.FrameBytes() / 4)
			test := gputest.Case{
				Op:  "quantise",
				In:  []gputest.Array{xs},
				Out: gputest.Array{Label: "y", Format: gputest.Uint32, Len: words, Guard: words},
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					s.Quantise(b, t.Name(), Quantise{X: x.in(in[0]), Y: y.in(out), XT: 1, YT: 1})
				},
				Want: wordsOf(data, c.H, c.W, c.C),
			}
			test.Run(t, dev)
		})
	}
}

// wordsOf returns rows in 8 bits, word by word.
func wordsOf(data []float32, H, W, C int) []float64 {
	q, m := ref.Quantise(wide(data), H, W, C)
	pad := Pad4(C)
	var out []float64
	for row := range H {
		for c := range pad {
			var most float64
			if c < C {
				most = m[row*C+c]
			}
			out = append(out, float64(math.Float32bits(float32(most))))
		}
		for w := range W {
			for c := 0; c < pad; c += 4 {
				var word uint32
				for k := range 4 {
					if c+k < C {
						word |= uint32(uint8(q[(row*W+w)*C+c+k])) << (8 * k)
					}
				}
				out = append(out, float64(word))
			}
		}
	}
	return out
}

// Quantise and dequantise.
func TestDequantise(t *testing.T) {
	dev := gputest.Open(t)
	for _, c := range quantised {
		eachKernel(t, "dequantise", c.name, dev, func(t *testing.T, s *Set) {
			data := steps(c.H, c.W, c.C, s.Elem)
			q, m := ref.Quantise(wide(data), c.H, c.W, c.C)
			thereAndBack(t, dev, s, data, c.H, c.W, c.C, ref.Dequantise(q, m, c.H, c.W, c.C), bound(s.Elem, boundF32))
		})
	}
	// Whole numbers with a maximum of 127 stay as they are.
	eachKernel(t, "dequantise", "exact", dev, func(t *testing.T, s *Set) {
		data := integers(5, 7*33*6, -127, 127)
		for i := range 7 * 6 { // a row's first pixel
			data[i/6*33*6+i%6] = 127
		}
		thereAndBack(t, dev, s, data, 7, 33, 6, wide(data), 0)
	})
}

// thereAndBack quantises x in bands of four rows, dequantises it, and compares the
// numbers.
func thereAndBack(t *testing.T, dev *gpu.Device, s *Set, data []float32, H, W, C int, want []float64, bound float64) {
	t.Helper()
	xs, x := activation("x", s.Elem, 1, H, W, C, data)
	ys, y := activation("y", s.Elem, 1, H, W, C, nil)
	packed := x.Quantised()
	band := max(4, H/4)
	test := gputest.Case{
		Op:      "dequantise",
		In:      []gputest.Array{xs},
		Out:     ys,
		Scratch: []int64{packed.Bytes()},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			for y0 := 0; y0 < H; y0 += band {
				n := min(band, H-y0)
				from, kept, to := x.in(in[0]), packed.in(scratch[0]), y.in(out)
				some := Quantise{X: from.Part(y0, n), Y: kept.Part(y0, n), XT: 1, YT: 2}
				s.Quantise(b, t.Name(), some)
				some.X = to.Part(y0, n)
				s.Dequantise(b, t.Name(), some)
			}
		},
		Want:  padded(want, C),
		Bound: bound,
	}
	test.Run(t, dev)
}

// A tensor that isn't quantised, or that belongs to another, is a bug.
func TestQuantiseOfOthers(t *testing.T) {
	s := plain(t, F32)
	x := Tensor{Buffer: &gpu.Buffer{Size: 1 << 10}, T: 1, H: 2, W: 3, C: 4}
	y := x.Quantised()
	y.H = 3
	require.PanicsWithValue(t, "wgsl: layer: 2x3x4 as 3x7x4 in i8, expected four pixels more in i8", func() { s.Quantise(&gpu.Batch{}, "layer", Quantise{X: x, Y: y}) })
	require.Panics(t, func() { s.Dequantise(&gpu.Batch{}, "layer", Quantise{X: x, Y: x}) })
}

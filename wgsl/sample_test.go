package wgsl

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/wgsl/ref"
)

func TestSample(t *testing.T) {
	dev := gputest.Open(t)
	cases := []struct {
		name       string
		T, H, W, Z int
		logvar     float64 // added to the log-variances
		mean       float64 // deviation of the means
	}{
		{"drawn", 3, 7, 9, 16, -3, 1},
		{"drawn_48", 1, 3, 5, 48, 0, 1},
		{"logvar_starts_at_1", 1, 3, 3, 1, 0, 1},
		{"logvar_starts_at_2", 1, 5, 3, 2, 0, 1},
		{"logvar_starts_at_3", 2, 3, 7, 3, 0, 1},
		{"logvar_in_the_second_vector", 1, 3, 3, 6, 0, 1},
		{"logvar_below_the_clamp", 1, 3, 3, 4, -100, 0},
		{"logvar_above_the_clamp", 1, 3, 3, 4, 100, 1},
	}
	for _, c := range cases {
		eachKernel(t, "sample", c.name, dev, func(t *testing.T, s *Set) {
			n := c.T * c.H * c.W
			data := random(1, n*2*c.Z, 0, 1)
			for i := range data {
				if i%(2*c.Z) < c.Z {
					data[i] *= float32(c.mean)
				} else {
					data[i] += float32(c.logvar)
				}
			}
			data = gputest.Round(data, format(s.Elem))
			normals := make([]float32, n*c.Z)
			Noise(normals, 7, 0)
			want := ref.Sample(wide(data), wide(normals), n, c.Z)
			ms, moments := activation("moments", s.Elem, c.T, c.H, c.W, 2*c.Z, data)
			ns, noise := activation("noise", F32, c.T, c.H, c.W, c.Z, normals)
			zs, z := activation("z", F32, c.T, c.H, c.W, c.Z, nil)
			test := gputest.Case{
				Op:  "sample",
				In:  []gputest.Array{ms, ns},
				Out: zs,
				Record: func(b *gpu.Batch, in, _ []*gpu.Buffer, out *gpu.Buffer) {
					s.Sample(b, t.Name(), Sample{Moments: moments.in(in[0]), Noise: noise.in(in[1]), Z: z.in(out), T: 1, N: c.T})
				},
				Want:  padded(want, c.Z),
				Bound: boundF32, // z is always f32
			}
			test.Run(t, dev)
		})
	}
}

// Known answers of Philox4x32-10, from the authors' Random123 1.14, kat_vectors.
func TestPhilox(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		counter, want [4]uint32
		key           [2]uint32
	}{
		{[4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, [2]uint32{}},
		{[4]uint32{ones, ones, ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}, [2]uint32{ones, ones}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}, [2]uint32{0xa4093822, 0x299f31d0}},
	} {
		assert.Equal(t, c.want, philox(c.counter, c.key), "philox(%x, %x)", c.counter, c.key)
	}
}

// The quantile against the distribution, math.Erfc; its relative error grows with x^2.
// The logarithm against math.Log, which may differ in the last place.
func TestNormalQuantile(t *testing.T) {
	for _, p := range []float64{0x1p-53, 1e-12, 1e-9, 1e-5, 0.01, 0.07, 0.0749999, 0.0750001, 0.1, 0.3, 0.4999, 0.5} {
		x := normalQuantile(p)
		assert.InDelta(t, p, math.Erfc(-x/math.Sqrt2)/2, p*5e-16*(2+x*x), "the distribution at normalQuantile(%g) = %.17g", p, x)
	}
	for _, p := range []float64{0x1p-50, 0x1p-20, 0.0625, 0.125, 0.375} { // 1-p is exact
		assert.Equal(t, normalQuantile(p), -normalQuantile(1-p), "normalQuantile of %g and its complement", p)
	}
	for x := 1e-18; x < 1e18; x *= 1.37 {
		want := math.Log(x)
		assert.InDelta(t, want, logarithm(x), 4e-16*max(1, math.Abs(want)), "logarithm(%g)", x)
	}
}

// Noise is equal in pieces, differs by seed, and has the moments of N(0,1).
func TestNoise(t *testing.T) {
	const n = 200000
	whole, part, other := make([]float32, n), make([]float32, 100), make([]float32, n)
	Noise(whole, 1, 0)
	Noise(part, 1, 777)
	Noise(other, 2, 0)
	require.Equal(t, whole[777:][:len(part)], part, "a piece from sample 777 on")
	var sum, square, fourth, cross float64
	for i, v := range whole {
		x := float64(v)
		sum, square, fourth, cross = sum+x, square+x*x, fourth+x*x*x*x, cross+x*float64(other[i])
	}
	// Bounds of 5 standard errors: 1, sqrt 2, sqrt 96 and 1, over sqrt n.
	unit := 5 / math.Sqrt(n)
	for _, m := range []struct {
		name             string
		got, want, limit float64
	}{
		{"mean", sum / n, 0, unit},
		{"variance", square / n, 1, unit * math.Sqrt2},
		{"fourth moment", fourth / n, 3, unit * math.Sqrt(96)},
		{"correlation of two seeds", cross / n, 0, unit},
	} {
		assert.InDelta(t, m.want, m.got, m.limit, m.name)
	}
	// Bits from a Philox4x32-10 in 10 lines of Python and its statistics module:
	// struct.pack("<f", NormalDist().inv_cdf(u)). They must never change.
	for i, want := range []uint32{0x3f9d2c14, 0x3ee4106a, 0xbf2ec4c0, 0x3f32dd39} {
		assert.Equal(t, want, math.Float32bits(whole[i]), "bits of sample %d", i)
	}
}

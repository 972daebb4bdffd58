package wgsl

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Packing only moves numbers: each is at the place of the layout's formula, and the
// rest is zero.
func TestPack(t *testing.T) {
	for _, c := range []struct {
		in, out int
		rows    bool
		s       Shape
	}{
		{4, 8, false, Shape{O: 10, I: 6, KT: 3, KS: 3}},
		{4, 8, false, Shape{O: 8, I: 4, KT: 1, KS: 1}},
		{4, 8, false, Shape{O: 3, I: 17, KT: 3, KS: 1}},
		{8, 8, false, Shape{O: 20, I: 12, KT: 2, KS: 3}},
		{16, 4, false, Shape{O: 7, I: 33, KT: 1, KS: 3}},
		{4, 8, true, Shape{O: 10, I: 6, KT: 3, KS: 3}},
		{16, 4, true, Shape{O: 7, I: 33, KT: 2, KS: 1}},
	} {
		t.Run(fmt.Sprintf("%dx%d/%v/%+v", c.in, c.out, c.rows, c.s), func(t *testing.T) {
			s := c.s
			src := make([]uint16, s.O*s.I*s.KT*s.KS*s.KS)
			for i := range src {
				src[i] = uint16(i + 1)
			}
			p := &Packing{in: c.in, out: c.out, rows: c.rows}
			blocks := (s.I + c.in - 1) / c.in
			want := make([]uint16, (s.O+c.out-1)/c.out*c.out*s.KT*s.KS*blocks*s.KS*c.in)
			for i, v := range src {
				x, y, k := i%s.KS, i/s.KS%s.KS, i/s.KS/s.KS%s.KT
				in, o := i/(s.KT*s.KS*s.KS)%s.I, i/(s.KT*s.KS*s.KS*s.I)
				at := (((o/c.out*s.KT+k)*s.KS+y)*blocks+in/c.in)*s.KS + x
				if c.rows {
					at = (((o/c.out*s.KT+k)*blocks+in/c.in)*s.KS+y)*s.KS + x
				}
				if c.rows {
					want[(at*c.out+o%c.out)*c.in+in%c.in] = v
				} else {
					want[(at*c.in+in%c.in)*c.out+o%c.out] = v
				}
			}
			dst := make([]uint16, p.Size(s))
			Pack(p, dst, src, s, nil)
			require.Equal(t, want, dst)
			require.Equal(t, p.Size(s), p.tap(s.I, s.KS)*s.KT*((s.O+c.out-1)/c.out), "a tap has another size")
		})
	}
}

// Rows may come in any order, and some may be missing.
func TestPackOrder(t *testing.T) {
	s := Shape{O: 8, I: 4, KT: 1, KS: 1}
	src, dst := make([]float32, 2*4), make([]float32, blocks4x8.Size(s))
	for i := range src {
		src[i] = float32(i + 1)
	}
	Pack(blocks4x8, dst, src, s, func(o int) int { return []int{1, -1, 0, -1, -1, -1, -1, 1}[o] })
	require.Equal(t, []float32{
		5, 0, 1, 0, 0, 0, 0, 5,
		6, 0, 2, 0, 0, 0, 0, 6,
		7, 0, 3, 0, 0, 0, 0, 7,
		8, 0, 4, 0, 0, 0, 0, 8,
	}, dst)
}

func BenchmarkPack(b *testing.B) {
	for _, s := range []Shape{{O: 512, I: 512, KT: 3, KS: 3}, {O: 2048, I: 1024, KT: 1, KS: 1}} {
		src, dst := make([]uint16, s.O*s.I*s.KT*s.KS*s.KS), make([]uint16, blocks4x8.Size(s))
		b.Run(fmt.Sprintf("%dx%dx%d", s.O, s.I, s.KT*s.KS*s.KS), func(b *testing.B) {
			for b.Loop() {
				Pack(blocks4x8, dst, src, s, nil)
			}
			b.ReportMetric(float64(len(src))*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
		})
	}
}

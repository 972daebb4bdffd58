package tiling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// naive is the reference's tiled loop in float64, over both axes at once and without
// optimisation. read returns the model's output for a tile: values at coordinates of the
// result.
type naive struct {
	decode         bool
	h, w           int // decode: in cells; encode: in pixels
	th, tw, oh, ow int // pixels
	acc, count     []float64
	tiles          [][4]int // y0, y1, x0, x1 in cells
	outW           int
}

func (n *naive) run(value func(tile, y, x int) float64) {
	const s = 8
	lth, ltw := max(1, n.th/s), max(1, n.tw/s)
	loh, low := max(0, min(n.oh/s, lth-1)), max(0, min(n.ow/s, ltw-1))
	sh, sw := max(1, lth-loh), max(1, ltw-low)
	var nh, nw, unit int
	var exit bool
	if n.decode {
		nh, nw, unit = n.h, n.w, s
		exit = n.h <= lth && n.w <= ltw
	} else {
		nh, nw, unit = (n.h+s-1)/s, (n.w+s-1)/s, 1
		exit = n.h <= n.th && n.w <= n.tw
	}
	n.outW = nw * unit
	n.acc, n.count = make([]float64, nh*unit*n.outW), make([]float64, nh*unit*n.outW)
	if exit {
		n.tiles = [][4]int{{0, nh, 0, nw}}
		for i := range n.acc {
			n.acc[i], n.count[i] = value(0, i/n.outW, i%n.outW), 1
		}
		return
	}
	curve := func(m int) []float64 {
		r := make([]float64, m)
		for i := range r {
			if m > 1 {
				r[i] = 0.5 - 0.5*math.Cos(math.Pi*float64(i)/float64(m-1))
			}
		}
		return r
	}
	vector := func(y0, y1, end, lo, o int) []float64 {
		e, m := y1-y0, lo
		if n.decode {
			e, m = 8*(y1-y0), o
		}
		v := max(0, min(m, e-1))
		w := make([]float64, e)
		for i := range w {
			w[i] = 1
		}
		if y0 > 0 {
			copy(w[:v], curve(m)[:v])
		}
		if y1 < end {
			for i, r := range curve(m)[:v] {
				w[e-v+i] = 1 - r
			}
		}
		return w
	}
	for y0 := 0; y0 < nh; y0 += sh {
		y1 := min(y0+lth, nh)
		for x0 := 0; x0 < nw; x0 += sw {
			x1 := min(x0+ltw, nw)
			if (y0 > 0 && y1-y0 <= loh) || (x0 > 0 && x1-x0 <= low) {
				continue
			}
			wy, wx := vector(y0, y1, nh, loh, n.oh), vector(x0, x1, nw, low, n.ow)
			for i, a := range wy {
				for j, b := range wx {
					y, x := y0*unit+i, x0*unit+j
					n.acc[y*n.outW+x] += a * b * value(len(n.tiles), y, x)
					n.count[y*n.outW+x] += a * b
				}
			}
			n.tiles = append(n.tiles, [4]int{y0, y1, x0, x1})
		}
	}
}

// blend runs a plan as the engine does, in float32.
func blend(p Plan, value func(tile, y, x int) float64) []float32 {
	acc, count := make([]float32, p.Out.H*p.Out.W), p.Count()
	for k, t := range p.Tiles {
		for i, wy := range t.WY {
			for j, wx := range t.WX {
				y, x := t.Out.Y0+i, t.Out.X0+j
				acc[y*p.Out.W+x] += float32(wy*wx) * float32(value(k, y, x))
			}
		}
	}
	for i := range acc {
		acc[i] /= max(count[i], MinCount)
	}
	return acc
}

// value differs between tiles, so that a blend with a wrong weight shows.
func value(tile, y, x int) float64 {
	return math.Sin(float64(tile)*1.7+float64(y)*0.31) + math.Cos(float64(x)*0.23-float64(tile))
}

// compare compares a plan with the naive loop. It returns false if planning refuses; then
// the naive loop must leave black samples.
func compare(t *testing.T, decode bool, h, w int, o Options) bool {
	t.Helper()
	at := fmt.Sprintf("decode=%v %dx%d tile %v overlap %v", decode, h, w, o.Tile, o.Overlap)
	n := naive{decode: decode, h: h, w: w, th: o.Tile.H, tw: o.Tile.W, oh: o.Overlap.H, ow: o.Overlap.W}
	n.run(value)
	p, err := plan(decode, h, w, o)
	if err != nil {
		require.ErrorIs(t, err, ErrOverlap, at)
		require.LessOrEqual(t, slices.Min(n.count), 1.1*MinCount, "%s: refused (%v), but it leaves no black", at, err)
		return false
	}
	var cells [][4]int
	for _, tile := range p.Tiles {
		cells = append(cells, [4]int{tile.Cells.Y0, tile.Cells.Y1, tile.Cells.X0, tile.Cells.X1})
	}
	require.Equal(t, n.tiles, cells, "%s: cells of the tiles", at)
	require.Equal(t, n.outW, p.Out.W, at)
	require.Equal(t, len(n.count), p.Out.H*p.Out.W, at)
	count, result := p.Count(), blend(p, value)
	for i := range result {
		// Float32 sums: with many tiles over a pixel, rounding grows with their sum.
		if count[i] <= MinCount || math.Abs(float64(count[i])-n.count[i]) > 1e-6*max(10, n.count[i]) {
			require.FailNow(t, "count", "%s: count[%d] = %g, want %g", at, i, count[i], n.count[i])
		}
		want := n.acc[i] / max(n.count[i], 1e-6)
		// Near-empty counts divide float32's rounding by a small number.
		if math.Abs(float64(result[i])-want) > 1e-5/min(1, n.count[i]) {
			require.FailNow(t, "result", "%s: result[%d] = %g, want %g (count %g)", at, i, result[i], want, n.count[i])
		}
	}
	checkRects(t, at, decode, p)
	return true
}

// finalRows returns how many rows of the result, from the top, are final after tile i,
// according to Final.
func finalRows(p Plan, i int) int {
	final := p.Tiles[i].Final
	if (i+1)%p.Cols == 0 {
		return final.Y1
	}
	return final.Y0
}

// shapes returns the distinct sizes of tiles, in cells, in order of appearance.
func shapes(p Plan) []Size {
	var list []Size
	for _, tile := range p.Tiles {
		if s := tile.Cells.Size(); !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

func plan(decode bool, h, w int, o Options) (Plan, error) {
	if decode {
		return Decode(h, w, o)
	}
	return Encode(h, w, o)
}

// checkRects checks that inputs and outputs belong to the cells, and that final parts
// cover the result once, each within its tile and unchanged by later tiles.
func checkRects(t *testing.T, at string, decode bool, p Plan) {
	t.Helper()
	finalAt := make([]int, p.Out.H*p.Out.W)
	lastTouch := make([]int, p.Out.H*p.Out.W)
	each := func(r Rect, f func(i int)) {
		for y := r.Y0; y < r.Y1; y++ {
			for x := r.X0; x < r.X1; x++ {
				f(y*p.Out.W + x)
			}
		}
	}
	for k, tile := range p.Tiles {
		in, out := tile.Cells, tile.Cells.scaled(8)
		if !decode {
			in, out = out, in
		}
		require.Equal(t, in, tile.In, "%s: tile %d: input of cells %v", at, k, tile.Cells)
		require.Equal(t, out, tile.Out, "%s: tile %d: output of cells %v", at, k, tile.Cells)
		require.Equal(t, Size{len(tile.WY), len(tile.WX)}, tile.Out.Size(), "%s: tile %d: weights", at, k)
		each(tile.Out, func(i int) { lastTouch[i] = k + 1 })
		again := 0
		each(tile.Final, func(i int) {
			if finalAt[i] != 0 {
				again++
			}
			finalAt[i] = k + 1
		})
		require.Zero(t, again, "%s: tile %d: samples that are final twice", at, k)
	}
	require.True(t, slices.Equal(finalAt, lastTouch), "%s: a part is called final before or after its last tile", at)
	for k := range p.Tiles {
		rows := 0
		for rows < p.Out.H && slices.Max(lastTouch[rows*p.Out.W:][:p.Out.W]) <= k+1 {
			rows++
		}
		require.Equal(t, rows, finalRows(p, k), "%s: rows final after tile %d", at, k)
	}
}

func TestAgainstNaive(t *testing.T) {
	cases := []struct {
		decode bool
		h, w   int
		o      Options
		why    string
	}{
		{true, 5, 6, Options{Tile: Size{24, 24}, Overlap: Size{8, 8}}, "golden tiled decode"},
		{false, 40, 56, Options{Tile: Size{24, 32}, Overlap: Size{8, 16}}, "golden tiled encode"},
		{true, 6, 9, Options{Tile: Size{32, 32}, Overlap: Size{16, 16}}, "golden, full size"},
		{true, 6, 9, Options{Tile: Size{48, 72}, Overlap: Size{16, 16}}, "exactly one tile"},
		{true, 7, 9, Options{Tile: Size{48, 72}, Overlap: Size{16, 16}}, "one row over: a thin border tile or a skip"},
		{true, 8, 9, Options{Tile: Size{48, 72}, Overlap: Size{16, 16}}, "two rows over"},
		{true, 20, 20, Options{Tile: Size{100, 60}, Overlap: Size{9, 20}}, "no multiples of 8"},
		{true, 12, 12, Options{Tile: Size{32, 32}, Overlap: Size{24, 24}}, "overlap over half"},
		{false, 96, 96, Options{Tile: Size{32, 32}, Overlap: Size{24, 24}}, "overlap over half"},
		{true, 10, 10, Options{Tile: Size{32, 32}, Overlap: Size{}}, "no overlap"},
		{false, 80, 80, Options{Tile: Size{32, 32}, Overlap: Size{}}, "no overlap"},
		{true, 135, 240, Options{Tile: Square(512), Overlap: Square(64)}, "1080p, default"},
		{false, 1080, 1920, Options{Tile: Square(512), Overlap: Square(64)}, "1080p, default"},
		{true, 1, 1, Options{Tile: Square(8), Overlap: Size{}}, "smallest"},
	}
	for _, c := range cases {
		require.True(t, compare(t, c.decode, c.h, c.w, c.o), "%s: refused", c.why)
	}
}

func TestAgainstNaiveRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 3000 {
		side := func() int {
			if random.IntN(2) == 0 {
				return 8 * (1 + random.IntN(8))
			}
			return 8 + random.IntN(60)
		}
		o := Options{Tile: Size{side(), side()}}
		overlap := func(tile int) int {
			if o := random.IntN(tile); o >= 8 {
				return o
			}
			return 0
		}
		o.Overlap = Size{overlap(o.Tile.H), overlap(o.Tile.W)}
		h, w := 1+random.IntN(16), 1+random.IntN(16)
		if compare(t, true, h, w, o) {
			accepted++
		}
		if compare(t, false, 8*h, 8*w, o) {
			accepted++
		}
	}
	require.GreaterOrEqual(t, accepted, 4000, "accepted of 6000 plans")
}

// With overlaps of whole cells up to half a tile, the fades of neighbours sum to 1, so
// the count is 1 everywhere except at thin border tiles.
func TestNeighboursAddToOne(t *testing.T) {
	for _, tile := range []int{16, 32, 64, 512} {
		for overlap := 8; overlap <= tile/2; overlap += 8 {
			for _, decode := range []bool{true, false} {
				side := 3*(tile-overlap) + overlap // three full tiles
				if decode {
					side /= 8
				}
				p, err := plan(decode, side, side, Options{Tile: Square(tile), Overlap: Square(overlap)})
				require.NoError(t, err)
				at := fmt.Sprintf("decode=%v tile %d overlap %d", decode, tile, overlap)
				require.Equal(t, [2]int{3, 3}, [2]int{p.Rows, p.Cols}, "%s: tiles", at)
				count := p.Count()
				require.InDelta(t, 1, slices.Min(count), 1e-6, "%s: least count", at)
				require.InDelta(t, 1, slices.Max(count), 1e-6, "%s: largest count", at)
			}
		}
	}
}

func TestRampEnds(t *testing.T) {
	for _, m := range []int{2, 3, 8, 9, 64, 127, 1024} {
		require.Zero(t, ramp(0, m), "first of a ramp of %d", m)
		require.Equal(t, 1.0, ramp(m-1, m), "last of a ramp of %d", m)
	}
	require.Zero(t, ramp(0, 1), "ramp of 1")
	require.InDelta(t, 0.5, ramp(4, 9), 1e-15, "middle of a ramp")
	// Decode counts the fade in pixels, encode in cells.
	d, _ := Decode(10, 10, Options{Tile: Square(48), Overlap: Square(16)})
	e, _ := Encode(80, 80, Options{Tile: Square(48), Overlap: Square(16)})
	wx := d.Tiles[1].WX
	require.Equal(t, []float32{0, 1}, []float32{wx[0], wx[15]}, "decode fades over 16 pixels: %v", wx[:17])
	require.NotEqual(t, float32(1), wx[14], "decode fades over 16 pixels: %v", wx[:17])
	require.Equal(t, []float32{0, 1, 1}, e.Tiles[1].WX[:3], "encode fades over 2 cells")
}

func TestSkips(t *testing.T) {
	// Tiles of 4 cells that overlap by 2 start at 0, 2, 4; the last would contain only
	// cells 4 and 5, which are both in the overlap.
	p, err := Decode(6, 4, Options{Tile: Square(32), Overlap: Square(16)})
	require.NoError(t, err)
	require.Equal(t, [2]int{2, 1}, [2]int{p.Rows, p.Cols}, "rows and columns")
	require.Equal(t, Rect{2, 6, 0, 4}, p.Tiles[1].Cells)
	// With one more cell it is needed, with 3 cells.
	p, err = Decode(7, 4, Options{Tile: Square(32), Overlap: Square(16)})
	require.NoError(t, err)
	require.Equal(t, 3, p.Rows)
	require.Equal(t, Rect{4, 7, 0, 4}, p.Tiles[2].Cells)
	require.Equal(t, []Size{{4, 4}, {3, 4}}, shapes(p))
}

func TestWhole(t *testing.T) {
	for _, o := range []Options{{}, {Overlap: Square(64)}, {Tile: Square(512), Overlap: Square(64)}, {Tile: Square(48), Overlap: Square(8)}} {
		for _, decode := range []bool{true, false} {
			h, w, out := 6, 4, Size{48, 32}
			if !decode {
				h, w, out = 48, 32, Size{6, 4}
			}
			p, err := plan(decode, h, w, o)
			require.NoError(t, err)
			require.True(t, p.Whole(), "%+v", o)
			require.Equal(t, out, p.Out, "%+v", o)
			require.Equal(t, Rect{0, out.H, 0, out.W}, p.Tiles[0].Final, "%+v", o)
			count := p.Count()
			require.Equal(t, [2]float32{1, 1}, [2]float32{slices.Min(count), slices.Max(count)}, "%+v: counts in a frame of one tile", o)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		is   error
		want string
	}{
		{Options{Tile: Square(512), Overlap: Square(1)}, ErrOverlap, "overlap 1x1: unusable overlap: 1 to 7 pixels"},
		{Options{Tile: Square(512), Overlap: Size{64, 7}}, ErrOverlap, "overlap 64x7: unusable overlap: 1 to 7 pixels"},
		{Options{Overlap: Square(4)}, ErrOverlap, "leave a black line at seams; use 0 or at least 8"},
		{Options{Tile: Square(512), Overlap: Square(-8)}, ErrOverlap, "must be from 0"},
		{Options{Tile: Square(64), Overlap: Square(64)}, ErrOverlap, "overlap 64x64 with tile 64x64: unusable overlap: must be smaller than the tile"},
		{Options{Tile: Size{64, 32}, Overlap: Size{0, 40}}, ErrOverlap, "must be smaller than the tile"},
		{Options{Tile: Square(7), Overlap: Size{}}, ErrTile, "tile 7x7: unusable tile: must be at least 8 pixels"},
		{Options{Tile: Size{512, 0}, Overlap: Size{}}, ErrTile, "tile 512x0"},
		{Options{Tile: Square(-1), Overlap: Size{}}, ErrTile, "at least 8"},
		{Options{Tile: Square(1 << 25), Overlap: Size{}}, ErrTile, "at most 16777216"},
		{Options{Tile: Square(15), Overlap: Square(8)}, ErrOverlap, "fades leave black"},
	} {
		for _, decode := range []bool{true, false} {
			h, w := 64, 64
			_, err := plan(decode, h, w, c.o)
			if c.want == "fades leave black" && !decode {
				continue // encode fades by whole cells, and there are none
			}
			assert.ErrorIs(t, err, c.is, "%+v", c.o)
			assert.ErrorContains(t, err, c.want, "%+v", c.o)
		}
	}
	for _, s := range []Size{{0, 8}, {8, 0}, {-8, 8}, {1 << 25, 8}} {
		_, err := Decode(s.H, s.W, Options{})
		assert.Error(t, err, "decode of %v", s)
		_, err = Encode(s.H, s.W, Options{})
		assert.Error(t, err, "encode of %v", s)
	}
	_, err := Encode(20, 24, Options{})
	require.ErrorContains(t, err, "24x20 pixels, expected multiples of 8")
	_, err = Decode(1<<20, 1<<20, Options{Tile: Square(8), Overlap: Size{}})
	require.ErrorIs(t, err, ErrTile, "too many tiles")
}

// FuzzPlan compares every accepted plan with the naive loop.
func FuzzPlan(f *testing.F) {
	f.Add(true, uint8(5), uint8(6), uint8(24), uint8(24), uint8(8), uint8(8))
	f.Add(false, uint8(5), uint8(7), uint8(24), uint8(32), uint8(8), uint8(16))
	f.Add(true, uint8(30), uint8(3), uint8(15), uint8(9), uint8(8), uint8(0))
	f.Add(true, uint8(1), uint8(1), uint8(0), uint8(8), uint8(7), uint8(200))
	f.Add(false, uint8(35), uint8(35), uint8(232), uint8(202), uint8(224), uint8(192)) // 46 tiles over a pixel
	f.Fuzz(func(t *testing.T, decode bool, h, w, th, tw, oh, ow uint8) {
		o := Options{Tile: Size{int(th), int(tw)}, Overlap: Size{int(oh), int(ow)}}
		height, width := int(h%40), int(w%40)
		if !decode {
			height, width = 8*height, 8*width
		}
		if height == 0 || width == 0 || o.check() != nil || o.Tile == (Size{}) {
			_, err := plan(decode, height, width, o)
			require.True(t, err != nil || o.Tile == (Size{}), "accepted %dx%d %+v", height, width, o)
			return
		}
		compare(t, decode, height, width, o)
	})
}

// A frame too long for any plan is distinguished from wrong options.
func TestFrameBeyondTiles(t *testing.T) {
	_, decode := Decode(1, maxSide/Factor+1, Options{})
	_, encode := Encode(8, 1<<27, Options{})
	_, linear := LinearDecode(0, 1, 8, Options{})
	_, fit := Fit(Size{1 << 27, 8}, 8, 1, func(Size) (int64, error) { return 0, nil })
	for _, err := range []error{decode, encode, linear, fit} {
		require.ErrorIs(t, err, ErrFrame)
		require.ErrorContains(t, err, "per axis")
	}
}

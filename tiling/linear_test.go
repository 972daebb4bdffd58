package tiling

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var diffusers = Options{Tile: Square(DiffusersTile), Overlap: Square(DiffusersOverlap)}

// The table of diffusers' defaults, for both Wans.
func TestLinearDefaults(t *testing.T) {
	wan22 := diffusers
	wan22.Factor = 16
	for _, c := range []struct {
		name          string
		plan          func() (Linear, error)
		rows, cols    int
		in, out, keep Rect // of the first tile
		extent, unit  int
	}{
		{"2.1 decode", func() (Linear, error) { return LinearDecode(60, 104, 1, diffusers) }, 3, 5,
			Rect{0, 32, 0, 32}, Rect{0, 256, 0, 256}, Rect{0, 192, 0, 192}, 64, 1},
		{"2.1 encode", func() (Linear, error) { return LinearEncode(480, 832, 1, diffusers) }, 3, 5,
			Rect{0, 256, 0, 256}, Rect{0, 32, 0, 32}, Rect{0, 24, 0, 24}, 8, 1},
		{"2.2 decode", func() (Linear, error) { return LinearDecode(44, 80, 2, wan22) }, 4, 7,
			Rect{0, 16, 0, 16}, Rect{0, 256, 0, 256}, Rect{0, 192, 0, 192}, 64, 2},
		{"2.2 encode", func() (Linear, error) { return LinearEncode(704, 1280, 2, wan22) }, 2, 4,
			Rect{0, 512, 0, 512}, Rect{0, 32, 0, 32}, Rect{0, 24, 0, 24}, 8, 1},
		// Frames over 256 pixels are cut, although a tile holds 512: a second one begins
		// at 384.
		{"2.2 encode, below a tile", func() (Linear, error) { return LinearEncode(400, 256, 2, wan22) }, 2, 1,
			Rect{0, 400, 0, 256}, Rect{0, 25, 0, 16}, Rect{0, 24, 0, 16}, 8, 1},
		{"2.2 encode, small", func() (Linear, error) { return LinearEncode(256, 256, 2, wan22) }, 1, 1,
			Rect{0, 256, 0, 256}, Rect{0, 16, 0, 16}, Rect{0, 16, 0, 16}, 0, 1},
		{"2.1 decode, one axis", func() (Linear, error) { return LinearDecode(32, 33, 1, diffusers) }, 2, 2,
			Rect{0, 32, 0, 32}, Rect{0, 256, 0, 256}, Rect{0, 192, 0, 192}, 64, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := c.plan()
			require.NoError(t, err)
			require.Equal(t, [2]int{c.rows, c.cols}, [2]int{l.Rows, l.Cols}, "rows and columns")
			require.Len(t, l.Tiles, c.rows*c.cols)
			first := l.Tiles[0]
			require.Equal(t, c.in, first.In)
			require.Equal(t, c.out, first.Out)
			require.Equal(t, c.keep, first.Final)
			require.Equal(t, Square(c.extent), l.Extent)
			require.Equal(t, c.unit, l.Unit)
			seen := make([]int, l.Out.H*l.Out.W)
			for _, tile := range l.Tiles {
				for y := tile.Final.Y0; y < tile.Final.Y1; y++ {
					for x := tile.Final.X0; x < tile.Final.X1; x++ {
						seen[y*l.Out.W+x]++
					}
				}
			}
			require.Equal(t, [2]int{1, 1}, [2]int{slices.Min(seen), slices.Max(seen)}, "the parts kept cover the result once")
		})
	}
	_, err := LinearDecode(60, 60, 1, Options{Tile: Square(64), Overlap: Square(60)})
	require.ErrorIs(t, err, ErrOverlap, "no advance")
	_, err = LinearEncode(20, 16, 1, diffusers)
	require.ErrorContains(t, err, "16x20 pixels, expected multiples of 8")
}

// One band by hand: the weight of a tile starts at 0 and does not reach 1; the rows above
// come first, and their result fades at the left.
func TestLinearBlend(t *testing.T) {
	l := Linear{Extent: Square(4), Unit: 2}
	tile := make([]float32, 5*6)
	for i := range tile {
		tile[i] = 8
	}
	above := make([]float32, 7*6) // seven rows, the last four of which count
	for i := range above {
		above[i] = float32(i / 6)
	}
	before := make([]float32, 5*2)
	for i := range before {
		before[i] = 100
	}
	l.Blend(tile, Size{5, 6}, 1, above, 7, before, 2)
	want := func(y, x int) float64 {
		v := 8.0
		if y < 4 {
			w := float64(y/2) / 2
			v = float64(3+y)*(1-w) + v*w
		}
		if x < 2 { // one weight for both columns: 0
			v = 100
		}
		return v
	}
	for y := range 5 {
		for x := range 6 {
			assert.InDelta(t, want(y, x), tile[y*6+x], 1e-5, "row %d column %d", y, x)
		}
	}
}

// A latent cell of 16 pixels.
func TestFactor(t *testing.T) {
	p, err := Decode(6, 4, Options{Tile: Square(64), Overlap: Square(16), Factor: 16})
	require.NoError(t, err)
	require.Equal(t, Size{96, 64}, p.Out)
	require.Len(t, p.Tiles, 2)
	require.Equal(t, Rect{3, 6, 0, 4}, p.Tiles[1].In)
	require.Equal(t, Rect{48, 96, 0, 64}, p.Tiles[1].Out)
	_, err = Encode(24, 32, Options{Factor: 16})
	require.ErrorContains(t, err, "32x24 pixels, expected multiples of 16")
	_, err = Decode(6, 4, Options{Tile: Square(64), Overlap: Square(8), Factor: 16})
	require.ErrorIs(t, err, ErrOverlap, "an overlap below a cell")
}

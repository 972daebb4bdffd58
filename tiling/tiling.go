// Package tiling computes spatial tiles: how a frame is cut, the weights that blend the
// tiles, when a part of the result is final, and which tile fits a memory budget. It
// follows the tiled encode and decode of the reference exactly and knows no device, so
// that every build cuts and blends alike.
//
// Start at Decode and Encode, which make a Plan, or at LinearDecode and LinearEncode,
// whose plans are blended as in diffusers; ExampleDecode and ExampleEncode show them. Fit
// finds a tile for a memory budget.
//
// Package tiling does not cut time: each tile runs through the whole clip.
//
// Lengths are in pixels or in latent cells of Options.Factor pixels along a side. A
// sample is one element of the result: a pixel when decoding, a cell when encoding. Rows
// go down and come first.
//
// Errors that a user's choice can cause wrap ErrTile, ErrOverlap or ErrBudget; those
// about the size of a frame or latent wrap ErrFrame. Plans are plain values, and
// everything is safe for concurrent use.
package tiling

import (
	"errors"
	"fmt"
)

const (
	// Factor is the usual number of pixels per latent cell along each axis.
	Factor = 8
	// DefaultTile is the recommended side of a tile, in pixels. The zero Options do not
	// cut.
	DefaultTile = 512
	// DefaultOverlap is the overlap for DefaultTile, in pixels along each axis.
	DefaultOverlap = 64
	// MinCount is the floor of the normaliser: result = sum / max(count, MinCount).
	MinCount = 1e-6

	maxSide  = 1 << 24 // pixels
	maxTiles = 1 << 16
)

var (
	// ErrTile means that the tile is too small or too large, or so small that there would
	// be more than 2^16 of them. Decode, Encode, LinearDecode, LinearEncode and ParseTile
	// return it.
	ErrTile = errors.New("unusable tile")
	// ErrOverlap means that the overlap would leave gaps, or no room to advance. Decode,
	// Encode, LinearDecode, LinearEncode and ParseOverlap return it.
	ErrOverlap = errors.New("unusable overlap")
	// ErrFrame means that the frame or latent has a side that no plan can have. Decode,
	// Encode, LinearDecode, LinearEncode and Fit return it.
	ErrFrame = errors.New("unusable frame")
	// ErrBudget means that not even the smallest tile fits the memory budget. Fit returns
	// it.
	ErrBudget = errors.New("no tile fits the memory budget")
)

// Size is a height and a width, in pixels unless stated otherwise.
type Size struct{ H, W int }

// String returns "HxW", which ParseTile and ParseOverlap read.
func (s Size) String() string { return fmt.Sprintf("%dx%d", s.H, s.W) }

// Square returns a Size with equal sides.
func Square(side int) Size { return Size{side, side} }

// Rect is the half-open range of rows [Y0,Y1) and columns [X0,X1), in pixels or cells, as
// its field says.
type Rect struct{ Y0, Y1, X0, X1 int }

// Size returns the rectangle's height and width.
func (r Rect) Size() Size { return Size{r.Y1 - r.Y0, r.X1 - r.X0} }

// scaled multiplies every edge.
func (r Rect) scaled(by int) Rect { return Rect{r.Y0 * by, r.Y1 * by, r.X0 * by, r.X1 * by} }

// Options choose the tiles.
type Options struct {
	// Tile is in pixels, from Factor to 2^24 along a side; zero: the whole frame is one
	// tile. It is rounded down to a multiple of Factor.
	Tile Size
	// Overlap of neighbours, in pixels, separately along each axis: zero, so that tiles
	// meet without blending, or from Factor to less than Tile.
	Overlap Size
	// Factor is the number of pixels per latent cell along each axis; zero
	// means the constant Factor, 8.
	Factor int
}

// factor returns o.Factor or its default.
func (o Options) factor() int {
	if o.Factor == 0 {
		return Factor
	}
	return o.Factor
}

// check refuses options with which the reference would leave black lines or never
// advance.
func (o Options) check() error {
	if err := checkOverlap(o.Overlap, o.factor()); err != nil {
		return err
	}
	if o.Tile == (Size{}) {
		return nil
	}
	if err := checkTile(o.Tile, o.factor()); err != nil {
		return err
	}
	if o.Overlap.H >= o.Tile.H || o.Overlap.W >= o.Tile.W {
		return fmt.Errorf("tiling: overlap %v with tile %v: %w: must be smaller than the tile", o.Overlap, o.Tile, ErrOverlap)
	}
	return nil
}

func checkTile(t Size, factor int) error {
	if t.H < factor || t.W < factor {
		return fmt.Errorf("tiling: tile %v: %w: must be at least %d pixels", t, ErrTile, factor)
	}
	if t.H > maxSide || t.W > maxSide {
		return fmt.Errorf("tiling: tile %v: %w: must be at most %d pixels", t, ErrTile, maxSide)
	}
	return nil
}

func checkOverlap(o Size, factor int) error {
	for _, v := range []int{o.H, o.W} {
		if v < 0 || v > maxSide {
			return fmt.Errorf("tiling: overlap %v: %w: must be from 0 to %d pixels", o, ErrOverlap, maxSide)
		}
		if v > 0 && v < factor {
			return fmt.Errorf("tiling: overlap %v: %w: 1 to %d pixels are less than a latent cell "+
				"and leave a black line at seams; use 0 or at least %d",
				o, ErrOverlap, factor-1, factor)
		}
	}
	return nil
}

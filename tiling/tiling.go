// Package tiling is the arithmetic of spatial tiles: how a frame is cut, with
// what weights the pieces are blended, when a part of the result is final, and
// which tile fits a memory budget. It follows the tiled encode and decode of
// the reference to the letter and knows no device, so that every build of the
// program cuts and blends alike.
//
// Time is not cut here: each tile runs through the whole clip by itself.
//
// Start at Decode and Encode, which make a Plan.
package tiling

import (
	"errors"
	"fmt"
)

const (
	// Factor is the usual number of pixels per latent cell along each axis.
	Factor = 8
	// DefaultTile and DefaultOverlap are in pixels, per axis.
	DefaultTile    = 512
	DefaultOverlap = 64
	// MinCount is the floor of the normaliser: result = sum / max(count, MinCount).
	MinCount = 1e-6

	maxSide  = 1 << 24 // pixels
	maxTiles = 1 << 20
)

var (
	// ErrTile: the tile is too small or too large to be one.
	ErrTile = errors.New("unusable tile")
	// ErrOverlap: the overlap would leave gaps, or leaves no room to advance.
	ErrOverlap = errors.New("unusable overlap")
	// ErrBudget: not even the smallest tile fits the memory budget.
	ErrBudget = errors.New("no tile fits the memory budget")
)

// Size is a height and a width, in pixels unless said otherwise.
type Size struct{ H, W int }

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.H, s.W) }

// Square is a Size of equal sides.
func Square(side int) Size { return Size{side, side} }

// Rect is the half-open range of rows [Y0,Y1) and columns [X0,X1).
type Rect struct{ Y0, Y1, X0, X1 int }

// Size is the rectangle's height and width.
func (r Rect) Size() Size { return Size{r.Y1 - r.Y0, r.X1 - r.X0} }

// scaled multiplies every edge.
func (r Rect) scaled(by int) Rect { return Rect{r.Y0 * by, r.Y1 * by, r.X0 * by, r.X1 * by} }

// Options choose the tiles.
type Options struct {
	Tile    Size // pixels; zero: the whole frame is one tile
	Overlap Size // pixels; zero: tiles meet without blending
	Factor  int  // pixels per latent cell along each axis; 0 is Factor
}

// factor is o.Factor or its default.
func (o Options) factor() int {
	if o.Factor == 0 {
		return Factor
	}
	return o.Factor
}

// check refuses what the reference would turn into black lines or an endless
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
			return fmt.Errorf("tiling: overlap %v: %w: 1 to %d pixels are less than a latent cell, "+
				"so both sides of a seam fade out where nothing fades in and a black line is left; use 0 or at least %d",
				o, ErrOverlap, factor-1, factor)
		}
	}
	return nil
}

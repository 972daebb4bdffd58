package tiling

import (
	"fmt"
	"strconv"
	"strings"
)

// Choice is a user's choice of tiles. The zero value is one tile.
type Choice struct {
	Auto bool // the largest tile that fits the memory budget, see Fit
	Tile Size // in pixels; without Auto, zero is one tile
}

// String returns "off", "auto" or "HxW", which ParseTile reads.
func (c Choice) String() string {
	switch {
	case c.Auto:
		return "auto"
	case c.Tile == (Size{}):
		return "off"
	}
	return c.Tile.String()
}

// ParseTile reads off, auto, N or HxW in pixels, from Factor to 2^24. It returns
// ErrTile for anything else.
func ParseTile(s string) (Choice, error) {
	switch s {
	case "off":
		return Choice{}, nil
	case "auto":
		return Choice{Auto: true}, nil
	}
	size, ok := parseSize(s)
	if !ok {
		return Choice{}, fmt.Errorf("tiling: tile %q: %w: expected off, auto, N or HxW in pixels", s, ErrTile)
	}
	if err := checkTile(size, Factor); err != nil {
		return Choice{}, err
	}
	return Choice{Tile: size}, nil
}

// ParseOverlap reads N or HxW in pixels, each 0 or from Factor to 2^24. It
// returns ErrOverlap for anything else.
func ParseOverlap(s string) (Size, error) {
	size, ok := parseSize(s)
	if !ok {
		return Size{}, fmt.Errorf("tiling: overlap %q: %w: expected N or HxW in pixels", s, ErrOverlap)
	}
	if err := checkOverlap(size, Factor); err != nil {
		return Size{}, err
	}
	return size, nil
}

func parseSize(s string) (Size, bool) {
	height, width, two := strings.Cut(s, "x")
	h, err := strconv.ParseUint(height, 10, 31)
	if err != nil {
		return Size{}, false
	}
	if !two {
		return Square(int(h)), true
	}
	w, err := strconv.ParseUint(width, 10, 31)
	return Size{int(h), int(w)}, err == nil
}

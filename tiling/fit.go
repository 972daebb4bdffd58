package tiling

import "fmt"

// SmallestAuto is the least side, in pixels, that Fit should be given for a frame
// and an overlap: twice the overlap, so that fades of neighbours never meet,
// rounded up to a multiple of Factor, no less than 64, and so long that there
// are no more tiles than may be.
func SmallestAuto(frame, overlap Size) int {
	side := max(64, roundUp(2*max(overlap.H, overlap.W)))
	for ceil(frame.H, side-overlap.H)*ceil(frame.W, side-overlap.W) > maxTiles {
		side += Factor
	}
	return side
}

// Fit finds the largest square tile, in steps of Factor pixels from the side
// smallest on, whose peak memory is within budget bytes. A tile that holds the
// whole frame is the last step: then nothing is cut, and the tile may be larger
// than the frame. frame is in pixels, from 1 to 2^24 along each axis.
//
// peak tells how many bytes a tile needs, in pixels and clamped to the frame as
// the plan will clamp it; math.MaxInt64 for one that cannot run at all. It is
// taken to grow with the tile, but the tile returned is always one that peak has
// accepted. It is asked about a dozen times.
//
// Fit returns ErrBudget where not even the smallest tile fits, and wraps peak's
// own error.
func Fit(frame Size, smallest int, budget int64, peak func(tile Size) (int64, error)) (Size, error) {
	if frame.H < 1 || frame.W < 1 || frame.H > maxSide || frame.W > maxSide {
		return Size{}, fmt.Errorf("tiling: %w: frame of %v pixels, expected 1 to %d per axis", ErrFrame, frame, maxSide)
	}
	frame = Size{roundUp(frame.H), roundUp(frame.W)}
	smallest = roundUp(max(smallest, Factor))
	need := func(side int) (int64, error) {
		tile := Size{min(side, frame.H), min(side, frame.W)}
		bytes, err := peak(tile)
		if err != nil {
			return 0, fmt.Errorf("tiling: fit: tile %v: %w", tile, err)
		}
		return bytes, nil
	}
	whole := max(smallest, frame.H, frame.W)
	if bytes, err := need(whole); err != nil || bytes <= budget {
		return Square(whole), err
	}
	least, err := need(smallest)
	if err != nil {
		return Size{}, err
	}
	if least > budget {
		return Size{}, fmt.Errorf("tiling: %w: the smallest tile, %v, needs %.1f MiB of %.1f",
			ErrBudget, Square(smallest), mib(least), mib(budget))
	}
	fits, fails := smallest, whole // sides; the first fits, the second does not
	for fails-fits > Factor {
		middle := roundUp((fits + fails) / 2)
		if middle == fails {
			middle -= Factor
		}
		bytes, err := need(middle)
		if err != nil {
			return Size{}, err
		}
		if bytes <= budget {
			fits = middle
		} else {
			fails = middle
		}
	}
	return Square(fits), nil
}

// roundUp is the next multiple of Factor.
func roundUp(n int) int { return ceil(n, Factor) * Factor }

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

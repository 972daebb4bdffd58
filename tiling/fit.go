package tiling

import "fmt"

// SmallestAuto returns the smallest side, in pixels, to pass to Fit for a frame and an
// overlap: twice the overlap, so that fades of neighbours never meet, rounded up to a
// multiple of Factor, at least 64, and large enough that the number of tiles stays within
// its limit.
func SmallestAuto(frame, overlap Size) int {
	side := max(64, roundUp(2*max(overlap.H, overlap.W)))
	for ceil(frame.H, side-overlap.H)*ceil(frame.W, side-overlap.W) > maxTiles {
		side += Factor
	}
	return side
}

// Fit finds the largest square tile whose peak memory is within budget bytes, in steps of
// Factor pixels from the side smallest on. The last step is a tile that holds the whole
// frame: then nothing is cut, and the tile may be larger than the frame. frame is in
// pixels, from 1 to 2^24 along each axis.
//
// peak returns how many bytes a tile needs. The tile is in pixels and clamped to the
// frame as the plan will clamp it. peak returns math.MaxInt64 for a tile that cannot run.
// Fit assumes that memory grows with the tile, but only returns a tile that peak has
// accepted. It calls peak about a dozen times.
//
// Fit returns ErrBudget if not even the smallest tile fits, and wraps peak's errors.
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

// roundUp returns the next multiple of Factor.
func roundUp(n int) int { return ceil(n, Factor) * Factor }

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

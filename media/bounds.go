package media

import (
	"errors"
	"fmt"

	"tessera/latent"
)

// Limits on what a file may ask for by its shape alone: a sparse file of a terabyte takes
// no disk space.
const (
	// maxFrames limits the frames of floats or latents.
	maxFrames = 1 << 17
	// maxCells limits a latent's side, in cells: at least 131072 pixels.
	maxCells = 1 << 14
	// maxSent limits a latent in DecodeLatent, in bytes as float32.
	maxSent = 2 << 30
)

// errLong is the advice for what is too large for memory.
var errLong = errors.New("cut it into shorter ones")

// checkLatentShape refuses a latent whose sides no job could use; shape is the file's,
// for the error.
func checkLatentShape(shape, sides []int) error {
	long := 0
	for _, d := range sides {
		if d > maxFrames {
			return fmt.Errorf("latent has shape %v, expected at most %d along an axis", shape, maxFrames)
		}
		if d > maxCells {
			long++
		}
	}
	if long > 1 {
		return fmt.Errorf("latent has shape %v, expected at most %d frames of %dx%d cells", shape, maxFrames, maxCells, maxCells)
	}
	return nil
}

// checkLatentBytes refuses a latent before anything is allocated: one that does not fit
// in memory, with more values while its axes are reordered, or one of more than most
// bytes as float32.
func checkLatentBytes(shape []int, more, most int64) error {
	bytes := floatsBytes(shape)
	if bytes > most {
		return fmt.Errorf("latent of shape %v has %s, expected at most %s here: %w", shape, mebibytes(bytes), mebibytes(most), errLong)
	}
	return checkMemory(fmt.Sprintf("latent of shape %v", shape), bytes+4*more)
}

// floatsBytes returns the bytes of a shape as float32, at most 2^61.
func floatsBytes(shape []int) int64 {
	bytes := 4.0
	for _, n := range shape {
		bytes *= float64(n)
	}
	return int64(min(bytes, 1<<61))
}

// CheckLatentMemory refuses a latent that does not fit in memory, before it is made.
func CheckLatentMemory(l latent.Latent) error {
	return checkMemory(fmt.Sprintf("a latent of shape %v", l.Shape()), floatsBytes(l.Shape()))
}

// checkMemory refuses what does not fit in memory.
func checkMemory(what string, bytes int64) error {
	if free := freeMemory(); bytes > free {
		return fmt.Errorf("%s needs %s of memory, %s are free: %w", what, mebibytes(bytes), mebibytes(free), errLong)
	}
	return nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

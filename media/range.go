package media

import (
	"fmt"
	"math"
)

// Range is the smallest and the largest of some numbers that should be pixels.
type Range struct{ Min, Max float32 }

// pixelLimit limits pixels: -1 to 1, plus room for what a decoder makes beyond.
const pixelLimit = 4

// noRange is the range of no numbers.
var noRange = Range{float32(math.Inf(1)), float32(math.Inf(-1))}

// RangeOf returns the range of the finite values.
func RangeOf(values []float32) Range {
	r := noRange
	for _, v := range values {
		if v-v == 0 {
			r.Min, r.Max = min(r.Min, v), max(r.Max, v)
		}
	}
	return r
}

// SampleRange returns the range of n numbers; of many it samples a part, spread evenly.
// read fills dst with the numbers from start on.
func SampleRange(n int, read func(dst []float32, start int) error) (Range, error) {
	const part, parts = 4 << 10, 64
	all := noRange
	values := make([]float32, min(n, part))
	count := min((n+part-1)/part, parts)
	for i := range count {
		start := 0
		if i > 0 {
			start = (n - len(values)) / (count - 1) * i
		}
		if err := read(values, start); err != nil {
			return all, err
		}
		r := RangeOf(values)
		all = Range{min(all.Min, r.Min), max(all.Max, r.Max)}
	}
	return all, nil
}

// Check refuses numbers that cannot be pixels.
func (r Range) Check() error {
	if r.Min < -pixelLimit || r.Max > pixelLimit {
		return fmt.Errorf("numbers from %.6g to %.6g, expected pixels in [-1,1]; those of 0 to 255 are read as uint8", r.Min, r.Max)
	}
	return nil
}

// Doubt warns if numbers look like pixels in [0,1], or exceed [-1,1] further than
// decoders do; otherwise it returns "". Resizing may leave the range by a little. In
// [-1,1], a clip without negative numbers has no pixel darker than medium gray: a dark
// clip has only such pixels, and a white one has none near 0. Even dark clips in [0,1]
// have lights above a quarter.
func (r Range) Doubt() string {
	const decoded, little = 2, 0.05
	switch {
	case r.Min >= -little && r.Min <= r.Max/4 && r.Max >= 0.25 && r.Max <= 1+little:
		return fmt.Sprintf("numbers from %.3g to %.3g look like pixels in [0,1], but are read as ones in [-1,1], of which 0 is a medium gray", r.Min, r.Max)
	case (r.Min < -decoded || r.Max > decoded) && r.Min >= -pixelLimit && r.Max <= pixelLimit:
		return fmt.Sprintf("numbers from %.3g to %.3g are read as pixels in [-1,1]; convert them first if they are normalised by a mean and a standard deviation, such as ImageNet's", r.Min, r.Max)
	}
	return ""
}

package wgsl

import (
	"strconv"
	"strings"
)

// classOf names the dispatches for which one kernel is chosen, such as "conv3d
// 128→256": those of an operation whose weights have about that many input and output
// channels. The fastest kernel depends on the number of channel blocks, and hardly on a
// few more channels. Channel counts are therefore rounded up to a power of two from 16
// to 256; 256 includes all above.
func classOf(operation string, s Shape) string {
	if s.KS == 2 {
		s.O /= 4 // a ConvUpShape has four parities
	}
	about := [2]int{16, 16}
	for i, c := range [2]int{s.I, s.O} {
		for about[i] < c && about[i] < 256 {
			about[i] *= 2
		}
	}
	return operation + " " + strconv.Itoa(about[0]) + "→" + strconv.Itoa(about[1])
}

// parseClass returns the class with a name from classOf, and false for other names. It
// avoids fmt, whose scanner is large and not needed elsewhere in the page's engine.
func parseClass(name string) (c Class, ok bool) {
	operation, channels, _ := strings.Cut(name, " ")
	in, out, _ := strings.Cut(channels, "→")
	n, err := strconv.Atoi(in)
	m, err2 := strconv.Atoi(out)
	return Class{Operation: operation, In: n, Out: m}, err == nil && err2 == nil
}

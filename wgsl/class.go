package wgsl

import (
	"strconv"
	"strings"
)

// classOf names what one kernel is chosen for, "conv3d 128→256": dispatches of an
// operation whose weights have about as many channels, in and out. Which kernel is
// quickest depends on how many blocks of channels there are to share, and little
// on a few more of them: they are rounded up to a power of two from 16 to 256,
// which stands for all above.
func classOf(operation string, s Shape) string {
	if s.KS == 2 {
		s.O /= 4 // a ConvUpShape's parities
	}
	about := [2]int{16, 16}
	for i, c := range [2]int{s.I, s.O} {
		for about[i] < c && about[i] < 256 {
			about[i] *= 2
		}
	}
	return operation + " " + strconv.Itoa(about[0]) + "→" + strconv.Itoa(about[1])
}

// parseClass is the class that classOf has named; false of another name. It scans without
// fmt, of which scanning is a large part that the page's engine needs for nothing else.
func parseClass(name string) (c Class, ok bool) {
	operation, channels, _ := strings.Cut(name, " ")
	in, out, _ := strings.Cut(channels, "→")
	n, err := strconv.Atoi(in)
	m, err2 := strconv.Atoi(out)
	return Class{Operation: operation, In: n, Out: m}, err == nil && err2 == nil
}

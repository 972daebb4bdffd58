package terminal

import (
	"fmt"
	"strconv"
	"time"
)

// Figures formats a number to three significant figures.
func Figures(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.9995:
		return fmt.Sprintf("%.2f", v)
	case v >= 0.09995:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// clock formats a duration: 0:32, 12:05, 1:02:03.
func clock(d time.Duration) string {
	s := int(d.Seconds() + 0.5)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// About formats an estimate of a duration: "about 12 s", "about 5 min", "about 2.5 h".
func About(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 1:
		return "less than a second"
	case s < 99.5:
		return fmt.Sprintf("about %.0f s", s)
	case s < 99.5*60:
		return fmt.Sprintf("about %.0f min", s/60)
	default:
		return fmt.Sprintf("about %.3g h", s/3600)
	}
}

// Frames formats a number of frames.
func Frames(n int) string {
	if n == 1 {
		return "1 frame"
	}
	return fmt.Sprintf("%d frames", n)
}

// Thousands formats 250648227 as 250,648,227.
func Thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Scaled formats a count: "231.6 T".
func Scaled(n int64) string {
	v, unit := float64(n), 0
	for v >= 999.95 && unit < 6 {
		v /= 1000
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%.1f %c", v, "kMGTPE"[unit-1])
}

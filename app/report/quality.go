package report

import (
	"fmt"
	"math"
	"strconv"

	"tessera/app/terminal"
	"tessera/media"
)

// Quality measures a decoded clip against the original.
type Quality struct {
	PSNR   Decibels       `json:"psnr_db"`
	SSIM   float64        `json:"ssim"`
	Frames []FrameQuality `json:"frames"`
}

// FrameQuality measures one frame.
type FrameQuality struct {
	PSNR Decibels `json:"psnr_db"`
	SSIM float64  `json:"ssim"`
}

// NewQuality sums a comparison.
func NewQuality(q *media.Quality) *Quality {
	all := q.Overall()
	out := &Quality{PSNR: Decibels(all.PSNR), SSIM: all.SSIM}
	for _, f := range q.Frames() {
		out.Frames = append(out.Frames, FrameQuality{Decibels(f.PSNR), f.SSIM})
	}
	return out
}

// Decibels are null in JSON if infinite: the frames are identical.
type Decibels float64

// MarshalJSON writes a number or null.
func (d Decibels) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(d), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(d), 'f', 4, 64), nil
}

// String formats the number with its unit.
func (d Decibels) String() string { return fmt.Sprintf("%.2f dB", float64(d)) }

// Print prints the quality of each frame.
func (q *Quality) Print(t *terminal.Terminal) {
	t.Say("frame       PSNR   SSIM")
	for i, f := range q.Frames {
		t.Say("%5d  %9v  %.3f", i, f.PSNR, f.SSIM)
	}
}

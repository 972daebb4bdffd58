package job

import (
	"context"
	"math"

	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// Run plans the decode, calls planned with the plan, and passes the frames of one clip
// after another to take. It stops at the first error of either.
func (d Decoding) Run(ctx context.Context, m *vae.Model, watch vae.Watch, planned func(*vae.DecodePlan) error, take func(clip int, f vae.Frame) error) error {
	p, err := d.Plan(ctx, m)
	if err != nil {
		return err
	}
	if err := planned(p); err != nil {
		return err
	}
	for i := range d.Latent.Clips() {
		for f, err := range p.Run(ctx, d.Latent.Clip(i), watch) {
			if err != nil {
				return err
			}
			if err := take(i, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run plans the encode, calls planned with the plan, and returns the clip's latent with
// its metadata. An error of planned ends it.
func (e Encoding) Run(ctx context.Context, m *vae.Model, clip vae.Clip, watch vae.Watch, planned func(*vae.EncodePlan) error) (latent.Latent, error) {
	p, err := e.Plan(ctx, m)
	if err != nil {
		return latent.Latent{}, err
	}
	if err := planned(p); err != nil {
		return latent.Latent{}, err
	}
	z, err := p.Collect(ctx, clip, watch)
	z.Meta = e.Meta
	return z, err
}

// Comparison measures how close decoded frames are to a clip's, before rounding to
// 8 bits.
type Comparison struct {
	original vae.Clip
	quality  *media.Quality
	was      []float32 // [H,W,C]
	rgba     []byte    // [H,W,4]
}

// NewComparison starts a comparison with a clip.
func NewComparison(original vae.Clip) *Comparison {
	h, w := original.Size()
	return &Comparison{
		original: original, quality: media.NewQuality(h, w, original.Channels()),
		was: make([]float32, h*w*original.Channels()), rgba: make([]byte, 4*h*w),
	}
}

// Add measures the next frame, of floats.
func (c *Comparison) Add(f vae.Frame) (Score, error) {
	if err := c.original.ReadFrame(f.Index, c.was); err != nil {
		return Score{}, err
	}
	return scoreOf(c.quality.Add(c.was, f.Pixels)), nil
}

// RGBA converts a frame of floats to 8 bits, [H,W,4], valid until the next call.
func (c *Comparison) RGBA(f vae.Frame) []byte {
	media.ToRGBA(c.rgba, f.Pixels, c.original.Channels())
	return c.rgba
}

// Overall returns the score of all frames so far as one clip.
func (c *Comparison) Overall() Score { return scoreOf(c.quality.Overall()) }

// Score is how close a frame or clip is to the original.
type Score struct {
	PSNR *float64 // dB; nil if nothing differs, which JSON has no number for
	SSIM float64
}

func scoreOf(q media.FrameQuality) Score {
	s := Score{SSIM: q.SSIM}
	if !math.IsInf(q.PSNR, 0) {
		s.PSNR = &q.PSNR
	}
	return s
}

package job

import (
	"fmt"
	"math"

	"tessera/latent"
	"tessera/vae"
)

const (
	// clearly is how many nats per number the other scale must be likelier by before
	// doubt reports it.
	clearly = 0.15
	// apart is how much the logarithms of the scales' deviations must differ to
	// distinguish the scales; SeedVR2's differ by less.
	apart = 0.2
	// A latent's numbers are usually 0.5 to 1.5 times as large as the model's average.
	tooSmall, tooLarge = 0.25, 3
)

// doubt warns if a latent's numbers look like another scale than the one in use, or like
// no latent of the model; otherwise it returns "". It does not doubt a scale that the
// user asked for.
func doubt(c vae.Config, z latent.Latent, scale string, asked bool) string {
	if c.Mean == nil || c.Packed || len(z.Data) == 0 || z.Channels != c.Latent {
		return ""
	}
	pipeline, none := likeness{}, likeness{}
	for i := range c.Latent {
		mean, variance := moments(z.Data[len(z.Data)/c.Latent*i:][:len(z.Data)/c.Latent])
		pipeline.add(mean, variance, 0, 1)
		at := i
		if n := c.Frames; n > 0 {
			at = i*n + min(z.Frames, n) - 1
		}
		none.add(mean, variance, c.Mean[at], c.Scale[at])
	}
	is, other, text := pipeline, none, "the VAE's own, --scale none"
	if scale == latent.ScaleNone {
		is, other, text = none, pipeline, "a pipeline's, --scale pipeline"
	}
	flat := pipeline.variance < pipeline.squares/2 // a picture of one colour may have any numbers
	alike := math.Abs(none.deviating) < apart*none.channels
	if !asked && !flat && !alike && other.fits() && is.surprise()-other.surprise() > clearly {
		return fmt.Sprintf("its values look like %s: their deviation is %.2f, usually %.2f, and %.2f with --scale %s",
			text, is.deviation(), other.usually(), is.usually(), scale)
	}
	if !is.fits() {
		return fmt.Sprintf("its values are %.3g times as large as usual for %s: is it a latent of this model?", is.size(), c.Model)
	}
	return ""
}

// moments returns the mean and variance of a channel's numbers.
func moments(v []float32) (mean, variance float64) {
	var sum, squares float64
	for _, x := range v {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	mean = sum / float64(len(v))
	return mean, max(0, squares/float64(len(v))-mean*mean)
}

// likeness compares numbers with normal distributions, one per channel.
type likeness struct {
	channels  float64
	squares   float64 // of the numbers, after subtracting the usual mean and dividing by the usual deviation
	variance  float64
	usual     float64 // the usual variance
	deviating float64 // logarithm of the usual deviations
}

func (l *likeness) add(mean, variance, usual, scale float64) {
	l.channels++
	l.squares += (variance + (mean-usual)*(mean-usual)) * scale * scale
	l.variance += variance
	l.usual += 1 / (scale * scale)
	l.deviating -= math.Log(scale)
}

// surprise is the negative log-likelihood of a number, up to a constant.
func (l *likeness) surprise() float64 { return (l.squares/2 + l.deviating) / l.channels }

func (l *likeness) fits() bool         { return l.size() >= tooSmall && l.size() <= tooLarge }
func (l *likeness) size() float64      { return math.Sqrt(l.squares / l.channels) }
func (l *likeness) deviation() float64 { return math.Sqrt(l.variance / l.channels) }
func (l *likeness) usually() float64   { return math.Sqrt(l.usual / l.channels) }

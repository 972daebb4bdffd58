package job

import (
	"fmt"
	"math"

	"tessera/latent"
	"tessera/vae"
)

const (
	// clearly is by how many nats a number of a latent must be likelier in the
	// other scale for that to be said.
	clearly = 0.15
	// apart is by how much the logarithms of the scales' deviations must differ for
	// them to be told apart: SeedVR2's do by less.
	apart = 0.2
	// A latent's numbers are usually 0.5 to 1.5 times as large as the model's are
	// on the average.
	tooSmall, tooLarge = 0.25, 3
)

// doubt says where a latent's numbers look like another scale's than the one
// that it is taken in, or like no latent's of the model; else it is empty. A
// scale that was asked for is not doubted.
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
		return fmt.Sprintf("its numbers look like %s: their deviation is %.2f, and usually %.2f there, %.2f in --scale %s",
			text, is.deviation(), other.usually(), is.usually(), scale)
	}
	if !is.fits() {
		return fmt.Sprintf("its numbers are %.3g times as large as %s's usually are: is it this model's latent?", is.size(), c.Model)
	}
	return ""
}

// moments are those of a channel's numbers.
func moments(v []float32) (mean, variance float64) {
	var sum, squares float64
	for _, x := range v {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	mean = sum / float64(len(v))
	return mean, max(0, squares/float64(len(v))-mean*mean)
}

// likeness is how numbers compare with those of normal distributions, one a
// channel.
type likeness struct {
	channels  float64
	squares   float64 // of the numbers, less the usual mean and over the usual deviation
	variance  float64
	usual     float64 // variance
	deviating float64 // logarithm of the usual deviations
}

func (l *likeness) add(mean, variance, usual, scale float64) {
	l.channels++
	l.squares += (variance + (mean-usual)*(mean-usual)) * scale * scale
	l.variance += variance
	l.usual += 1 / (scale * scale)
	l.deviating -= math.Log(scale)
}

// surprise is what a number's logarithm of the likelihood lacks, but for a
// constant.
func (l *likeness) surprise() float64 { return (l.squares/2 + l.deviating) / l.channels }

func (l *likeness) fits() bool         { return l.size() >= tooSmall && l.size() <= tooLarge }
func (l *likeness) size() float64      { return math.Sqrt(l.squares / l.channels) }
func (l *likeness) deviation() float64 { return math.Sqrt(l.variance / l.channels) }
func (l *likeness) usually() float64   { return math.Sqrt(l.usual / l.channels) }

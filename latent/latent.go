// Package latent defines the type that encoders, decoders and files exchange, and its
// metadata about the encoded clip. It knows no files, models or devices: media reads
// and writes latents, vae makes and consumes them.
//
// Start at Latent; Latent.Original reads the metadata, Original.Meta makes it.
package latent

// Keys of the metadata that a latent carries through a file, so that decoding
// can undo what encoding did to the clip.
const (
	MetaFrames = "tessera.frames" // frames of the clip before padding
	MetaHeight = "tessera.height" // pixels before padding
	MetaWidth  = "tessera.width"
	MetaScale  = "tessera.scale"  // ScalePipeline or ScaleNone
	MetaKind   = "tessera.kind"   // KindLatent or KindMoments
	MetaFPS    = "tessera.fps"    // as Rational.String
	MetaAspect = "tessera.aspect" // of a pixel, likewise
	MetaImages = "tessera.images" // "true" where each frame is an image by itself

	// The model that made it, see Checkpoint.
	MetaFamily = "tessera.family"
	MetaModel  = "tessera.model"
	MetaFile   = "tessera.checkpoint"
	MetaPrint  = "tessera.fingerprint"
	// MetaStatistics is of latents that other statistics than the published ones scaled.
	MetaStatistics = "tessera.statistics"
)

// Values of MetaScale and MetaKind.
const (
	ScalePipeline = "pipeline" // shifted and scaled as the pipelines exchange it
	ScaleNone     = "none"     // the model's own numbers
	KindLatent    = "latent"
	KindMoments   = "moments" // mean and log-variance, one behind the other: twice the channels
)

// Latent is what an encoder makes of a clip and a decoder takes. Data is
// [C,L,h,w], row-major.
type Latent struct {
	Channels, Frames, Height, Width int
	Data                            []float32
	// Batch is how many clips of that size lie in Data, one behind the other; 0
	// is one.
	Batch int
	// Moments: the channels are means and, behind them, as many log-variances.
	Moments bool
	// Meta holds the strings kept with the latent; nil where there are none.
	Meta map[string]string
	// Packed: it was read from squares of 2x2 cells among the channels, see Unpack.
	Packed bool
	// Images: it was read from a batch of images, each a frame by itself.
	Images bool
	// ComfyUI: it was read from a file with ComfyUI's version mark.
	ComfyUI bool
	// Trainer is the training program in whose cache it lay, nil for none.
	Trainer *Trainer
	// Notes say what its reader took to be so where the file says nothing of it.
	Notes []string
}

// Trainer is a program that trains models, as its cache of latents tells.
type Trainer struct {
	Name  string // such as "musubi-tuner"
	Model string // its word for the model that it trains, "" where the cache has none
	// Unscaled: all its caches hold the VAE's own numbers, ScaleNone. Of other trainers' it
	// depends on the model.
	Unscaled bool
}

// Shape is [C,L,h,w], of a batch [B,C,L,h,w].
func (l Latent) Shape() []int {
	shape := []int{l.Channels, l.Frames, l.Height, l.Width}
	if n := l.Clips(); n > 1 {
		return append([]int{n}, shape...)
	}
	return shape
}

// Clips is how many clips there are.
func (l Latent) Clips() int { return max(1, l.Batch) }

// Clip is clip i alone, which shares the data.
func (l Latent) Clip(i int) Latent {
	n := len(l.Data) / l.Clips()
	l.Data, l.Batch = l.Data[i*n:][:n], 0
	return l
}

// Mean is the latent of the means, which shares the data where it can. It is for
// Moments.
func (l Latent) Mean() Latent {
	means := l.Data[:len(l.Data)/2]
	if n := len(l.Data) / l.Clips(); l.Clips() > 1 {
		means = make([]float32, 0, len(l.Data)/2)
		for i := range l.Clips() {
			means = append(means, l.Data[i*n:][:n/2]...)
		}
	}
	l.Channels, l.Data, l.Moments = l.Channels/2, means, false
	return l
}

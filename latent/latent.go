// Package latent defines the type that encoders, decoders and files exchange, and its
// metadata about the encoded clip. It knows no files, models or devices: media reads and
// writes latents, vae encodes and decodes them.
//
// Start at Latent:
//
//	z := latent.Latent{Channels: 16, Frames: 21, Height: 60, Width: 104, Data: data}
//	original, warnings, err := z.Original(8, 8, 4, 0, 0)
//
// Latent.Original reads the metadata, Original.Meta makes it.
package latent

// Keys of a latent's metadata in a file, with which decoding undoes what encoding did to
// the clip.
const (
	MetaFrames = "tessera.frames" // frames of the clip before padding
	MetaHeight = "tessera.height" // pixels before padding
	MetaWidth  = "tessera.width"
	MetaScale  = "tessera.scale"  // ScalePipeline or ScaleNone
	MetaKind   = "tessera.kind"   // KindLatent or KindMoments
	MetaFPS    = "tessera.fps"    // as Rational.String
	MetaAspect = "tessera.aspect" // of a pixel, as Rational.String
	MetaImages = "tessera.images" // "true" if each frame is a separate image

	// The model that made the latent, see Checkpoint.
	MetaFamily = "tessera.family"
	MetaModel  = "tessera.model"
	MetaFile   = "tessera.checkpoint"
	MetaPrint  = "tessera.fingerprint"
	// MetaStatistics is set if other statistics than the published ones scaled the
	// latent.
	MetaStatistics = "tessera.statistics"
)

// Values of MetaScale and MetaKind.
const (
	ScalePipeline = "pipeline" // shifted and scaled for exchange between pipelines
	ScaleNone     = "none"     // the model's own numbers
	KindLatent    = "latent"
	KindMoments   = "moments" // mean, then log-variance: twice the channels
)

// Latent is the output of an encoder and the input of a decoder. Data is [C,L,h,w],
// row-major.
type Latent struct {
	Channels, Frames, Height, Width int
	Data                            []float32
	// Batch is the number of clips of that size in Data, one after another; 0 is one
	// clip.
	Batch int
	// Moments means that the channels are means, followed by as many log-variances.
	Moments bool
	// Meta holds the texts stored with the latent; nil if there are none.
	Meta map[string]string
	// Packed means that it was read from squares of 2x2 cells among the channels, see
	// Unpack.
	Packed bool
	// Images means that it was read from a batch of images, each a separate frame.
	Images bool
	// ComfyUI means that it was read from a file with ComfyUI's version mark.
	ComfyUI bool
	// Trainer is the training program whose cache contained it, nil if none.
	Trainer *Trainer
	// Notes are the reader's assumptions where the file says nothing.
	Notes []string
}

// Trainer is a program that trains models, as its cache of latents identifies it.
type Trainer struct {
	Name  string // such as "musubi-tuner"
	Model string // its name of the trained model, "" if the cache does not contain it
	// Unscaled means that all its caches hold the VAE's own numbers, ScaleNone. For other
	// trainers this depends on the model.
	Unscaled bool
}

// Shape returns [C,L,h,w], or [B,C,L,h,w] for a batch.
func (l Latent) Shape() []int {
	shape := []int{l.Channels, l.Frames, l.Height, l.Width}
	if n := l.Clips(); n > 1 {
		return append([]int{n}, shape...)
	}
	return shape
}

// Clips returns the number of clips.
func (l Latent) Clips() int { return max(1, l.Batch) }

// Clip returns clip i alone; it shares the data.
func (l Latent) Clip(i int) Latent {
	n := len(l.Data) / l.Clips()
	l.Data, l.Batch = l.Data[i*n:][:n], 0
	return l
}

// Mean returns the latent of the means, which shares the data if possible. The latent
// must have Moments.
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

package vae

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"tessera/latent"
)

// Origin is what a latent's file tells of its numbers, for a model.
type Origin struct {
	Scale  string // latent.ScalePipeline or ScaleNone
	Images bool   // its frames are pictures by themselves
	// By is the program whose files hold the model's own numbers without saying so;
	// empty where the scale is not from that.
	By  string
	Kin Kin
}

// Origin says what a latent's origin means: as its metadata tells, else as
// ComfyUI or the trainer writes it, else as the model has it by default.
func (c Config) Origin(o latent.Original) Origin {
	r := Origin{Scale: o.Scale, Images: o.Images, Kin: c.kin(o.Checkpoint)}
	if r.Scale == "" { // not by tessera, which would have said so
		r.Scale, r.Images = latent.ScalePipeline, o.Images || c.Independent
		switch {
		case o.ComfyUI && c.ComfyUIUnscaled:
			r.By = "ComfyUI"
		case o.Trainer != nil && c.cacheScale(o.Trainer) == latent.ScaleNone:
			r.By = o.Trainer.Name
		}
		if r.By != "" || c.Packed && !o.Packed { // pipelines pack
			r.Scale = latent.ScaleNone
		}
	}
	return r
}

// Kin is how near a model is to the one that made a latent.
type Kin int

// From near to far.
const (
	Same            Kin = iota // the same file, or nothing is known
	OtherFile                  // the same model by its name
	StandIn                    // a tiny autoencoder, and the VAE that it stands for
	OtherModel                 // of the same family, with the same statistics and weights of its own
	OtherStatistics            // of the same family, with other statistics by a config.json
	OtherFamily                // other weights and statistics, as AutoencoderKL's models have, too
)

func (c Config) kin(made latent.Checkpoint) Kin {
	switch {
	case c.scaledAs(made):
		return OtherFamily
	case made == latent.Checkpoint{} || c.Latent == 0:
		return Same
	case !c.is(made.Family) && standsFor(c.Checkpoint()) == standsFor(made):
		return StandIn
	case !c.is(made.Family):
		return OtherFamily
	case made.Print != "" && made.Statistics != c.ownStatistics(): // trainers know none but the published ones
		return OtherStatistics
	case made.Print != "" && made.Print == c.Print:
		return Same
	case made.Model != c.Model:
		return OtherModel
	case made.Print != "" && c.Print != "":
		return OtherFile
	}
	return Same
}

// Cached is the model whose latents a trainer caches for what it calls t.Model, zero where
// that is unknown, and the trainer's words for latents that c decodes.
func (c Config) Cached(t *latent.Trainer) (made latent.Checkpoint, known []string) {
	for of, k := range caches(t.Name) {
		words := strings.Fields(k.trains)
		if slices.Contains(words, t.Model) {
			made = of
		}
		if c.Decodes(of) {
			known = append(known, words...)
		}
	}
	return made, known
}

// Decodes tells whether c decodes the latents in another model's cache: of its family, but
// for models that have a scale each, or of the VAE that it stands in for.
func (c Config) Decodes(made latent.Checkpoint) bool {
	return c.kin(made) != OtherFamily || c.Maker(made) != ""
}

// cacheScale is the scale of the numbers in a trainer's cache, "" where it is unknown. Where
// the trainer has no word for the model, it is that of c's latents.
func (c Config) cacheScale(t *latent.Trainer) string {
	if t.Unscaled {
		return latent.ScaleNone
	}
	for of, k := range caches(t.Name) {
		ours := t.Model == "" && standsFor(of) == standsFor(c.Checkpoint())
		if ours || slices.Contains(strings.Fields(k.trains), t.Model) {
			return k.scale
		}
	}
	return ""
}

// caches are a trainer's, with the models whose latents they have.
func caches(trainer string) iter.Seq2[latent.Checkpoint, cache] {
	return func(yield func(latent.Checkpoint, cache) bool) {
		for _, f := range families {
			for _, k := range f.caches {
				if k.trainer == trainer && !yield(latent.Checkpoint{Family: f.name, Model: k.model}, k) {
					return
				}
			}
		}
	}
}

// Checkpoint is what latents keep of the model that makes them.
func (c Config) Checkpoint() latent.Checkpoint {
	return latent.Checkpoint{Family: c.Family, Model: c.Model, File: c.File, Print: c.Print, Statistics: c.ownStatistics()}
}

// ownStatistics is a fingerprint of the statistics in a config.json, "" of the published ones.
func (c Config) ownStatistics() string {
	if c.Beside == "" {
		return ""
	}
	h := fnv.New64a()
	for _, list := range [][]float64{c.Mean, c.Scale} {
		for _, x := range list {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x))))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Name notes the name of the file alone, for who reads no more of it than the
// header.
func (c *Config) Name(name string) {
	c.File = strings.ToValidUTF8(filepath.Base(name), "\uFFFD") // as metadata can keep it
}

// Identify notes which file the configuration was read from: File and Print of
// the size bytes behind r. Its error is an ErrBadModel.
func (c *Config) Identify(name string, r io.ReaderAt, size int64) (err error) {
	c.Name(name)
	if c.Print, err = fingerprint(r, size); err != nil {
		return &badModel{fmt.Errorf("vae: %s: %w", name, err)}
	}
	return nil
}

// A fingerprint takes so many samples of so many bytes.
const (
	samples     = 17
	sampleBytes = 64 << 10
)

// fingerprint tells files apart, cheaply: FNV-1a of 128 bits of the size, 8
// bytes little-endian, and of samples that are spread evenly from the file's
// first byte to its last; of a smaller file all of it. To hash all of a
// checkpoint takes seconds, and a page would have to read all of it. A
// cryptographic hash would be a thirtieth of the page's engine, and sampled
// would prove no more.
func fingerprint(r io.ReaderAt, size int64) (string, error) {
	h := fnv.New128a()
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(size)))
	buffer := make([]byte, sampleBytes)
	whole := size <= samples*sampleBytes
	for i := range int64(samples) {
		at := (size - sampleBytes) * i / (samples - 1)
		if whole {
			at = i * sampleBytes
		}
		part := buffer[:min(sampleBytes, max(0, size-at))]
		if n, err := r.ReadAt(part, at); n < len(part) {
			return "", fmt.Errorf("%d bytes at %d: %w", len(part), at, err)
		}
		h.Write(part)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

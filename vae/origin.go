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

// Origin is what a latent's file says about its numbers, for a model.
type Origin struct {
	Scale  string // latent.ScalePipeline or ScaleNone
	Images bool   // its frames are separate pictures
	// By is the program whose files hold the model's own numbers without saying so; empty
	// if the scale has another source.
	By  string
	Kin Kin
}

// Origin interprets a latent's origin for the model: its metadata decide, else the
// conventions of ComfyUI or the trainer, else the model's default.
func (c Config) Origin(o latent.Original) Origin {
	r := Origin{Scale: o.Scale, Images: o.Images, Kin: c.kin(o.Checkpoint)}
	if r.Scale == "" { // tessera stores the scale, so another program wrote it
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

// Kin is how closely a model is related to the one that made a latent.
type Kin int

// From close to distant.
const (
	Same            Kin = iota // the same file, or unknown
	OtherFile                  // the same model by name
	StandIn                    // a tiny autoencoder, and the VAE that it approximates
	OtherModel                 // of the same family, with the same statistics and other weights
	OtherStatistics            // of the same family, with other statistics from a config.json
	OtherFamily                // other weights and statistics, also between AutoencoderKL's models
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
	case made.Print != "" && made.Statistics != c.ownStatistics(): // trainers know only the published ones
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

// Cached returns the model whose latents a trainer caches under the name t.Model, zero if
// that is unknown, and the trainer's names for models whose latents c decodes.
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

// Decodes reports whether c decodes the latents in another model's cache: those of its
// family, unless its models have separate scales, or of the VAE that c approximates.
func (c Config) Decodes(made latent.Checkpoint) bool {
	return c.kin(made) != OtherFamily || c.Maker(made) != ""
}

// cacheScale returns the scale of the numbers in a trainer's cache, "" if unknown. If the
// trainer's file names no model, it is the scale of c's latents.
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

// caches yields a trainer's caches, with the models whose latents they hold.
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

// Checkpoint describes the model in the metadata of latents.
func (c Config) Checkpoint() latent.Checkpoint {
	return latent.Checkpoint{Family: c.Family, Model: c.Model, File: c.File, Print: c.Print, Statistics: c.ownStatistics()}
}

// ownStatistics returns a fingerprint of the statistics in a config.json, "" for the
// published ones.
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

// Name stores the file's name, for callers that read only its header.
func (c *Config) Name(name string) {
	c.File = strings.ToValidUTF8(filepath.Base(name), "\uFFFD") // valid UTF-8, for metadata
}

// Identify stores which file the configuration was read from: File and Print of the size
// bytes of r. Its error is an ErrBadModel.
func (c *Config) Identify(name string, r io.ReaderAt, size int64) (err error) {
	c.Name(name)
	if c.Print, err = fingerprint(r, size); err != nil {
		return &badModel{fmt.Errorf("vae: %s: %w", name, err)}
	}
	return nil
}

// Number and size of a fingerprint's samples.
const (
	samples     = 17
	sampleBytes = 64 << 10
)

// fingerprint distinguishes files cheaply: FNV-1a of 128 bits of the size, 8 bytes
// little-endian, and of samples spread evenly from the file's first byte to its last; of
// a smaller file all bytes. Hashing a whole checkpoint takes seconds, and a page would
// have to read all of it. A cryptographic hash would be a thirtieth of the page's engine,
// and on samples it would prove no more.
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

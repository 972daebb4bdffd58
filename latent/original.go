package latent

import (
	"fmt"
	"strconv"
)

// Original is what a latent's metadata says about the clip it was made of; fields are
// zero if it says nothing.
type Original struct {
	Frames, Height, Width int // before padding
	FPS                   Rational
	Aspect                Rational // of a pixel, width over height; zero if square
	Scale                 string   // ScalePipeline or ScaleNone
	// Images means that the frames are images, from a batch or encoded one by one, and
	// each is decoded separately.
	Images bool
	// ComfyUI means that ComfyUI saved the latent, which stores no scale. The model
	// decides what its numbers are: for most models they are the VAE's own, ScaleNone.
	ComfyUI bool
	Packed  bool // Latent.Packed, if the file states no scale
	// Trainer is the program whose cache it is, if the file states no scale; nil if none.
	Trainer *Trainer
	// Checkpoint describes the model that made it.
	Checkpoint Checkpoint
}

// Checkpoint is what a latent stores of the model that made it; zero if unknown.
type Checkpoint struct {
	Family string // of models, such as "wan2.1"
	Model  string // the model's name: "Qwen-Image"
	File   string // without folders
	Print  string // a fingerprint of the file
	// Statistics is a fingerprint of the statistics that scale its latents, "" for the
	// published ones.
	Statistics string
}

// String returns `"Wan 2.1" ("Wan2.1_VAE.pth")`, quoted because the names may come from a
// stranger.
func (c Checkpoint) String() string {
	name := c.Model
	if name == "" {
		name = c.Family
	}
	if name = fmt.Sprintf("%.40q", name); c.File != "" {
		name += fmt.Sprintf(" (%.80q)", c.File)
	}
	return name
}

// fields returns a checkpoint's fields by metadata key.
func (c *Checkpoint) fields() map[string]*string {
	return map[string]*string{MetaFamily: &c.Family, MetaModel: &c.Model, MetaFile: &c.File, MetaPrint: &c.Print, MetaStatistics: &c.Statistics}
}

// Meta returns an original as metadata, without zero fields.
func (o Original) Meta(kind string) map[string]string {
	m := map[string]string{MetaKind: kind}
	for key, n := range map[string]int{MetaFrames: o.Frames, MetaHeight: o.Height, MetaWidth: o.Width} {
		if n > 0 {
			m[key] = strconv.Itoa(n)
		}
	}
	if o.Scale != "" {
		m[MetaScale] = o.Scale
	}
	if o.Images {
		m[MetaImages] = "true"
	}
	if o.FPS.Known() {
		m[MetaFPS] = o.FPS.String()
	}
	if o.Aspect.Known() {
		m[MetaAspect] = o.Aspect.String()
	}
	for key, text := range o.Checkpoint.fields() {
		if *text != "" {
			m[key] = *text
		}
	}
	return m
}

// Original reads the metadata. A latent cell has spatial pixels along a side, and a clip
// was padded to multiples of grid pixels. A latent frame after the first stands for
// temporal frames, or for one if it is an image. If cycle is not 0, the first latent
// frame of each cycle stands for one frame. If batch is not 0, clips are padded to
// batches of latent frames, and in a multiple of batches no latent frame stands for a
// single frame. Original drops sizes from which the latent cannot have been padded, with
// a warning, because a tool may have cut or resized the latent and kept the metadata.
// Warnings and errors do not contain the file's name: the reader adds it.
func (l Latent) Original(spatial, grid, temporal, cycle, batch int) (o Original, warnings []string, err error) {
	if kind := l.Meta[MetaKind]; kind != "" && kind != KindLatent && !l.Moments {
		return o, nil, fmt.Errorf("holds %s, expected a latent", kind)
	}
	for key, text := range o.Checkpoint.fields() {
		*text = l.Meta[key]
	}
	o.Scale = l.Meta[MetaScale]
	if o.Scale == "" {
		o.ComfyUI, o.Trainer, o.Packed = l.ComfyUI, l.Trainer, l.Packed
	}
	switch o.Scale {
	case "", ScalePipeline, ScaleNone:
	default:
		return o, nil, fmt.Errorf("metadata %s is %.80q, expected %s or %s", MetaScale, o.Scale, ScalePipeline, ScaleNone)
	}
	images := l.Meta[MetaImages]
	if images != "" && images != "true" {
		return o, nil, fmt.Errorf("metadata %s is %.80q, expected true", MetaImages, images)
	}
	if o.Images = l.Images || images == "true"; o.Images {
		temporal, cycle, batch = 1, 0, 0
	}
	for key, n := range map[string]*int{MetaFrames: &o.Frames, MetaHeight: &o.Height, MetaWidth: &o.Width} {
		text, ok := l.Meta[key]
		if !ok {
			continue
		}
		if *n, err = strconv.Atoi(text); err != nil || *n < 1 {
			return o, nil, fmt.Errorf("metadata %s is %.80q, expected a positive number", key, text)
		}
	}
	for key, r := range map[string]*Rational{MetaFPS: &o.FPS, MetaAspect: &o.Aspect} {
		if text := l.Meta[key]; text != "" {
			if *r, err = ParseRational(text); err != nil {
				return o, nil, fmt.Errorf("metadata %s: %w", key, err)
			}
		}
	}
	return o, l.reconcile(spatial, grid, temporal, cycle, batch, &o), nil
}

// reconcile drops sizes from which the latent cannot have been padded.
func (l Latent) reconcile(spatial, grid, temporal, cycle, batch int, o *Original) (warnings []string) {
	frames, height, width := 1+(l.Frames-1)*temporal, l.Height*spatial, l.Width*spatial
	if cycle > 0 { // the first latent frame of each cycle stands for one frame
		frames -= (l.Frames - 1) / cycle * (temporal - 1)
		temporal = 1 + (cycle-1)*temporal
	}
	if batch > 0 {
		if l.Frames%batch == 0 {
			frames = l.Frames * temporal
		}
		temporal *= batch
	}
	fits := func(n, all, step int) bool { return n == 0 || n <= all && n > all-step }
	if !fits(o.Frames, frames, temporal) {
		warnings = append(warnings, fmt.Sprintf("metadata says %d frames, the latent has %d: the metadata is ignored", o.Frames, frames))
		o.Frames = 0
	}
	if !fits(o.Height, height, grid) || !fits(o.Width, width, grid) {
		warnings = append(warnings, fmt.Sprintf("metadata says %dx%d pixels, the latent has %dx%d: the metadata is ignored",
			o.Width, o.Height, width, height))
		o.Height, o.Width = 0, 0
	}
	return warnings
}

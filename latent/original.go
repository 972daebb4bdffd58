package latent

import (
	"fmt"
	"strconv"
)

// Original is what a latent's metadata tells of the clip it was made of; zero
// where it tells nothing.
type Original struct {
	Frames, Height, Width int // before padding
	FPS                   Rational
	Aspect                Rational // of a pixel, width over height; zero where it is square
	Scale                 string   // ScalePipeline or ScaleNone
	// Images: the frames are images, of a batch or encoded one by one, and each
	// is to be decoded by itself.
	Images bool
	// ComfyUI: the latent was saved by ComfyUI, with no word on its scale. What
	// its samples are is the model's affair: for most they are the VAE's own
	// numbers, ScaleNone.
	ComfyUI bool
	Packed  bool // Latent.Packed, with no word on its scale
	// Trainer is the program whose cache it is, with no word on its scale; nil for none.
	Trainer *Trainer
	// Checkpoint is of the model that made it.
	Checkpoint Checkpoint
}

// Checkpoint is what a latent keeps of the model that made it; zero where it is
// not known.
type Checkpoint struct {
	Family string // of models, such as "wan2.1"
	Model  string // by its own name: "Qwen-Image"
	File   string // its name, without folders
	Print  string // a fingerprint of the file
	// Statistics is a fingerprint of those that scale its latents, "" for the published ones.
	Statistics string
}

// String is `"Wan 2.1" ("Wan2.1_VAE.pth")`: the words may be a stranger's.
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

// fields are the keys that a checkpoint is kept under.
func (c *Checkpoint) fields() map[string]*string {
	return map[string]*string{MetaFamily: &c.Family, MetaModel: &c.Model, MetaFile: &c.File, MetaPrint: &c.Print, MetaStatistics: &c.Statistics}
}

// Meta is an original as metadata, without what is zero.
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

// Original reads the metadata. A latent cell has spatial pixels a side, to multiples of
// grid pixels a clip was padded, and a latent frame after the first temporal frames, or one where it is an image;
// of each cycle of latent frames, if that is not 0, the first stands for one. Clips are
// padded to batches of latent frames, if that is not 0, and a multiple of batches has no
// first frame by itself.
// Sizes that the latent can't have been padded from are dropped, with a
// warning, since a tool may have cut or resized the latent and kept the
// metadata. Warnings and errors don't name the file: its reader does.
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

// reconcile drops sizes that the latent can't have been padded from.
func (l Latent) reconcile(spatial, grid, temporal, cycle, batch int, o *Original) (warnings []string) {
	frames, height, width := 1+(l.Frames-1)*temporal, l.Height*spatial, l.Width*spatial
	if cycle > 0 { // the first of each stands for one frame
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

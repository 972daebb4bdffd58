package job

import (
	"cmp"
	"fmt"
	"strings"

	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// Decoding is a decode that can be planned and run. Each clip of a batch is decoded
// separately; the other fields describe one.
type Decoding struct {
	Latent  latent.Latent
	Options vae.DecodeOptions // the caller sets RGBA8 and Internals
	Clip    media.Format      // format of the result
	Whole   int               // frames that the latent stands for, at least Clip's
	Scale   string            // of the latent's numbers
	// Notes report assumptions, Guesses how an ambiguous file was read, Warnings
	// probable mistakes.
	Notes, Guesses, Warnings []string
}

// Decode resolves the decoding of the latent in the file called name.
func Decode(c vae.Config, z latent.Latent, name string, want Choices) (Decoding, error) {
	d := Decoding{Latent: z}
	err := c.Can("decode")
	if err != nil {
		return d, err
	}
	if d.Options.Options, err = want.Options(); err != nil {
		return d, err
	}
	if c, err = c.As(want.As); err != nil {
		return d, err
	}
	was, warnings, err := media.Original(name, z, c.Spatial, c.Grid(), c.Temporal, c.Cycle, c.Full)
	if err != nil {
		return d, err
	}
	d.Warnings = warnings
	if !z.Images || !c.Independent { // otherwise it is one frame in either order
		for _, text := range z.Notes {
			d.Guesses = append(d.Guesses, name+": "+text)
		}
	}
	if was.Checkpoint == (latent.Checkpoint{}) {
		if was.Checkpoint, err = cacheOf(c, z, name); err != nil {
			return d, err
		}
	}
	if err := d.draw(name, want); err != nil {
		return d, err
	}
	if as := c.Maker(was.Checkpoint); as != "" {
		if c, err = c.As(as); err != nil {
			return d, err
		}
		d.Options.As = as
		d.Notes = append(d.Notes, fmt.Sprintf("%s: made by %s, so the checkpoint is treated as %s", name, c.Model, c.Model))
	}
	origin := c.Origin(was)
	images := want.independent(origin.Images)
	if images != was.Images {
		was.Frames = 0 // it counts the other kind
	}
	if err := d.number(c, was, origin, name, want); err != nil {
		return d, err
	}
	z = d.Latent
	enlarged := c.Decoded() / c.Spatial
	d.Whole = c.Decoding().Frames(z.Frames, images)
	d.Clip = media.Format{
		Frames: cmp.Or(was.Frames, d.Whole),
		Height: enlarged * cmp.Or(was.Height, z.Height*c.Spatial), Width: enlarged * cmp.Or(was.Width, z.Width*c.Spatial),
		Channels: c.Channels, FPS: cmp.Or(want.FPS, was.FPS), Aspect: was.Aspect,
	}
	o := &d.Options
	o.Frames, o.Height, o.Width = d.Clip.Frames, d.Clip.Height, d.Clip.Width
	o.Independent, o.Unscaled = images, d.Scale == latent.ScaleNone
	return d, nil
}

// Doubts returns Guesses and Warnings, for clients that do not distinguish them.
func (d Decoding) Doubts() []string {
	return append(append([]string(nil), d.Guesses...), d.Warnings...)
}

// cacheOf returns the model that made a trainer's cached latents, which c must match;
// zero if the file does not name it.
func cacheOf(c vae.Config, z latent.Latent, name string) (latent.Checkpoint, error) {
	t := z.Trainer
	if t == nil || t.Model == "" || c.Latent == 0 { // a model that is not open yet cannot differ
		return latent.Checkpoint{}, nil
	}
	made, expected := c.Cached(t)
	switch {
	case made == latent.Checkpoint{}:
		return made, BadInputOf(media.ErrModel, "job: %s: is a cache of %s for %.40q, expected %s for %s", name, t.Name, t.Model, cmp.Or(strings.Join(expected, ", "), "none"), c.Model)
	case !c.Decodes(made):
		return made, BadInputOf(media.ErrModel, "job: %s: is a cache of %s for %.40q with latents of %s, expected %s", name, t.Name, t.Model, made.Model, c.Model)
	}
	return made, nil
}

// draw makes a latent of moments: their mean, or a sample if requested.
func (d *Decoding) draw(name string, want Choices) error {
	z := d.Latent
	switch {
	case !z.Moments && want.Sample:
		return BadInput("job: %s: holds a latent, expected moments to draw a sample from", name)
	case !z.Moments:
		return nil
	case want.Scale == latent.ScalePipeline:
		return BadInput("job: %s: holds moments, which are unscaled, expected --scale none", name)
	}
	d.Scale = latent.ScaleNone
	text := "decoding their mean"
	if d.Latent = z.Mean(); want.Sample {
		text, d.Latent = "decoding a sample of them", vae.Draw(z, want.Seed)
	}
	d.Notes = append(d.Notes, name+": holds moments: "+text)
	return nil
}

// number determines the scale of the latent's numbers, and warns about unusual ones.
func (d *Decoding) number(c vae.Config, was latent.Original, o vae.Origin, name string, want Choices) error {
	asked, by := want.Scale != "", o.By
	if d.Scale != "" {
		by = ""
	}
	d.Scale = cmp.Or(d.Scale, want.Scale, o.Scale)
	if by != "" && !asked {
		d.Notes = append(d.Notes, name+": by "+by+", so it is unscaled (--scale none)")
	}
	if c.Packed && !was.Packed && was.Scale == "" && !asked && !d.Latent.Moments && d.Scale == latent.ScaleNone && by == "" && len(d.Latent.Data) > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%s: has %d channels, not %d packed ones, so it is unscaled (--scale none)", name, c.Latent, 4*c.Latent))
	}
	if was.Scale != "" && was.Scale != d.Scale {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s: written with --scale %s, decoding with --scale %s as requested", name, was.Scale, d.Scale))
	}
	if doubt := c.Doubt(); doubt != "" && d.Scale == latent.ScalePipeline {
		d.Warnings = append(d.Warnings, cmp.Or(c.File, "the checkpoint")+": "+doubt)
	}
	if was.Scale == "" && was.Checkpoint == (latent.Checkpoint{}) {
		if text := doubt(c, d.Latent, d.Scale, asked); text != "" {
			d.Warnings = append(d.Warnings, name+": "+text)
		}
	}
	return d.relate(c, o.Kin, was.Checkpoint, name, asked)
}

// statisticsOf says where a model's statistics come from.
func statisticsOf(c vae.Config) string {
	if c.Beside == "" {
		return "the published ones"
	}
	return "those in " + c.Beside
}

// relate reports if the checkpoint is not the one that made the latent. A scale made with
// another family's statistics cannot be undone: this is an error unless the user set the
// scale.
func (d *Decoding) relate(c vae.Config, kin vae.Kin, made latent.Checkpoint, name string, asked bool) error {
	text := fmt.Sprintf("%s: a latent of %v, decoding with %v", name, made, c.Checkpoint())
	switch {
	case kin == vae.OtherFile:
		d.Notes = append(d.Notes, text+", another file of that model")
	case kin == vae.StandIn:
		d.Notes = append(d.Notes, text+", which uses the same latents")
	case kin == vae.OtherStatistics && d.Scale == latent.ScalePipeline:
		text += fmt.Sprintf(", which uses other statistics: %s", statisticsOf(c))
		if !asked {
			return BadInputOf(media.ErrModel, "job: %s; pass --scale to override", text)
		}
		d.Warnings = append(d.Warnings, text)
	case kin == vae.OtherModel:
		d.Warnings = append(d.Warnings, text+", which has other weights")
	case kin == vae.OtherFamily && d.Scale == latent.ScalePipeline && !asked:
		return BadInputOf(media.ErrModel, "job: %s; its scaling statistics differ; pass --scale to override", text)
	case kin == vae.OtherFamily:
		d.Warnings = append(d.Warnings, text+", whose latents differ")
	}
	return nil
}

package job

import (
	"cmp"
	"fmt"

	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// Decoding is a decode that can be planned and run.
type Decoding struct {
	Latent  latent.Latent
	Options vae.DecodeOptions // RGBA8 and Spool are the caller's to choose
	Clip    media.Format      // what comes out
	Whole   int               // frames that the latent stands for; Clip has no more
	Scale   string            // of the latent's numbers
	// Notes say what was taken to be so, Warnings what is probably not meant.
	Notes, Warnings []string
}

// Decode resolves the decoding of the latent in the file called name.
func Decode(c vae.Config, z latent.Latent, name string, want Choices) (Decoding, error) {
	d := Decoding{Latent: z}
	var err error
	if d.Options.Options, err = want.Options(); err != nil {
		return d, err
	}
	was, warnings, err := media.Original(name, z, c.Spatial, c.Temporal)
	if err != nil {
		return d, err
	}
	d.Warnings = warnings
	images := was.Images
	if was.Scale == "" { // not by tessera, which would have said so
		images = images || c.Independent
	}
	if images = want.independent(images); images != was.Images {
		was.Frames = 0 // is of the other kind
	}
	d.Scale = want.scale(was.Scale, was.ComfyUI, c)
	if was.ComfyUI && want.Scale == "" && d.Scale == latent.ScaleNone {
		d.Notes = append(d.Notes, name+": by ComfyUI, so the numbers are the model's own (--scale none)")
	}
	if was.Scale != "" && was.Scale != d.Scale {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s: was written with --scale %s, decoding with --scale %s as asked", name, was.Scale, d.Scale))
	}
	d.Whole = c.Decoding().Frames(z.Frames, images)
	d.Clip = media.Format{
		Frames: cmp.Or(was.Frames, d.Whole),
		Height: cmp.Or(was.Height, z.Height*c.Spatial), Width: cmp.Or(was.Width, z.Width*c.Spatial),
		Channels: c.Channels, FPS: cmp.Or(want.FPS, was.FPS),
	}
	o := &d.Options
	o.Frames, o.Height, o.Width = d.Clip.Frames, d.Clip.Height, d.Clip.Width
	o.Independent, o.Unscaled = images, d.Scale == latent.ScaleNone
	return d, nil
}

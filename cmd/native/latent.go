package main

import (
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// readLatent reads a latent for a model, and what is known of the clip: what
// the latent's metadata says, and whether its frames are pictures, where f
// doesn't say.
func (a *app) readLatent(path string, c vae.Config, f framesFlag) (latent.Latent, latent.Original, error) {
	l, err := media.ReadLatent(path, c.Latent)
	if err != nil {
		return latent.Latent{}, latent.Original{}, err
	}
	was, warnings, err := media.Original(path, l, c.Spatial, c.Temporal)
	if err != nil {
		return latent.Latent{}, latent.Original{}, err
	}
	for _, w := range warnings {
		a.warn("%s", w)
	}
	images := was.Images
	if was.Scale == "" { // not by tessera, which would have said so
		images = images || c.Independent
	}
	if images = f.or(images); images != was.Images {
		was.Images, was.Frames = images, 0
	}
	return l, was, nil
}

// scaleOf is the scale to decode with: the flag's, else the metadata's, else
// that of the program that wrote the file.
func (a *app) scaleOf(path string, f scaleFlag, was latent.Original, c vae.Config) string {
	scale := f.or(was.Scale, was.ComfyUI, c)
	if was.ComfyUI && f.Scale == "default" && scale == latent.ScaleNone {
		a.note("%s: by ComfyUI, so the numbers are the model's own (--scale none)", path)
	}
	if was.Scale != "" && was.Scale != scale {
		a.warn("%s: was written with --scale %s, decoding with --scale %s as asked", path, was.Scale, scale)
	}
	return scale
}

// metadata is what decoding needs to undo an encode.
func metadata(clip media.Clip, o encodeNumbers) map[string]string {
	h, w := clip.Size()
	was := latent.Original{Frames: clip.Frames(), Height: h, Width: w, FPS: clip.FPS(), Scale: o.scale, Images: o.independent}
	if o.moments {
		return was.Meta(latent.KindMoments)
	}
	return was.Meta(latent.KindLatent)
}

package main

import (
	"tessera/media"
	"tessera/vae"
)

// readLatent reads a latent for a model, and what its metadata says of the clip.
func (a *app) readLatent(path string, c vae.Config) (vae.Latent, media.Original, error) {
	l, err := media.ReadLatent(path, c.Latent)
	if err != nil {
		return vae.Latent{}, media.Original{}, err
	}
	was, warnings, err := l.Original(path, c.Spatial, c.Temporal)
	if err != nil {
		return vae.Latent{}, media.Original{}, err
	}
	for _, w := range warnings {
		a.warn("%s", w)
	}
	return vae.Latent{Channels: l.Channels, Frames: l.Frames, Height: l.Height, Width: l.Width, Data: l.Data}, was, nil
}

// scaleOf is the scale to decode with: the flag's, else the metadata's.
func (a *app) scaleOf(path string, f scaleFlag, was media.Original) string {
	scale := f.or(was.Scale)
	if was.Scale != "" && was.Scale != scale {
		a.warn("%s: was written with --scale %s, decoding with --scale %s as asked", path, was.Scale, scale)
	}
	return scale
}

// metadata is what decoding needs to undo an encode.
func metadata(clip media.Clip, o encodeNumbers) map[string]string {
	h, w := clip.Size()
	was := media.Original{Frames: clip.Frames(), Height: h, Width: w, FPS: clip.FPS(), Scale: o.scale}
	if o.moments {
		return was.Meta(media.KindMoments)
	}
	return was.Meta(media.KindLatent)
}

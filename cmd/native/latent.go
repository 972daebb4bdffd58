package main

import (
	"strconv"

	"tessera/media"
	"tessera/vae"
)

// original is what a latent's metadata tells of the clip it was made of; zero
// where it tells nothing.
type original struct {
	frames, height, width int
	fps                   media.Rational
	scale                 string // media.ScalePipeline or ScaleNone
}

// readLatent reads a latent for a model, and what its metadata says. What does
// not fit the latent is ignored with a warning: it may have been cut or resized
// by a tool that kept the metadata.
func (a *app) readLatent(path string, c vae.Config) (vae.Latent, original, error) {
	l, err := media.ReadLatent(path, c.Latent)
	if err != nil {
		return vae.Latent{}, original{}, err
	}
	z := vae.Latent{Channels: l.Channels, Frames: l.Frames, Height: l.Height, Width: l.Width, Data: l.Data}
	if kind := l.Meta[media.MetaKind]; kind != "" && kind != media.KindLatent {
		return z, original{}, badInput("%s: holds %s, expected a latent", path, kind)
	}
	o := original{scale: l.Meta[media.MetaScale]}
	switch o.scale {
	case "", media.ScalePipeline, media.ScaleNone:
	default:
		return z, o, badInput("%s: metadata %s is %q, expected %s or %s", path, media.MetaScale, o.scale, media.ScalePipeline, media.ScaleNone)
	}
	numbers := map[string]*int{media.MetaFrames: &o.frames, media.MetaHeight: &o.height, media.MetaWidth: &o.width}
	for key, n := range numbers {
		text, ok := l.Meta[key]
		if !ok {
			continue
		}
		if *n, err = strconv.Atoi(text); err != nil || *n < 1 {
			return z, o, badInput("%s: metadata %s is %q, expected a positive number", path, key, text)
		}
	}
	if text := l.Meta[media.MetaFPS]; text != "" {
		if o.fps, err = media.ParseRational(text); err != nil {
			return z, o, badInput("%s: metadata %s: %w", path, media.MetaFPS, err)
		}
	}
	a.reconcile(path, z, c, &o)
	return z, o, nil
}

// reconcile drops sizes that the latent can't have been padded from.
func (a *app) reconcile(path string, z vae.Latent, c vae.Config, o *original) {
	frames, height, width := 1+(z.Frames-1)*c.Temporal, z.Height*c.Spatial, z.Width*c.Spatial
	fits := func(n, all, step int) bool { return n == 0 || n <= all && n > all-step }
	if !fits(o.frames, frames, c.Temporal) {
		a.warn("%s: metadata says %d frames, the latent has %d: the metadata is ignored", path, o.frames, frames)
		o.frames = 0
	}
	if !fits(o.height, height, c.Spatial) || !fits(o.width, width, c.Spatial) {
		a.warn("%s: metadata says %dx%d pixels, the latent has %dx%d: the metadata is ignored", path, o.height, o.width, height, width)
		o.height, o.width = 0, 0
	}
}

// scaleOf is the scale to decode with: the flag's, else the metadata's.
func (a *app) scaleOf(path string, f scaleFlag, o original) string {
	scale := f.or(o.scale)
	if o.scale != "" && o.scale != scale {
		a.warn("%s: was written with --scale %s, decoding with --scale %s as asked", path, o.scale, scale)
	}
	return scale
}

// metadata is what decoding needs to undo an encode.
func metadata(clip media.Clip, o encodeNumbers) map[string]string {
	h, w := clip.Size()
	m := map[string]string{
		media.MetaFrames: strconv.Itoa(clip.Frames()),
		media.MetaHeight: strconv.Itoa(h),
		media.MetaWidth:  strconv.Itoa(w),
		media.MetaKind:   media.KindLatent,
		media.MetaScale:  o.scale,
	}
	if o.moments {
		m[media.MetaKind] = media.KindMoments
	}
	if clip.FPS().Known() {
		m[media.MetaFPS] = clip.FPS().String()
	}
	return m
}

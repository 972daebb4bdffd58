package job

import (
	"tessera/tiling"
	"tessera/vae"
)

// Preview returns the same decode with tiny, a tiny autoencoder for the model of d: it
// decodes the whole clip at the same size in a fraction of the time, to 8-bit frames. Its
// clip has the number of frames that tiny makes, which may differ from the model's.
// Preview sets tiny to decode latents of that model. If tiny is for another model, the
// error says which.
func (d Decoding) Preview(of vae.Config, tiny *vae.Model) (Decoding, error) {
	of, err := of.As(d.Options.As)
	if err != nil {
		return d, err
	}
	if tiny.Config, err = tiny.Config.StandInFor(of); err != nil {
		return d, err
	}
	cut, err := Choices{Tile: &tiling.Choice{Auto: true}, Budget: d.Options.Budget, Host: d.Options.Host}.Options()
	if err != nil {
		return d, err
	}
	cut.Independent, cut.Unscaled, cut.Internals.Spool = d.Options.Independent, d.Options.Unscaled, d.Options.Internals.Spool
	d.Options.Options, d.Options.RGBA8, d.Options.Preview = cut, true, false
	whole := tiny.Config.Decoding().Frames(d.Latent.Frames, d.Options.Independent)
	if d.Clip.Frames == d.Whole {
		d.Clip.Frames = whole
	}
	d.Whole, d.Clip.Frames = whole, min(d.Clip.Frames, whole)
	d.Options.Frames, d.Clip.Channels = d.Clip.Frames, tiny.Config.Channels
	return d, nil
}

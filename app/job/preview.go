package job

import (
	"tessera/tiling"
	"tessera/vae"
)

// Preview is the same decode by tiny, a tiny autoencoder for the model of d: the whole
// clip at the same size in a fraction of the time, with 8-bit frames. Its clip has as many
// frames as tiny makes, which need not be those of the model. From then on tiny is for
// latents of that model. If tiny is for another model, the error says which.
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

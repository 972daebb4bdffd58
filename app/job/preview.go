package job

import (
	"tessera/tiling"
	"tessera/vae"
)

// Preview is the same decode by another model, a tiny autoencoder that stands for the
// one that d is of: the whole clip, in the same size, in a fraction of the time. Its
// frames are of 8 bits. From then on tiny is for latents of that model. Latents that tiny
// is not for are an error that says which it is for.
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
	d.Clip.Channels = tiny.Config.Channels
	return d, nil
}

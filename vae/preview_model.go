package vae

import (
	"cmp"
	"fmt"

	"tessera/latent"
)

// StandInFor returns the configuration of c as a substitute that decodes another model's
// latents, as a tiny autoencoder does for previews. It has the statistics of the other
// model, which made the latents. If the model of c is unknown, StandInFor assumes one
// that fits. If the models' latents differ, the error is an ErrBadModel.
func (c Config) StandInFor(of Config) (Config, error) {
	if err := c.Can("decode"); err != nil {
		return c, err
	}
	kinds := []string{""}
	if c.Assumed {
		kinds = append(kinds, c.Kinds()...)
	}
	for _, kind := range kinds {
		s, err := c.As(kind)
		if err != nil {
			return c, err
		}
		if s.latents() != of.latents() || s.Leaky != c.Leaky {
			continue
		}
		s.Mean, s.Scale, s.Packed, s.Assumed = of.Mean, of.Scale, of.Packed, false
		return s, nil
	}
	return c, &badModel{fmt.Errorf("vae: %s is %s, which decodes latents of %v, expected one for those of %s: %v", cmp.Or(c.File, "the checkpoint"), c.Model, c.latents(), cmp.Or(of.File, "the model"), of.latents())}
}

// latents describes a model's latents and what they decode to.
type latents struct {
	of                     latent.Checkpoint // its family and model; for a tiny autoencoder those of its VAE
	channels, side, frames int
	cycle                  int
}

func (c *Config) latents() latents {
	return latents{standsFor(latent.Checkpoint{Family: c.Family, Model: c.Model}), c.Latent, c.Decoded(), c.Temporal, c.Cycle}
}

func (l latents) String() string {
	return fmt.Sprintf("%s (%d latent channels, cells of %dx%[3]d pixels, %d frames in a latent frame)", l.of.Model, l.channels, l.side, l.frames)
}

package media

import (
	"slices"

	"tessera/format"
	"tessera/latent"
)

// trainerOf returns the trainer whose cache a file of tensors is, with its metadata; nil
// if it is not a cache. musubi-tuner's (src/musubi_tuner/dataset) and ai-toolkit's
// (toolkit/dataloader_mixins.py, get_latent_info_dict) name the model in their metadata.
// OneTrainer's have no metadata, and hold the VAE's mean (modules/dataLoader), for every
// model; its training scales them later.
func trainerOf(f format.File, meta map[string]string) *latent.Trainer {
	t := &latent.Trainer{Name: "musubi-tuner", Model: meta["architecture"]}
	sized := func(name string) bool { return (picker{}).sized(name, cacheKey) }
	marked := meta["format_version"] != "" || slices.ContainsFunc(f.Names(), sized)
	if t.Model == "" {
		t.Name, t.Model, marked = "ai-toolkit", meta["latent_space_version"], meta["latent_version"] != ""
	}
	if t.Model != "" && marked {
		return t
	}
	if _, ok := f.Tensor(oneTrainerKey); ok {
		return &latent.Trainer{Name: "OneTrainer", Unscaled: true}
	}
	return nil
}

// placesFirst reports whether a cache's channels are ordered by a cell's place in its
// square of 2x2, then by channel, as Ideogram 4's
// (src/musubi_tuner/ideogram4/ideogram4_autoencoder.py). In others the channel comes
// first.
func placesFirst(t *latent.Trainer) bool {
	return t != nil && t.Name == "musubi-tuner" && t.Model == "ideogram4"
}

package media

import (
	"slices"

	"tessera/format"
	"tessera/latent"
)

// trainerOf is the trainer whose cache a file of tensors is, with its metadata; nil
// where it is none. musubi-tuner's (src/musubi_tuner/dataset) and ai-toolkit's
// (toolkit/dataloader_mixins.py, get_latent_info_dict) say the model in their metadata.
// OneTrainer's have none, and hold the VAE's mean (modules/dataLoader), of every model,
// which its training scales later.
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

// placesFirst is whether channels of a cache are a cell's place in its square of 2x2, then
// the channel, as Ideogram 4 has them (src/musubi_tuner/ideogram4/ideogram4_autoencoder.py).
// With others the channel is first.
func placesFirst(t *latent.Trainer) bool {
	return t != nil && t.Name == "musubi-tuner" && t.Model == "ideogram4"
}

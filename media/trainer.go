package media

import (
	"tessera/format"
	"tessera/latent"
)

// trainerMarks are the trainers that are told by two keys of their caches' metadata, of
// which the first has the model: musubi-tuner (src/musubi_tuner/dataset) and ai-toolkit
// (toolkit/dataloader_mixins.py, get_latent_info_dict).
var trainerMarks = []struct{ trainer, model, mark string }{
	{"musubi-tuner", "architecture", "format_version"},
	{"ai-toolkit", "latent_space_version", "latent_version"},
}

// trainerOf is the trainer whose cache a file of tensors is, with its metadata; zero
// where it is none. OneTrainer's have no metadata and hold the VAE's mean
// (modules/dataLoader/QwenBaseDataLoader.py), which its training scales later.
func trainerOf(f format.File, meta map[string]string) latent.Trainer {
	for _, m := range trainerMarks {
		if meta[m.model] != "" && meta[m.mark] != "" {
			return latent.Trainer{Name: m.trainer, Model: meta[m.model]}
		}
	}
	if _, ok := f.Tensor(oneTrainerKey); ok {
		return latent.Trainer{Name: "OneTrainer", Unscaled: true}
	}
	return latent.Trainer{}
}

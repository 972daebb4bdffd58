package media

import "tessera/latent"

// Original reads, from the metadata of the latent in the file called name, what clip it
// was made of; see latent.Latent.Original. Warnings and errors contain the file's name,
// and an error is an ErrInput.
func Original(name string, l latent.Latent, spatial, grid, temporal, cycle, batch int) (latent.Original, []string, error) {
	o, warnings, err := l.Original(spatial, grid, temporal, cycle, batch)
	if err != nil {
		return o, nil, badInput(name, err)
	}
	for i, w := range warnings {
		warnings[i] = name + ": " + w
	}
	return o, warnings, nil
}

package vae

import (
	"fmt"

	"tessera/format"
	"tessera/format/known"
	"tessera/format/quote"
)

// refuseOther returns an error that names a file of another model: one that the family
// `like` would accept, or, if like is "", any.
func refuseOther(f format.File, like string) error {
	if k, tensor := known.ByTensors(format.Shapes{File: f}, like); tensor != "" {
		return unknown(f, k.Mistake("a VAE", quote.Text(tensor)))
	}
	if name := known.Latent(format.Shapes{File: f}); like == "" && name != "" {
		return unknown(f, &known.Mistake{
			Is:     fmt.Sprintf("is a latent of shape %v, expected a checkpoint", format.Shapes{File: f}.Shape(name)),
			Do:     "give it as the input, and a checkpoint with -m: `tessera models` lists the known ones",
			Detail: "recognised by the tensor " + quote.Text(name),
		})
	}
	return nil
}

// unknown returns an ErrUnknownModel that says what a file is.
func unknown(f format.File, m *known.Mistake) error {
	m.Err = errNoFamily
	return fmt.Errorf("vae: %s: %w", f.Name(), m)
}

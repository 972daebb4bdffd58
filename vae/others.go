package vae

import (
	"fmt"

	"tessera/format"
	"tessera/format/known"
	"tessera/format/quote"
)

// tensorsOf are a file's tensors as package known reads them.
type tensorsOf struct{ format.File }

// Shape of a tensor, nil where there is none.
func (t tensorsOf) Shape(name string) []int {
	x, _ := t.Tensor(name)
	return x.Shape
}

// refuseOther is an error that names a file of another model: of those that the family
// `like` would take or, where it is "", of all.
func refuseOther(f format.File, like string) error {
	if k, tensor := known.ByTensors(tensorsOf{f}, like); tensor != "" {
		return unknown(f, k.Mistake("a VAE", quote.Text(tensor)))
	}
	if name := known.Latent(tensorsOf{f}); like == "" && name != "" {
		return unknown(f, &known.Mistake{
			Is:     fmt.Sprintf("is a latent of shape %v, expected a checkpoint", tensorsOf{f}.Shape(name)),
			Do:     "give it as the input, and a checkpoint with -m: `tessera models` lists the known ones",
			Detail: "told by the tensor " + quote.Text(name),
		})
	}
	return nil
}

// unknown is an ErrUnknownModel that says what a file is.
func unknown(f format.File, m *known.Mistake) error {
	m.Err = errNoFamily
	return fmt.Errorf("vae: %s: %w", f.Name(), m)
}

//go:build !js

package media

import (
	"fmt"
	"maps"

	"tessera/format/safetensors"
	"tessera/latent"
)

// WriteLatentAs is WriteLatent to .safetensors with another tensor name and type, for
// other programs.
func WriteLatentAs(path, key string, dtype safetensors.DType, l latent.Latent) error {
	if err := checkLatent(l); err != nil {
		return fmt.Errorf("media: %s: %w", path, err)
	}
	specs := []safetensors.Spec{{Name: key, DType: dtype, Shape: l.Shape()}}
	header, data, err := safetensors.Size(specs, l.Meta)
	if err != nil {
		return fmt.Errorf("media: %s: %w", path, err)
	}
	p, err := createPending(path, 8+header+data)
	if err != nil {
		return err
	}
	w, err := safetensors.NewWriter(p, specs, maps.Clone(l.Meta))
	if err != nil {
		return p.discard(err)
	}
	for _, write := range []func() error{
		func() error { return w.Begin(key) },
		func() error { return w.WriteF32(l.Data) },
		w.Close,
	} {
		if err := write(); err != nil {
			return p.discard(err)
		}
	}
	return p.commit()
}

package media

import (
	"errors"

	"tessera/format/safetensors"
)

// The page asks for no layout, and its videos are no arrays: both would be 8 kB of its
// engine.

func named([]int, LatentOptions) (layout, error) {
	return layout{}, errors.New("a layout is for the program only")
}

func foldedHint([]int, bool) string { return "" }

func several(_ []string, err error) error { return err }

// another: OneTrainer's latents of other models are read in a page, which asks whose they
// are where their numbers are odd.
func (a *array) another(LatentOptions) error { return nil }

func (a *array) otherwise(_ LatentOptions, err error) error { return err }

func codes(t safetensors.Tensor) func([]float32, int) error { return t.ReadF32 }

package vae

import (
	"fmt"
	"slices"
	"strings"

	"tessera/format"
	"tessera/format/quote"
	"tessera/format/safetensors"
)

// inside is the part of a file whose tensors' names have a prefix; it finds them without
// the prefix. Examples are a VAE in a whole pipeline's checkpoint ("vae.",
// "first_stage_model."), or one that a trainer saved with its wrappers ("module.",
// "_orig_mod.").
type inside struct {
	format.File
	prefix string
}

// Names returns the names that have the prefix, without it.
func (i inside) Names() []string {
	var names []string
	for _, name := range i.File.Names() {
		if rest, ok := strings.CutPrefix(name, i.prefix); ok {
			names = append(names, rest)
		}
	}
	return names
}

// Tensor finds a tensor, whose Name stays the file's.
func (i inside) Tensor(name string) (safetensors.Tensor, bool) { return i.File.Tensor(i.prefix + name) }

// unprefixed returns the part of a file with a family's tensors: the file itself if it
// has them directly, or has none. Encoders' tensors count if there is no decoder.
func unprefixed(f format.File) (format.File, error) {
	var prefixes []string
	names := f.Names()
	for _, fam := range families {
		for _, tensor := range fam.marks {
			prefixes = before(prefixes, names, tensor)
		}
	}
	if len(prefixes) == 0 {
		for _, fam := range families {
			for _, tensor := range fam.encoders {
				prefixes = before(prefixes, names, tensor)
			}
		}
	}
	switch {
	case len(prefixes) == 0 || slices.Contains(prefixes, ""):
		return f, nil
	case len(prefixes) > 1:
		return f, fmt.Errorf("vae: %s: %w: it has %d VAEs, with the prefixes %s, expected one", f.Name(), ErrUnknownModel, len(prefixes), quote.List(prefixes, " and "))
	}
	return inside{f, prefixes[0]}, nil
}

// before appends the text that names have before a tensor's name.
func before(prefixes, names []string, tensor string) []string {
	for _, name := range names {
		prefix, ok := strings.CutSuffix(name, tensor)
		if ok && (prefix == "" || strings.HasSuffix(prefix, ".")) && !slices.Contains(prefixes, prefix) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

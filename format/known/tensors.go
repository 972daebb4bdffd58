//go:build !first

package known

import (
	"fmt"
	"slices"
	"strings"
)

// Kind describes a file that is not a checkpoint for any family.
type Kind struct {
	Is string // follows "is" in messages

	takes  string // names of the checkpoints of its pipeline's VAE, separated by spaces; "" if there are many
	unread bool   // a VAE that no family supports, or its diffusion model

	// tensors are prefixes of names, possibly after another prefix; * stands for any
	// characters. One that begins with a dot may be anywhere in a name. If like is set,
	// the kind applies only to files that the family `like` recognises.
	tensors []string
	shape   []int  // of such a tensor; 0 is any size, nil any shape
	like    string // the family that would otherwise read the file, wrongly
}

// ByTensors returns the first kind that has a tensor of f, and that tensor, "" if none
// has. It searches the kinds that the family `like` would read or, if like is "", all.
func ByTensors(f Tensors, like string) (k Kind, tensor string) {
	names := f.Names()
	for _, k := range kinds {
		if like != "" && k.like != like {
			continue
		}
		for _, name := range names {
			if slices.ContainsFunc(k.tensors, func(part string) bool { return begins(name, part, like) }) && k.shaped(f.Shape(name)) {
				return k, name
			}
		}
	}
	return Kind{}, ""
}

// Latent returns the tensor of a file that contains a latent and no model, "" for other
// files.
func Latent(f Tensors) string {
	const most = 16 // tensors that a trainer stores beside a latent
	names := f.Names()
	if len(names) > most {
		return ""
	}
	for _, name := range names {
		first, size, sized := strings.Cut(name, "_")
		exact := slices.Contains([]string{"latent", "latents", "samples", "latent_tensor", "latent_image", "parameters", "moments"}, name)
		trainers := sized && first == "latents" && size != "" && size[0] >= '0' && size[0] <= '9'
		if n := len(f.Shape(name)); (exact || trainers) && (n >= 3 && n <= 5) {
			return name
		}
	}
	return ""
}

// Mistake describes a file that a tensor identifies as k, instead of the expected kind.
func (k Kind) Mistake(expected, tensor string) *Mistake {
	m := &Mistake{Is: "is " + k.Is + ", expected " + expected, Do: k.advice()}
	if k.unread {
		m.Is = "is " + k.Is + ", which Tessera does not read"
	}
	if tensor != "" {
		m.Detail = "recognised by the tensor " + tensor
	}
	return m
}

// advice says which file is meant, and where to find it.
func (k Kind) advice() string {
	var of []Checkpoint
	for name := range strings.FieldsSeq(k.takes) {
		if c, ok := Find(name); ok {
			of = append(of, c)
		}
	}
	switch {
	case k.unread:
		return "`tessera models` lists the VAEs that it reads"
	case len(of) == 0:
		return "take the VAE of its pipeline: `tessera models` lists the known ones"
	case len(of) == 1:
		return "its VAE is " + of[0].told()
	}
	var all []string
	for _, c := range of {
		all = append(all, fmt.Sprintf("%s's is %s, %s: `tessera pull %s`", c.Model, c.Base(), c.Bytes(), c.Name))
	}
	return "take the VAE of its pipeline: " + strings.Join(all, "; ")
}

// begins reports whether a tensor's name, with or without a prefix, begins with an
// element of Kind.tensors.
func begins(name, part, like string) bool {
	if part[0] == '.' {
		return like != "" && strings.Contains(name, part)
	}
	first, rest, _ := strings.Cut(part, "*")
	if name == "" {
		return false
	}
	if after, ok := strings.CutPrefix(name, first); ok {
		return strings.Contains(after, rest)
	}
	for at := 1; ; at++ { // there may be many names, so this makes no strings
		i := strings.Index(name[at:], first)
		if i < 0 {
			return false
		}
		if at += i; name[at-1] == '.' {
			return strings.Contains(name[at+len(first):], rest)
		}
	}
}

// shaped reports whether a tensor's shape fits the kind.
func (k Kind) shaped(shape []int) bool {
	return k.shape == nil || slices.EqualFunc(shape, k.shape, func(n, want int) bool { return want == 0 || n == want })
}

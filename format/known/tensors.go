//go:build !first

package known

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what a file is that is no checkpoint which a family reads.
type Kind struct {
	Is string // reads behind "is"

	takes  string // names of the checkpoints of its pipeline's VAE, separated by spaces; "" where there are many
	unread bool   // a VAE that no family reads, or the diffusion model of one

	// tensors are beginnings of names, after a prefix or none; * stands for any characters.
	// One that begins with a dot is a part of a name. It says something only of files that
	// the family `like` recognises.
	tensors []string
	shape   []int  // of such a tensor, where 0 is any size; nil: any shape
	like    string // the family that would otherwise take the file, and read it wrongly
}

// ByTensors is the first kind that has a tensor of f, and that tensor, "" for none: of the
// kinds that a family would take or, where like is "", of all.
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

// Latent is the tensor of a file that holds a latent and no model, "" for none.
func Latent(f Tensors) string {
	const most = 16 // that a trainer keeps beside a latent
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

// Mistake of a file that a tensor tells to be k, where another kind was expected.
func (k Kind) Mistake(expected, tensor string) *Mistake {
	m := &Mistake{Is: "is " + k.Is + ", expected " + expected, Do: k.advice()}
	if k.unread {
		m.Is = "is " + k.Is + ", which Tessera does not read"
	}
	if tensor != "" {
		m.Detail = "told by the tensor " + tensor
	}
	return m
}

// advice is which file is meant, and where it is.
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

// begins tells whether a tensor's name, or what a prefix leaves of it, begins with a part
// of Kind.tensors.
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
	for at := 1; ; at++ { // names may be many: no string is made for one
		i := strings.Index(name[at:], first)
		if i < 0 {
			return false
		}
		if at += i; name[at-1] == '.' {
			return strings.Contains(name[at+len(first):], rest)
		}
	}
}

// shaped tells whether a tensor has the shape of the kind's.
func (k Kind) shaped(shape []int) bool {
	return k.shape == nil || slices.EqualFunc(shape, k.shape, func(n, want int) bool { return want == 0 || n == want })
}

package pth

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nlpodyssey/gopickle/types"

	"tessera/format/quote"
	"tessera/format/safetensors"
)

// named is an entry of a state_dict.
type named struct {
	name   string
	tensor *tensor
}

// alone is the name of a tensor that was saved alone.
const alone = "tensor"

// stateDict finds the tensors in a pickle's value: a dict of them, a dict that contains
// such a dict, or a single tensor. items is everything beside them in the dict.
func stateDict(root any) (list []named, items []types.DictEntry, err error) {
	if t, ok := root.(*tensor); ok {
		return []named{{alone, t}}, nil, nil
	}
	items, ok := dict(root)
	if !ok {
		return nil, nil, fmt.Errorf("it holds %s, expected a dict of tensors: %s of the model's state_dict", kind(root), resave)
	}
	where := "the dict"
	for range maxWrappers {
		if slices.ContainsFunc(items, isTensor) {
			break
		}
		key, inner, err := unwrap(items)
		if err != nil {
			return nil, nil, err
		}
		if inner == nil {
			break
		}
		where, items = key, inner
	}
	list, err = tensors(where, items)
	return list, items, err
}

// numbers returns the integers among a dict's items, such as a latent's size.
func numbers(items []types.DictEntry) map[string]string {
	all := map[string]string{}
	for _, e := range items {
		if name, ok := e.Key.(string); ok {
			if n, ok := e.Value.(int); ok {
				all[name] = strconv.Itoa(n)
			}
		}
	}
	return all
}

func isTensor(e types.DictEntry) bool {
	_, ok := e.Value.(*tensor)
	return ok
}

// maxWrappers limits the nesting of dicts around a state_dict.
const maxWrappers = 4

// unwrap finds the dict that a training program stored beside its other entries, nil
// without one: one with a usual name, else the only one that has tensors; if several
// have, the one named after a VAE, or after the generator of an adversarial training.
func unwrap(items []types.DictEntry) (key string, inner []types.DictEntry, err error) {
	var found []string
	for _, accept := range []func(key string, d []types.DictEntry) bool{
		func(key string, _ []types.DictEntry) bool {
			return slices.Contains([]string{"state_dict", "model", "module"}, key)
		},
		func(key string, d []types.DictEntry) bool {
			return slices.Contains([]string{"vae", "first_stage_model", "gen_model", "generator"}, key) && holds(d, maxWrappers)
		},
		func(_ string, d []types.DictEntry) bool { return holds(d, maxWrappers) },
	} {
		for _, e := range items {
			key, _ := e.Key.(string)
			if d, ok := dict(e.Value); ok && key != "" && accept(key, d) {
				found, inner = append(found, key), d
			}
		}
		if len(found) == 1 {
			return found[0], inner, nil
		}
		if len(found) > 1 {
			return "", nil, fmt.Errorf("it holds the dicts %s, expected one of them", quote.List(found, " and "))
		}
	}
	return "", nil, nil
}

// holds reports whether a dict has named tensors, or named dicts that do.
func holds(items []types.DictEntry, depth int) bool {
	return slices.ContainsFunc(items, func(e types.DictEntry) bool {
		if _, named := e.Key.(string); !named {
			return false
		}
		inner, ok := dict(e.Value)
		return isTensor(e) || ok && depth > 0 && holds(inner, depth-1)
	})
}

func dict(v any) ([]types.DictEntry, bool) {
	switch v := v.(type) {
	case *types.Dict:
		return *v, true
	case *ordered:
		return v.Dict, true
	}
	return nil, false
}

// tensors returns a dict's tensors, each name once. It skips other values, such as a
// latent's prompt; a dict of only such values is not a state_dict.
func tensors(where string, items []types.DictEntry) ([]named, error) {
	list := make([]named, 0, len(items))
	seen := make(map[string]bool, len(items))
	some := slices.ContainsFunc(items, isTensor)
	for _, e := range items {
		if some && !isTensor(e) {
			continue
		}
		name, ok := e.Key.(string)
		if !ok {
			return nil, fmt.Errorf("%s has the key %s, expected names of tensors", where, kind(e.Key))
		}
		t, ok := e.Value.(*tensor)
		if !ok {
			return nil, fmt.Errorf("%s has %s for %s, expected tensors only: %s of the model's state_dict",
				where, kind(e.Value), quote.Name(name), resave)
		}
		if seen[name] {
			return nil, fmt.Errorf("%s has the tensor %s twice", where, quote.Name(name))
		}
		seen[name] = true
		list = append(list, named{name, t})
	}
	return list, nil
}

// place checks a tensor against its storage and finds its bytes.
func (f *File) place(a *archive, name string, t *tensor) (safetensors.Tensor, error) {
	where := "pth: " + f.name
	// The offset is 0 for now: the shape is checked before it is used.
	view, err := safetensors.NewTensor(where, name, t.storage.dtype, t.shape, (*current)(f), 0)
	if err != nil {
		return view, err
	}
	begin, err := a.locate(t.storage)
	if err != nil {
		return view, fmt.Errorf("storage data/%s: %w", clip(t.storage.key), err)
	}
	if n, most := view.Elements(), t.storage.elements; t.offset < 0 || t.offset > most || n > most-t.offset {
		return view, fmt.Errorf("shape %v from element %d on, but storage data/%s has %d", t.shape, t.offset, clip(t.storage.key), most)
	}
	if want, ok := contiguous(t.shape, t.stride); !ok {
		return view, fmt.Errorf("shape %v has strides %v, expected %v: %s after .contiguous()", t.shape, t.stride, want, resave)
	}
	begin += int64(t.offset) * int64(t.storage.dtype.Bits()/8)
	return safetensors.NewTensor(where, name, t.storage.dtype, t.shape, (*current)(f), begin)
}

// locate returns where a storage's bytes begin.
func (a *archive) locate(s *storage) (int64, error) {
	z, ok := a.entries[a.prefix+"data/"+s.key]
	if !ok {
		return 0, errors.New("is missing from the zip")
	}
	begin, err := a.offset(z)
	if err != nil {
		return 0, err
	}
	size := int64(s.dtype.Bits() / 8)
	if n := int64(s.elements); n < 0 || n > z.size/size || n*size != z.size {
		return 0, fmt.Errorf("has %d bytes, expected %d elements of %d", z.size, s.elements, size)
	}
	return begin, nil
}

// contiguous compares strides with those of contiguous rows. A dimension of 1, and a
// tensor without elements, may have any stride.
func contiguous(shape, stride []int) (want []int, ok bool) {
	want = make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		want[i] = n
		n *= shape[i]
	}
	if len(stride) != len(shape) {
		return want, false
	}
	for i, d := range shape {
		if n != 0 && d != 1 && stride[i] != want[i] {
			return want, false
		}
	}
	return want, true
}

// clip shortens a long key.
func clip(key string) string {
	q := quote.Name(key)
	if len(q) == len(key)+2 {
		return key
	}
	return q
}

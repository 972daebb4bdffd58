package pth

import (
	"fmt"
	"strings"

	"github.com/nlpodyssey/gopickle/types"

	"tessera/format/quote"
	"tessera/format/safetensors"
)

// known returns the value of a global, nil for globals that are not on this list.
func known(global string) any {
	module, name, _ := strings.Cut(global, "\n")
	switch module {
	case "collections":
		if name == "OrderedDict" {
			return &orderedDict{}
		}
	case "torch._utils":
		switch name {
		case "_rebuild_tensor_v2":
			return &rebuildTensor{"_rebuild_tensor_v2"}
		case "_rebuild_tensor_v3":
			return &rebuildTensor{"_rebuild_tensor_v3"}
		case "_rebuild_parameter":
			return &rebuildParameter{}
		}
	case "torch.storage":
		if name == "UntypedStorage" {
			return untyped
		}
	case "torch":
		if d, ok := storageType(name); ok {
			return d
		}
		if d, ok := elementTypes[name]; ok {
			return d
		}
	}
	return nil
}

// untyped is the type of byte storages, whose tensors have types.
const untyped = safetensors.U8

// elementType is torch's object for a type of elements.
type elementType safetensors.DType

// elementTypes are the types for which torch has no storage class.
var elementTypes = map[string]elementType{
	"float8_e4m3fn":   elementType(safetensors.F8E4M3),
	"float8_e4m3fnuz": elementType(safetensors.F8E4M3FNUZ),
	"float8_e5m2":     elementType(safetensors.F8E5M2),
	"float8_e5m2fnuz": elementType(safetensors.F8E5M2FNUZ),
	"float8_e8m0fnu":  elementType(safetensors.F8E8M0),
	"uint16":          elementType(safetensors.U16),
	"uint32":          elementType(safetensors.U32),
	"uint64":          elementType(safetensors.U64),
}

// storageType returns the element type of a storage class.
func storageType(class string) (safetensors.DType, bool) {
	switch class {
	case "FloatStorage":
		return safetensors.F32, true
	case "HalfStorage":
		return safetensors.F16, true
	case "BFloat16Storage":
		return safetensors.BF16, true
	case "DoubleStorage":
		return safetensors.F64, true
	case "LongStorage":
		return safetensors.I64, true
	case "IntStorage":
		return safetensors.I32, true
	case "ShortStorage":
		return safetensors.I16, true
	case "CharStorage":
		return safetensors.I8, true
	case "ByteStorage":
		return safetensors.U8, true
	case "BoolStorage":
		return safetensors.BOOL, true
	}
	return "", false
}

// Callable values.
var (
	_ types.Callable = &orderedDict{}
	_ types.Callable = &rebuildTensor{}
	_ types.Callable = &rebuildParameter{}
)

// orderedDict is the class collections.OrderedDict.
type orderedDict struct{}

// Call returns an empty dict.
func (*orderedDict) Call(args ...any) (any, error) {
	if len(args) != 0 {
		return nil, fmt.Errorf("OrderedDict is called with %d arguments, expected 0", len(args))
	}
	return &ordered{}, nil
}

// ordered is an OrderedDict: a dict that may have attributes, such as the _metadata of a
// state_dict. They are dropped.
type ordered struct{ types.Dict }

func (*ordered) PySetState(any) error { return nil }

// storage is a storage by persistent id: an entry of the zip.
type storage struct {
	dtype    safetensors.DType
	key      string
	elements int
}

// loadStorage returns the storage of a persistent id.
func loadStorage(id any) (any, error) {
	t, ok := id.(*types.Tuple)
	if !ok || t.Len() != 5 || t.Get(0) != "storage" {
		return nil, fmt.Errorf("persistent id is %s, expected a tuple ('storage', type, key, location, elements)", kind(id))
	}
	dtype, ok1 := t.Get(1).(safetensors.DType)
	key, ok2 := t.Get(2).(string)
	_, ok3 := t.Get(3).(string)
	n, ok4 := t.Get(4).(int)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return nil, fmt.Errorf("persistent id has %s, expected ('storage', type, key, location, elements)", kinds(*t))
	}
	return &storage{dtype, key, n}, nil
}

// tensor is a view of a storage. Only its types are checked yet.
type tensor struct {
	storage *storage
	offset  int // in elements, like the strides
	shape   []int
	stride  []int
}

// maxRank is PyTorch's limit.
const maxRank = 64

// rebuildTensor is torch._utils._rebuild_tensor_v2, or _rebuild_tensor_v3, whose storages
// have no type.
type rebuildTensor struct{ name string }

// Call accepts storage, offset, size, stride, requires_grad and hooks, for v3 the type of
// elements, and optionally metadata.
func (r *rebuildTensor) Call(args ...any) (any, error) {
	least := 6
	if r.name == "_rebuild_tensor_v3" {
		least = 7
	}
	if len(args) != least && len(args) != least+1 {
		return nil, fmt.Errorf("%s is called with %d arguments, expected %d or %d", r.name, len(args), least, least+1)
	}
	s, ok1 := args[0].(*storage)
	offset, ok2 := args[1].(int)
	shape, ok3 := integers(args[2])
	stride, ok4 := integers(args[3])
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return nil, fmt.Errorf("%s is called with %s, expected a storage, an offset and "+
			"two tuples of at most %d integers", r.name, kinds(args[:4]), maxRank)
	}
	if least == 7 {
		d, ok := args[6].(elementType)
		if !ok || s.dtype != untyped {
			return nil, fmt.Errorf("%s is called with %s, expected an untyped storage and a type of elements", r.name, kinds(args))
		}
		dtype := safetensors.DType(d)
		s = &storage{dtype, s.key, s.elements / (dtype.Bits() / 8)} // placing it reports a wrong length
	}
	return &tensor{s, offset, shape, stride}, nil
}

func integers(v any) ([]int, bool) {
	t, ok := v.(*types.Tuple)
	if !ok || t.Len() > maxRank {
		return nil, false
	}
	list := make([]int, t.Len())
	for i := range list {
		if list[i], ok = t.Get(i).(int); !ok {
			return nil, false
		}
	}
	return list, true
}

// rebuildParameter is torch._utils._rebuild_parameter.
type rebuildParameter struct{}

// Call accepts a tensor, requires_grad and hooks.
func (*rebuildParameter) Call(args ...any) (any, error) {
	if len(args) == 3 {
		if t, ok := args[0].(*tensor); ok {
			return t, nil
		}
	}
	return nil, fmt.Errorf("_rebuild_parameter is called with %s, expected a tensor, requires_grad and hooks", kinds(args))
}

// kind names a value's type in errors.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a boolean"
	case int:
		return fmt.Sprint(v)
	case float64:
		return "a float"
	case string:
		return "the string " + quote.Name(v)
	case *types.Dict, *ordered:
		return "a dict"
	case *types.List:
		return "a list"
	case *types.Tuple:
		return fmt.Sprintf("a tuple of %d", v.Len())
	case *tensor:
		return "a tensor"
	case *storage:
		return "a storage"
	}
	return "a class or function"
}

// kinds names several values' types in errors.
func kinds(list []any) string {
	const most = 8
	var all []string
	for i, v := range list {
		if i == most {
			all = append(all, fmt.Sprintf("%d more", len(list)-most))
			break
		}
		all = append(all, kind(v))
	}
	return "(" + strings.Join(all, ", ") + ")"
}

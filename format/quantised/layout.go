//go:build !js

package quantised

import (
	"encoding/json"
	"fmt"
	"strings"

	"tessera/format/quote"
	"tessera/format/safetensors"
)

// layout is how ComfyUI's files say that a layer is stored.
type layout struct {
	Format  string `json:"format"`
	Rotated bool   `json:"convrot"`
	Params  struct {
		Rotated bool `json:"convrot"`
	} `json:"params"`
}

// UnmarshalJSON reads an object, or the format alone.
func (l *layout) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &l.Format) == nil {
		return nil
	}
	type plain layout
	return json.Unmarshal(text, (*plain)(l))
}

// layouts are those of a file's layers by name.
type layouts map[string]layout

// layersOf reads a file's metadata _quantization_metadata. What is no such text says
// nothing.
func layersOf(text string) layouts {
	var all struct {
		Layers layouts `json:"layers"`
	}
	if json.Unmarshal([]byte(text), &all) != nil {
		return nil
	}
	return all.Layers
}

// of is a layer's, whose name some programs leave the beginning of out.
func (l layouts) of(base string) (layout, bool) {
	name := strings.TrimSuffix(base, ".")
	for more := len(l) > 0; more; _, name, more = strings.Cut(name, ".") {
		if layout, ok := l[name]; ok {
			return layout, true
		}
	}
	return layout{}, false
}

// maxLayout is more than any program writes for a layer.
const maxLayout = 4096

// readLayout reads a layer's .comfy_quant.
func readLayout(t safetensors.Tensor) layout {
	l := layout{Format: "unreadable " + t.Name}
	if t.Bytes() > maxLayout {
		return l
	}
	text := make([]byte, t.Bytes())
	if t.ReadRaw(text, 0) != nil || json.Unmarshal(text, &l) != nil {
		return layout{Format: "unreadable " + t.Name}
	}
	return l
}

// as takes a weight for what a layout says, or says why not.
func (w *weight) as(l layout) string {
	var elem safetensors.DType
	var types []safetensors.DType
	switch {
	case l.Rotated || l.Params.Rotated:
		return fmt.Sprintf("is quantised as %s after a rotation (convrot)", quote.Name(l.Format))
	case oneOf(l.Format, "float8_e4m3fn"):
		elem, types = safetensors.F8E4M3, []safetensors.DType{safetensors.F8E4M3, safetensors.U8}
	case oneOf(l.Format, "float8_e5m2"):
		elem, types = safetensors.F8E5M2, []safetensors.DType{safetensors.F8E5M2, safetensors.U8}
	case oneOf(l.Format, "int8"):
		elem, types = safetensors.I8, []safetensors.DType{safetensors.I8}
	default:
		return "is quantised as " + quote.Name(l.Format)
	}
	for _, d := range types {
		if w.from.DType == d {
			w.elem = elem
			return ""
		}
	}
	return fmt.Sprintf("is %s, and said to be quantised as %s", w.from.DType, quote.Name(l.Format))
}

// oneOf is whether a format is a type's, by whatever part of a tensor has a scale: the
// scales' shape says that.
func oneOf(format, elem string) bool {
	rest, ok := strings.CutPrefix(format, elem)
	switch rest {
	case "", "_tensorwise", "_axiswise", "_rowwise", "_blockwise":
		return ok
	}
	return false
}

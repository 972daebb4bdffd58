//go:build !js

package quantised

import (
	"encoding/json"
	"fmt"
	"strings"

	"tessera/format/quote"
	"tessera/format/safetensors"
)

// layout is ComfyUI's description of how a layer is stored.
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

// layouts are the descriptions of a file's layers, by name.
type layouts map[string]layout

// layersOf parses a file's metadata _quantization_metadata. It ignores other text.
func layersOf(text string) layouts {
	var all struct {
		Layers layouts `json:"layers"`
	}
	if json.Unmarshal([]byte(text), &all) != nil {
		return nil
	}
	return all.Layers
}

// of returns a layer's description. Some programs omit the beginning of the layer's name.
func (l layouts) of(base string) (layout, bool) {
	name := strings.TrimSuffix(base, ".")
	for more := len(l) > 0; more; _, name, more = strings.Cut(name, ".") {
		if layout, ok := l[name]; ok {
			return layout, true
		}
	}
	return layout{}, false
}

// maxLayout is the longest description of a layer; no program writes as much.
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

// as applies a layout to a weight, or says why it cannot.
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
	return fmt.Sprintf("is %s, but its metadata says %s", w.from.DType, quote.Name(l.Format))
}

// oneOf reports whether a format is a variant of a type; the variants differ in what part
// of a tensor has a scale, which the scales' shape shows.
func oneOf(format, elem string) bool {
	rest, ok := strings.CutPrefix(format, elem)
	switch rest {
	case "", "_tensorwise", "_axiswise", "_rowwise", "_blockwise":
		return ok
	}
	return false
}

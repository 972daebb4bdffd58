//go:build !js

// Package quantised reads weights that programs have stored in 8 bits as floats. It
// knows a weight by its element type and by the tensors beside it: scales, and markers
// that name the format.
//
// These layouts are read, with s for the scales and q for what is stored:
//
//   - ComfyUI's old one: NAME.scale_weight, and one marker scaled_fp8. musubi-tuner
//     writes scales of that name, and NAME.scale_weight_tensor that scales those.
//   - ComfyUI's new one: NAME.weight_scale, and NAME.comfy_quant, a JSON text such as
//     {"format": "float8_e4m3fn"}, or such for all layers in the file's metadata
//     _quantization_metadata. compressed-tensors has the scales alone, DeepSeek's files
//     call them NAME.weight_scale_inv.
//   - bitsandbytes' int8: NAME.SCB; w = q*s/127.
//   - optimum-quanto: NAME.weight._data and NAME.weight._scale.
//   - torchao: NAME._weight_qdata and NAME._weight_scale.
//
// Everywhere else w = q*s, with one scale for a tensor, for each output channel, or in
// matrices for each block. Other formats are refused by name, see File.Reason.
package quantised

import (
	"fmt"
	"slices"
	"strings"

	"tessera/format"
	"tessera/format/quote"
	"tessera/format/safetensors"
)

// File is a file whose quantised weights appear as F32. Scales and markers are not among
// its names.
type File struct {
	format.File
	names   []string
	weights map[string]safetensors.Tensor // these replace the file's tensors
	hidden  map[string]bool
	reasons map[string]string
	kinds   map[string]string
	layers  layouts  // from the file's metadata
	markers []string // prefixes of names that have a scaled_fp8
}

// Open returns a File for f; nil if no weight of f is quantised. It reads neither weights
// nor scales. Closing the File closes f.
func Open(f format.File) *File {
	if !slices.ContainsFunc(f.Names(), func(name string) bool {
		t, _ := f.Tensor(name)
		return eightBits(t.DType) || slices.ContainsFunc(scaleEnds, func(end string) bool { return strings.HasSuffix(name, end) })
	}) {
		return nil // quick exit: a header may have millions of names
	}
	q := &File{
		File: f, weights: map[string]safetensors.Tensor{}, hidden: map[string]bool{}, reasons: map[string]string{},
		kinds: map[string]string{}, layers: layersOf(f.Metadata()["_quantization_metadata"]),
	}
	for _, name := range f.Names() {
		if prefix, ok := strings.CutSuffix(name, "scaled_fp8"); ok && (prefix == "" || strings.HasSuffix(prefix, ".")) {
			q.markers, q.hidden[name] = append(q.markers, prefix), true
		}
	}
	for _, layers := range []bool{true, false} { // a layer's scales are not weights
		for _, name := range f.Names() {
			if _, base := stored(name); (base == "" || strings.HasSuffix(base, ".")) == layers && !q.hidden[name] {
				t, _ := f.Tensor(name)
				q.add(t)
			}
		}
	}
	if len(q.weights) == 0 && len(q.reasons) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, name := range f.Names() {
		weight, _ := stored(name)
		if !q.hidden[name] && !seen[weight] {
			q.names, seen[weight] = append(q.names, weight), true
		}
	}
	return q
}

// Names returns the weights' names and those of tensors that are not quantised.
func (q *File) Names() []string { return slices.Clone(q.names) }

// Tensor finds a tensor.
func (q *File) Tensor(name string) (safetensors.Tensor, bool) {
	if t, ok := q.weights[name]; ok {
		return t, true
	}
	if q.hidden[name] {
		return safetensors.Tensor{}, false
	}
	return q.File.Tensor(name)
}

// Reason returns why a weight cannot be read, "" if it can.
func (q *File) Reason(name string) string { return q.reasons[name] }

// Kind returns how a quantised weight is stored, "" for other tensors.
func (q *File) Kind(name string) string { return q.kinds[name] }

// stored returns the name of the weight that a tensor holds, and the prefix of its
// scales' names. For a layer's weight the prefix ends in a dot or is empty.
func stored(name string) (weight, base string) {
	if weight, ok := strings.CutSuffix(name, "._data"); ok { // optimum-quanto, which stores packed weights twice
		weight = strings.TrimSuffix(weight, "._data")
		return weight, weight + "."
	}
	if base, ok := strings.CutSuffix(name, "._weight_qdata"); ok { // torchao
		return base + ".weight", base + "."
	}
	return name, strings.TrimSuffix(name, "weight")
}

// Suffixes of the tensors beside a weight, after NAME. and for quanto also after
// NAME.weight.
var (
	scaleEnds  = []string{"scale_weight", "weight_scale", "weight_scale_inv", "SCB", "_weight_scale", "_scale"}
	ignoreEnds = []string{"input_scale", "scale_input", "output_scale"} // of activations
	refuseEnds = []struct{ end, is string }{
		{"weight.quant_state.bitsandbytes__nf4", "bitsandbytes' nf4"},
		{"weight.quant_state.bitsandbytes__fp4", "bitsandbytes' fp4"},
		{"weight.quant_map", "bitsandbytes' 4 bits"},
		{"weight.absmax", "bitsandbytes' 4 bits"},
		{"weight.nested_quant_map", "bitsandbytes' 4 bits"},
		{"weight.nested_absmax", "bitsandbytes' 4 bits"},
		{"weight_scale_2", "nvfp4, or another with scales of scales"},
		{"pre_quant_scale", "one that scales what a layer reads (pre_quant_scale)"},
		{"_shift", "optimum-quanto's with shifts"},
	}
	// Tensors that must be zero: the zero point, and the order of bitsandbytes' rows.
	zeroEnds = []string{"weight_zero_point", "weight_zero", "_weight_zero_point", "weight_format"}
)

const (
	secondEnd = "scale_weight_tensor" // of musubi-tuner's scales
	formatEnd = "comfy_quant"
)

// add decides how to read a tensor.
func (q *File) add(t safetensors.Tensor) {
	name, base := stored(t.Name)
	w := &weight{from: t, elem: t.DType, divisor: 1}
	w.reason = q.companions(w, base)
	scaled := w.scales != nil
	if !scaled && w.reason == "" && name == t.Name && !eightBits(t.DType) {
		return // not quantised
	}
	if !scaled && w.reason == "" {
		w.reason = q.unscaled(w, base)
	}
	if _, there := q.Tensor(name); there && name != t.Name {
		w.reason = "appears twice, once as " + quote.Name(t.Name)
	}
	switch {
	case w.reason != "":
		q.reasons[name] = w.reason
	case w.table() == nil && !w.elem.Float(): // its format is unknown
		if name == t.Name {
			return
		}
	default:
		x, err := safetensors.NewTensor("quantised: "+q.Name(), name, safetensors.F32, t.Shape, w, 0)
		if err != nil {
			q.reasons[name] = err.Error()
			break
		}
		q.weights[name], q.kinds[name] = x, string(w.elem)
		if scaled {
			q.kinds[name] += " with scales"
		}
		return
	}
	t.Name = name
	q.weights[name] = t
}

// companions finds the tensors beside a weight, and returns why the weight cannot be read
// with them.
func (q *File) companions(w *weight, base string) (reason string) {
	take := func(end string) (safetensors.Tensor, bool) {
		t, ok := q.File.Tensor(base + end)
		if ok && base+end != w.from.Name {
			q.hidden[base+end] = true
			return t, true
		}
		return t, false
	}
	because := func(format string, args ...any) {
		if reason == "" {
			reason = fmt.Sprintf(format, args...)
		}
	}
	if !strings.HasSuffix(base, ".") && base != "" { // a bias, or another tensor without scales
		return ""
	}
	layer := strings.TrimSuffix(base, "weight.")
	layout, marked := q.layers.of(layer)
	if t, ok := take(formatEnd); ok {
		layout, marked = readLayout(t), true
	}
	w.marked = marked
	if marked {
		if r := w.as(layout); r != "" {
			because("%s", r)
		}
	}
	for _, r := range refuseEnds {
		if _, ok := take(r.end); ok {
			because("is quantised as %s", r.is)
		}
	}
	for _, end := range zeroEnds {
		t, ok := take(end)
		if ok && t.Elements() > max(1, w.from.Elements()) {
			because("has %s of shape %v, more than the weight's own %v", quote.Name(t.Name), t.Shape, w.from.Shape)
		} else if ok {
			w.formats = append(w.formats, t)
		}
	}
	for _, end := range ignoreEnds {
		if _, ok := q.File.Tensor(layer + end); ok {
			q.hidden[layer+end] = true
		}
	}
	for _, end := range scaleEnds {
		t, ok := take(end)
		if !ok {
			continue
		}
		if w.scales != nil {
			because("has scales of two names, %s and %s", quote.Name(w.scales[0].Name), quote.Name(t.Name))
			continue
		}
		w.scales = append(w.scales, t)
		if end == "SCB" {
			w.divisor = 127
		}
		if !t.DType.Float() {
			because("has scales %s of type %s, expected floats: it may be mxfp8 or nvfp4", quote.Name(t.Name), t.DType)
		} else if !w.fit(t.Shape) {
			because("has scales %s of shape %v, which fit no shape of %v by tensor, output channel or block", quote.Name(t.Name), t.Shape, w.from.Shape)
		}
	}
	if t, ok := take(secondEnd); ok {
		if w.scales == nil || t.Elements() != 1 || !t.DType.Float() {
			because("has %s without scales, or not of one float", quote.Name(t.Name))
		}
		w.scales = append(w.scales, t)
	}
	if w.scales != nil && !w.elem.Float() && w.table() == nil {
		because("is %s with scales, expected fp8 or int8", w.elem)
	}
	return reason
}

// unscaled returns why a weight without scales cannot be read.
func (q *File) unscaled(w *weight, base string) string {
	if w.elem == safetensors.I8 {
		return "is 8-bit integers without scales"
	}
	if len(w.from.Shape) < 2 { // a bias has no scales
		return ""
	}
	if w.marked {
		return "has no scales, but its metadata says so"
	}
	for _, prefix := range q.markers {
		if strings.HasPrefix(w.from.Name, prefix) && strings.HasSuffix(w.from.Name, ".weight") {
			return fmt.Sprintf("has no scale, but %s implies %s", quote.Name(prefix+"scaled_fp8"), quote.Name(base+"scale_weight"))
		}
	}
	return ""
}

func eightBits(d safetensors.DType) bool {
	switch d {
	case safetensors.F8E4M3, safetensors.F8E5M2, safetensors.I8, safetensors.U8:
		return true
	}
	return false
}

// Package wgsl holds the compute operations: one .wgsl file each, its Go twin
// that lays out Params, has the table of its kernels and records a dispatch, its
// table of cases, and a float64 reference in ref/. It describes programs in
// gpu's types and never touches a device. Start at NewSet and Conv3D.
//
// Shapes and weights that an operation can't take are a caller's bug: recording
// panics with them.
//
// Activations are channels-last, [T, H, W, C], with C padded to a multiple of
// 4 by channels that are zero. A kernel sees four channels at a time.
package wgsl

import (
	"fmt"
	"strings"

	"tessera/gpu"
)

// Elem is how an activation or a weight is stored; sums are f32.
type Elem uint8

const (
	F32    Elem = iota // vec4<f32>
	F16                // vec4<f16>, needs the shader-f16 feature
	Packed             // the bits of F16 in a vec2<u32>, on any adapter
	I8                 // four int8 in a u32, of a Quantised
)

// Bytes of one element.
func (e Elem) Bytes() int { return [...]int{4, 2, 2, 1}[e] }

func (e Elem) String() string { return [...]string{"f32", "f16", "packed", "i8"}[e] }

// Pad4 rounds a channel count up to a multiple of 4.
func Pad4(c int) int { return (c + 3) &^ 3 }

// Set is the kernels for one storage of activations on one adapter. It makes
// their programs and keeps them, so that a batch recorded again names the same.
type Set struct {
	Elem     Elem // of activations
	info     gpu.Info
	choices  Choices
	tables   []table
	programs map[string]*gpu.Program
	duties   duties
}

// NewSet makes the set for activations stored as elem on an adapter; the zero
// Info is one that has nothing special. It fails on a choice of an operation or
// kernel that there is not, or that the adapter can't run. Choices stay as they
// are from here on.
func NewSet(elem Elem, info gpu.Info, choices Choices) (*Set, error) {
	return newSet(elem, info, choices, tables)
}

// constants are the values of a program's overrides.
type constants = map[string]float64

// program is the one of a shader with activations of the set's Elem.
func (s *Set) program(h *shader, c constants, storage ...gpu.Access) *gpu.Program {
	return s.weighted(h, F32, c, storage...)
}

// weighted is program for a shader that imports `weight`, stored as weight.
func (s *Set) weighted(h *shader, weight Elem, c constants, storage ...gpu.Access) *gpu.Program {
	return s.made(h, "", weight, c, storage...)
}

// made is weighted for a class of dispatches. Programs of two classes may be alike;
// a device compiles one of them.
func (s *Set) made(h *shader, class string, weight Elem, c constants, storage ...gpu.Access) *gpu.Program {
	key := fmt.Sprintf("%s %d %d %d %d %v %v %v %s", h.name(), h.wg, h.pixels, h.block, h.tall, h.sizes, weight, c, class) // a map prints by its keys' order
	if p := s.programs[key]; p != nil {
		return p
	}
	p := &gpu.Program{Label: h.name() + "_" + s.Elem.String(), Source: h.source(s.Elem, weight), Constants: c, Storage: storage}
	s.programs[key] = p
	if noting {
		s.note(p, h, class, weight)
	}
	return p
}

// products is weighted for a shader of three inputs, a weight and a bias, that
// imports `products` or `matrices`, and adds to what is there or does not.
func (s *Set) products(h *shader, e extent, class string, weight Elem, add bool, c constants) *gpu.Program {
	const R = gpu.Read
	c["ACCUMULATE"] = flag(add && !h.shared())
	if h.fit == nil {
		c["DEEP"], c["ROLLED"] = flag(h.across(e) < h.wg), flag(s.info.Type == "cpu")
	}
	return s.made(h, class, weight, c, R, R, R, R, R, gpu.ReadWrite)
}

// source is the complete WGSL of a shader, its imports resolved: `tile` is the
// sizes of its table, `elem` and `weight` the storage asked for, any other
// a file of shared/.
func (h *shader) source(elem, weight Elem) string {
	l := loader{shader: h, elem: elem, weight: weight, seen: map[string]bool{}}
	l.add(h.file+".wgsl", h.file)
	return l.enable + l.out.String()
}

// loader resolves `#import name` lines, each module once.
type loader struct {
	shader       *shader
	elem, weight Elem
	enable       string // and other directives, which go before all else
	seen         map[string]bool
	out          strings.Builder
}

func (l *loader) add(file, from string) {
	text, ok := text(file)
	if !ok {
		panic(fmt.Sprintf("wgsl: %s: no file %s", from, file))
	}
	for line := range strings.Lines(l.shader.repeat(text)) {
		if strings.HasPrefix(line, "enable ") || strings.HasPrefix(line, "diagnostic(") {
			l.enable += line
			continue
		}
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "#import ")
		if !ok {
			l.out.WriteString(line)
			continue
		}
		if l.seen[name] {
			continue
		}
		l.seen[name] = true
		switch name {
		case "tile":
			l.out.WriteString(l.shader.tile())
		case "elem":
			l.addElem(file)
		case "weight", "halves":
			l.add("shared/"+name+"_"+l.weight.String()+".wgsl", file)
		case "weights", "frames", "multiply", "under", "sources", "points", "staged":
			l.add("shared/"+name+"_"+l.shader.way(name)+".wgsl", file)
		default:
			l.add("shared/"+name+".wgsl", file)
		}
	}
}

// addElem adds how activations are loaded and stored; for matrices, which take
// halves out of words, as the words they lie in.
func (l *loader) addElem(file string) {
	elem := l.elem
	if (l.shader.upright || l.shader.halved) && elem == F16 { // drivers load halves one by one
		elem = Packed
	}
	if elem == F16 {
		l.enable += "enable f16;\n"
	}
	if l.shader.fit != nil {
		l.enable += "enable subgroups;\nenable chromium_experimental_subgroup_matrix;\n"
		elem = Packed
	}
	l.add("shared/elem_"+elem.String()+".wgsl", file)
}

// wrong is what a panic says of numbers that an operation can't take.
func wrong(label, what string, numbers ...int) string {
	return fmt.Sprintf("wgsl: %s: %s: %d", label, what, numbers)
}

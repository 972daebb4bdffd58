// Package wgsl contains the compute operations. Each has a .wgsl file, a Go twin that
// lays out Params, lists its kernels and records a dispatch, a table of test cases,
// and a float64 reference in ref/. The package describes programs in gpu's types and
// never calls a device. Start at NewSet and Conv3D.
//
// Shapes and weights that an operation does not support are a caller's bug: recording
// panics with them.
//
// Activations are channels-last, [T, H, W, C], with C padded to a multiple of 4 by
// zero channels. A kernel reads four channels at a time.
package wgsl

import (
	"fmt"

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
	Elem      Elem // of activations
	Leaky     bool // ReLU is LeakyReLU: below zero a fifth passes
	info      gpu.Info
	choices   Choices
	tables    []table
	programs  map[string]*gpu.Program
	workloads workloads
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
	h = h.withLeakyReLU(s.Leaky)
	key := fmt.Sprintf("%s %d %d %d %d %v %v %v %s", h.name(), h.wg, h.pixels, h.block, h.blocks, h.sizes, weight, c, class) // a map prints by its keys' order
	if p := s.programs[key]; p != nil {
		return p
	}
	p := &gpu.Program{Label: h.name() + "_" + s.Elem.String(), Source: h.source(s.Elem, weight), Constants: c, Storage: storage}
	s.programs[key] = p
	s.note(p, h, class, weight)
	return p
}

// products is weighted for a shader of three inputs, a weight and a bias, that
// imports `products`, or `matrix` of cards/, and adds to what is there or does not.
func (s *Set) products(h *shader, e extent, class string, weight Elem, add bool, c constants) *gpu.Program {
	const R = gpu.Read
	c["ACCUMULATE"] = flag(add && !h.shared())
	if h.fit == nil {
		c["DEEP"], c["ROLLED"] = flag(h.across(e) < h.wg), flag(s.info.Type == "cpu")
	}
	return s.made(h, class, weight, c, R, R, R, R, R, gpu.ReadWrite)
}

// badNumbers is what a panic says of numbers that an operation can't take.
func badNumbers(label, what string, numbers ...int) string {
	return fmt.Sprintf("wgsl: %s: %s: %d", label, what, numbers)
}

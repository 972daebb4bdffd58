// Package wgsl contains the compute operations, as shaders and as Go functions that
// record them. It describes programs with gpu's types and never calls a device. Create
// a Set of kernels for an adapter, then record operations on a batch:
//
//	s, err := wgsl.NewSet(wgsl.F32, device.Info(), nil)
//	…
//	var b gpu.Batch
//	s.RMSNorm(&b, "norm", wgsl.RMSNorm{Gamma: gamma, X: x, Y: y, N: 1})
//	err = device.Submit(ctx, &b)
//
// An operation consists of a .wgsl file; a Go file with its Params, its parameters and
// its method of Set; rows of kernels.go; a table of test cases; and a float64 reference
// in ref/. Weights must be packed for the kernel that reads them: ask the Set, for
// instance with ConvPacking, and call Pack.
//
// Unsupported shapes or weights are bugs of the caller: recording panics with their
// values.
//
// Activations are channels-last, [T, H, W, C], with C padded to a multiple of 4 by zero
// channels. A kernel reads four channels at a time.
package wgsl

import (
	"fmt"

	"tessera/gpu"
)

// Elem is the storage of an activation or a weight; sums are f32.
type Elem uint8

const (
	F32    Elem = iota // vec4<f32>
	F16                // vec4<f16>, needs the shader-f16 feature
	Packed             // the bits of F16 in a vec2<u32>, on any adapter
	I8                 // four int8 in a u32, of a Quantised
)

// Bytes returns the size of one element.
func (e Elem) Bytes() int { return [...]int{4, 2, 2, 1}[e] }

func (e Elem) String() string { return [...]string{"f32", "f16", "packed", "i8"}[e] }

// Pad4 rounds a channel count up to a multiple of 4.
func Pad4(c int) int { return (c + 3) &^ 3 }

// Set holds the kernels for one storage of activations on one adapter. It creates their
// programs and keeps them, so that a batch recorded again uses the same programs.
type Set struct {
	Elem      Elem // of activations
	Leaky     bool // ReLU becomes LeakyReLU, which multiplies negative numbers by 0.2
	info      gpu.Info
	choices   Choices
	tables    []table
	programs  map[string]*gpu.Program
	workloads workloads
}

// NewSet creates the set for activations stored as elem on an adapter; the zero Info
// stands for an adapter without special features. It returns an error if a choice names
// an unknown operation or kernel, or one that the adapter can't run. Do not change
// choices afterwards.
func NewSet(elem Elem, info gpu.Info, choices Choices) (*Set, error) {
	return newSet(elem, info, choices, tables)
}

// constants are the values of a program's overrides.
type constants = map[string]float64

// program returns the program of a shader with activations of the set's Elem.
func (s *Set) program(h *shader, c constants, storage ...gpu.Access) *gpu.Program {
	return s.weighted(h, F32, c, storage...)
}

// weighted returns the program of a shader that imports `weight`, with this storage.
func (s *Set) weighted(h *shader, weight Elem, c constants, storage ...gpu.Access) *gpu.Program {
	return s.made(h, "", weight, c, storage...)
}

// made is weighted for a class of dispatches. Programs of two classes may have equal
// content; a device compiles it once.
func (s *Set) made(h *shader, class string, weight Elem, c constants, storage ...gpu.Access) *gpu.Program {
	h = h.withLeakyReLU(s.Leaky).forCompiler(s.info)
	key := fmt.Sprintf("%s %d %d %d %d %v %v %v %s", h.name(), h.wg, h.pixels, h.block, h.blocks, h.sizes, weight, c, class) // fmt prints a map in key order
	if p := s.programs[key]; p != nil {
		return p
	}
	p := &gpu.Program{Label: h.name() + "_" + s.Elem.String(), Source: h.source(s.Elem, weight), Constants: c, Storage: storage}
	s.programs[key] = p
	s.note(p, h, class, weight)
	return p
}

// products is weighted for a shader of three inputs, a weight and a bias, which imports
// `products`, or `matrix` of cards/. With add it adds to its output.
func (s *Set) products(h *shader, e extent, class string, weight Elem, add bool, c constants) *gpu.Program {
	const R = gpu.Read
	c["ACCUMULATE"] = flag(add && !h.shared())
	if h.fit == nil {
		c["DEEP"], c["ROLLED"] = flag(h.across(e) < h.wg), flag(s.info.Type == "cpu")
	}
	return s.made(h, class, weight, c, R, R, R, R, R, gpu.ReadWrite)
}

// badNumbers returns the panic message for numbers that an operation does not support.
func badNumbers(label, what string, numbers ...int) string {
	return fmt.Sprintf("wgsl: %s: %s: %d", label, what, numbers)
}

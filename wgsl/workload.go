package wgsl

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"tessera/gpu"
)

// Class is a group of dispatches for which one kernel is chosen: an operation, with
// weights of about this many channels.
type Class struct {
	Operation string
	In, Out   int // channels: a power of two from 16 to 256, and 256 stands for all above
}

// String returns the name of the class in Choices.
func (c Class) String() string { return classOf(c.Operation, Shape{O: c.Out, I: c.In}) }

// Workload is the work of a program that several kernels can do, and the specialisation
// of the kernel that it runs.
type Workload struct {
	Class
	Taps   int    // temporal taps; 0 if the operation has none
	Weight Elem   // storage of the weights
	Kernel string // name of the kernel; "" leaves it open
	Specialisation
}

// Specialisation distinguishes the sources of one kernel: tile sizes that depend on the
// number of channels and pixels.
type Specialisation struct {
	Blocks int  // blocks of channels in an invocation; 0: always one
	Pixels int  // pixels of an invocation; 0 if it has no blocks
	Narrow bool // workgroups are narrower than their invocations (DEEP)
}

// workloads are the workloads of a set's programs.
type workloads map[*gpu.Program]Workload

// note records the workload of a program, if its operation has several kernels.
func (s *Set) note(p *gpu.Program, h *shader, class string, weight Elem) {
	c, ok := parseClass(class)
	if !ok {
		return
	}
	d := Workload{Class: c, Taps: int(p.Constants["KT"]), Weight: weight}
	if h.block > 0 {
		d.Specialisation = Specialisation{h.blocks, h.pixels, p.Constants["DEEP"] > 0}
	}
	if k := s.find(class, func(k *kernel) bool { return k.has(h, s.info) }); k != nil {
		d.Kernel = k.name
	}
	for i := range s.tables {
		if s.tables[i].operation == d.Operation && len(s.tables[i].kernels) > 1 {
			s.workloads[p] = d
		}
	}
}

// has reports whether h is a shader of kernel k, possibly with sizes for some number of
// channels and pixels.
func (k *kernel) has(h *shader, info gpu.Info) bool {
	return slices.ContainsFunc(k.shaders, func(own shader) bool {
		own = *own.forAdapter(info).withReLU(h.relu).withLeakyReLU(h.leaky)
		return own.name() == h.name() && own.wg == h.wg && own.block == h.block && (own.pixels == h.pixels || own.blocks > 0)
	})
}

// Workload returns the workload of a program that the set made, and false for an
// operation with a single kernel.
func (s *Set) Workload(p *gpu.Program) (Workload, bool) {
	d, ok := s.workloads[p]
	return d, ok
}

// Operations lists the operations that have more than one kernel.
func Operations() (names []string) {
	for i := range tables {
		if len(tables[i].kernels) > 1 {
			names = append(names, tables[i].operation)
		}
	}
	return names
}

// Kernels lists the kernels of an operation that can run here and accept weights of a
// shape. The first is the default; then come those that are better on this adapter,
// those that need a feature of it, others, and those that are better elsewhere.
func (s *Set) Kernels(operation string, shape Shape) []string {
	fits := func(k *kernel) bool { return k.suits(shape) }
	plainly := Set{Elem: s.Elem, info: s.info, tables: s.tables}
	first := plainly.find(operation, fits)
	var all []*kernel
	for i := range s.tables {
		for j := range s.tables[i].kernels {
			if k := &s.tables[i].kernels[j]; s.tables[i].operation == operation && s.canRun(k) && fits(k) {
				all = append(all, k)
			}
		}
	}
	rank := func(k *kernel) int {
		switch {
		case k == first:
			return math.MinInt
		case k.better != nil && k.better(s.info): // the last one of a table comes before those above it
			return -slices.Index(all, k)
		case k.needs != nil:
			return 1
		case k.better == nil:
			return 2
		}
		return 3
	}
	ranks := map[*kernel]int{}
	for _, k := range all {
		ranks[k] = rank(k)
	}
	slices.SortStableFunc(all, func(a, b *kernel) int { return cmp.Compare(ranks[a], ranks[b]) })
	var names []string
	for _, k := range all {
		names = append(names, k.name)
	}
	return names
}

// Texts returns the sources of all kernels with the sizes of their tiles. Results of
// tests and trials are valid for these texts.
func (s *Set) Texts() string {
	var all strings.Builder
	for i := range s.tables {
		for j := range s.tables[i].kernels {
			k := &s.tables[i].kernels[j]
			fmt.Fprintln(&all, s.tables[i].operation, k.name, k.packing)
			for l := range k.shaders {
				fmt.Fprintln(&all, k.shaders[l].file, k.shaders[l].forAdapter(s.info).tile())
			}
		}
	}
	_ = fs.WalkDir(texts, ".", func(path string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			text, _ := fs.ReadFile(texts, path)
			all.Write(text)
		}
		return nil
	})
	return all.String()
}

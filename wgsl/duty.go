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

// Class is dispatches that one kernel is chosen for: of an operation whose
// weights have about as many channels.
type Class struct {
	Operation string
	In, Out   int // channels: a power of two from 16 to 256, and 256 stands for all above
}

// String is what Choices name it by.
func (c Class) String() string { return classOf(c.Operation, Shape{O: c.Out, I: c.In}) }

// Duty is what a program does, where more than one kernel could be chosen, and by
// which of its texts.
type Duty struct {
	Class
	Taps   int    // temporal, that it reads; 0 where it has none
	Weight Elem   // as weights are stored
	Kernel string // that it is of; "" in a Duty that leaves this open
	Form
}

// Form is what tells the texts of one kernel apart: sizes that it takes as there are
// channels and pixels.
type Form struct {
	Blocks int  // of channels, of an invocation; 0 is always one
	Pixels int  // of an invocation; 0 where it makes no blocks
	Narrow bool // workgroups are narrower than their invocations (DEEP)
}

// duties are those of a set's programs, which are noted.
type duties map[*gpu.Program]Duty

// note notes what a program of a shader is for, if there is a choice.
func (s *Set) note(p *gpu.Program, h *shader, class string, weight Elem) {
	c, ok := parseClass(class)
	if !ok {
		return
	}
	d := Duty{Class: c, Taps: int(p.Constants["KT"]), Weight: weight}
	if h.block > 0 {
		d.Form = Form{h.blocks, h.pixels, p.Constants["DEEP"] > 0}
	}
	if k := s.find(class, func(k *kernel) bool { return k.has(h, s.info) }); k != nil {
		d.Kernel = k.name
	}
	for i := range s.tables {
		if s.tables[i].operation == d.Operation && len(s.tables[i].kernels) > 1 {
			s.duties[p] = d
		}
	}
}

// has says whether h is a shader of a kernel, with the sizes of some channels and pixels.
func (k *kernel) has(h *shader, info gpu.Info) bool {
	return slices.ContainsFunc(k.shaders, func(own shader) bool {
		own = *own.on(info).with(h.relu).leaking(h.leaky)
		return own.name() == h.name() && own.wg == h.wg && own.block == h.block && (own.pixels == h.pixels || own.blocks > 0)
	})
}

// Duty is that of a program which the set made; none for an operation of one
// kernel.
func (s *Set) Duty(p *gpu.Program) (Duty, bool) {
	d, ok := s.duties[p]
	return d, ok
}

// Operations are those of which there is more than one kernel.
func Operations() (names []string) {
	for i := range tables {
		if len(tables[i].kernels) > 1 {
			names = append(names, tables[i].operation)
		}
	}
	return names
}

// Kernels are the names of an operation's kernels that can run here and take
// weights of a shape. The first is the default; then come those that are better on
// such adapters, those for what this one has, others, and what is better elsewhere.
func (s *Set) Kernels(operation string, shape Shape) []string {
	fits := func(k *kernel) bool { return k.suits(shape) }
	plainly := Set{Elem: s.Elem, info: s.info, tables: s.tables}
	first := plainly.find(operation, fits)
	var all []*kernel
	for i := range s.tables {
		for j := range s.tables[i].kernels {
			if k := &s.tables[i].kernels[j]; s.tables[i].operation == operation && s.runs(k) && fits(k) {
				all = append(all, k)
			}
		}
	}
	rank := func(k *kernel) int {
		switch {
		case k == first:
			return math.MinInt
		case k.better != nil && k.better(s.info): // the last of a table goes before those in front of it
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

// Texts are the sources that all kernels are made of, with the sizes of their
// tiles: what is known of kernels is known of these.
func (s *Set) Texts() string {
	var all strings.Builder
	for i := range s.tables {
		for j := range s.tables[i].kernels {
			k := &s.tables[i].kernels[j]
			fmt.Fprintln(&all, s.tables[i].operation, k.name, k.packing)
			for l := range k.shaders {
				fmt.Fprintln(&all, k.shaders[l].file, k.shaders[l].on(s.info).tile())
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

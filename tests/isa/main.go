// Command isa shows what a card's compiler makes of the kernels: instructions,
// registers and the share of products in the inner loop. tools/isa.sh runs it, on
// simulated cards or on the machine's own card with one of Mesa's drivers.
//
//	isa compile               makes every kernel's pipeline; the driver's listing goes to stderr
//	isa compile published     the same, then the shaders of published models
//	isa keep FILE COMMAND...  runs isa compile and writes what report reads of its listing to FILE
//	isa report FILE...        reads such files, named for the card, and prints a table in markdown
//	isa page PAGE HEAD WHEN FILE...
//	                          writes the head and these tables to a page, which keeps its other cards
//	isa dxc PAGE HEAD WHEN FILE
//	                          writes the page about Microsoft's compiler, from isa compile published
package main

import (
	"fmt"
	"os"

	"tessera/gpu"
	"tessera/wgsl"
)

// Lines that compile adds to the listing: the adapter, and a description before each
// shader.
const (
	adapterMark = "tessera-adapter: "
	shaderMark  = "tessera-shader: "
)

func main() {
	err := fmt.Errorf("usage: isa compile [published], isa keep FILE COMMAND, isa report FILES, isa page PAGE HEAD WHEN FILES, or isa dxc PAGE HEAD WHEN FILE")
	switch {
	case len(os.Args) == 2 && os.Args[1] == "compile":
		err = compile(false)
	case len(os.Args) == 3 && os.Args[1] == "compile" && os.Args[2] == "published":
		err = compile(true)
	case len(os.Args) == 6 && os.Args[1] == "dxc":
		err = writeDXC(os.Args[2], os.Args[3], os.Args[4], os.Args[5])
	case len(os.Args) > 3 && os.Args[1] == "keep":
		err = keep(os.Args[2], os.Args[3:])
	case len(os.Args) > 5 && os.Args[1] == "page":
		err = writePage(os.Args[2], os.Args[3], os.Args[4], os.Args[5:])
	case len(os.Args) > 2 && os.Args[1] == "report":
		err = report(os.Stdout, os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "isa:", err)
		os.Exit(1)
	}
}

// compile compiles all layers, kernels and storages, and the shaders of published models.
func compile(published bool) error {
	dev, err := gpu.Open(gpu.Options{Adapter: -1, NoCache: true}) // cached shaders are not listed
	if err != nil {
		return err
	}
	defer dev.Close()
	info := dev.Info()
	fmt.Fprintf(os.Stderr, "%s%s, %s\n", adapterMark, info.Name, info.Driver)
	elems := []wgsl.Elem{wgsl.F32, wgsl.Packed}
	if info.F16 {
		elems = append(elems, wgsl.F16)
	}
	seen := map[string]bool{}
	for _, l := range layers {
		first, err := firstPrograms(l, elems, info)
		if err != nil {
			return err
		}
		for _, e := range elems {
			for _, name := range wgsl.Kernels(l.operation, e, info) {
				if only := os.Getenv("KERNEL"); only != "" && name != only {
					continue
				}
				s, err := wgsl.NewSet(e, info, wgsl.Choices{l.operation: name})
				if err != nil {
					return err
				}
				if err := prepare(dev, s, l, name, seen, first); err != nil {
					return err
				}
			}
		}
	}
	if published {
		return compilePublished(dev, seen)
	}
	return nil
}

// programKey identifies a program among those of a run.
func programKey(p *gpu.Program) string { return fmt.Sprint(p.Source, p.Constants) }

// firstPrograms returns the keys of the programs that a layer takes without a choice.
func firstPrograms(l layer, elems []wgsl.Elem, info gpu.Info) (map[string]bool, error) {
	first := map[string]bool{}
	for _, e := range elems {
		s, err := wgsl.NewSet(e, info, nil)
		if err != nil {
			return nil, err
		}
		b := &gpu.Batch{Label: l.operation}
		l.record(s, b, l.operation)
		for _, c := range b.Commands {
			first[programKey(c.Program)] = true
		}
	}
	return first, nil
}

// prepare compiles a layer's new programs one by one.
func prepare(dev *gpu.Device, s *wgsl.Set, l layer, kernel string, seen, first map[string]bool) error {
	b := &gpu.Batch{Label: l.operation}
	l.record(s, b, l.operation)
	for i, c := range b.Commands {
		key := programKey(c.Program)
		if seen[key] {
			continue // equal to that of another storage, or of another attention phase
		}
		seen[key] = true
		when := "by trial"
		if first[key] {
			when = "first"
		}
		fmt.Fprintf(os.Stderr, "\n%s%s|%s|%s|%s|%s|%s\n", shaderMark, c.Program.Label, l.name, kernel, s.Elem, when, numberOf(key))
		if err := dev.Prepare(&gpu.Batch{Label: l.operation, Commands: b.Commands[i : i+1]}); err != nil {
			return err
		}
	}
	return nil
}

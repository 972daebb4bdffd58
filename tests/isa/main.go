// Command isa shows what a card's compiler makes of the kernels: instructions,
// registers and the share of products in the inner loop. tools/isa.sh runs it, on
// simulated cards or on the machine's own card with one of Mesa's drivers.
//
//	isa compile          makes every kernel's pipeline; the driver's listing goes to stderr
//	isa report FILE...   reads such listings, named for the card, and prints a table in markdown
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
	err := fmt.Errorf("usage: isa compile, or isa report with files")
	switch {
	case len(os.Args) == 2 && os.Args[1] == "compile":
		err = compile()
	case len(os.Args) > 2 && os.Args[1] == "report":
		err = report(os.Stdout, os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "isa:", err)
		os.Exit(1)
	}
}

// compile compiles all layers, kernels and storages.
func compile() error {
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
		for _, e := range elems {
			for _, name := range wgsl.Kernels(l.operation, e, info) {
				if only := os.Getenv("KERNEL"); only != "" && name != only {
					continue
				}
				s, err := wgsl.NewSet(e, info, wgsl.Choices{l.operation: name})
				if err != nil {
					return err
				}
				if err := prepare(dev, s, l, name, seen); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// prepare compiles a layer's new programs one by one.
func prepare(dev *gpu.Device, s *wgsl.Set, l layer, kernel string, seen map[string]bool) error {
	b := &gpu.Batch{Label: l.operation}
	l.record(s, b, l.operation)
	for i, c := range b.Commands {
		key := fmt.Sprint(c.Program.Source, c.Program.Constants)
		if seen[key] {
			continue // equal to that of another storage, or of another attention phase
		}
		seen[key] = true
		fmt.Fprintf(os.Stderr, "\n%s%s|%s|%s|%s\n", shaderMark, c.Program.Label, l.name, kernel, s.Elem)
		if err := dev.Prepare(&gpu.Batch{Label: l.operation, Commands: b.Commands[i : i+1]}); err != nil {
			return err
		}
	}
	return nil
}

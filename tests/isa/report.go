package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// card is a card whose listing tools/isa.sh can create.
type card struct {
	name string
	peak float64 // TFLOP/s of plain f32 arithmetic, according to its maker
	// beside: scalar and memory instructions are issued in parallel with vector ones,
	// and take no time from them.
	beside bool
	matrix float64 // TFLOP/s of matrix products of halves with f32 sums, according to its maker; 0: not listed
}

// cards by their names in listings.
var cards = map[string]card{
	"navi31": {"RX 7900 XTX", 61.4, true, 122.8},
	"navi21": {"RX 6800", 16.2, true, 0},
	"ampere": {"RTX 3070 Ti", 21.7, false, 0},
	"ada":    {"RTX 4090", 82.6, false, 165.2},
}

// report prints a table for each listing.
func report(w io.Writer, files []string) error {
	for _, file := range files {
		text, err := os.ReadFile(file) // #nosec G304 -- a file the caller names
		if err != nil {
			return err
		}
		adapter, shaders := parse(string(text))
		if len(shaders) == 0 {
			return fmt.Errorf("%s: no shader in it, expected the listing of isa compile", file)
		}
		table(w, cards[strings.TrimSuffix(filepath.Base(file), ".txt")], adapter, shaders)
	}
	return nil
}

func table(w io.Writer, c card, adapter string, shaders []shader) {
	fmt.Fprintf(w, "## %s\n\n", strings.TrimPrefix(c.name+": "+adapter, ": "))
	fmt.Fprintln(w, "| shader | layer | kernel | storage | registers | waves | local bytes | inner loop | multiply-adds | matrix | at most TFLOP/s |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|")
	for _, s := range shaders {
		name := strings.TrimSuffix(s.label, "_"+s.elem)
		fmt.Fprintf(w, "| %s | %s | %s | %s |", name, s.layer, s.kernel, s.elem)
		if s.registers == 0 {
			fmt.Fprintln(w, " not listed by this driver | | | | | | |")
			continue
		}
		fmt.Fprintf(w, " %d | %d | %d |", s.registers, s.waves, s.local)
		n := float64(total(s.loop))
		if n == 0 {
			fmt.Fprintln(w, " none that multiplies | | | |")
			continue
		}
		fmt.Fprintf(w, " %.0f | %.2f | %.2f | %s |\n", n, float64(s.loop[fma]+s.loop[packed])/n, float64(s.loop[matrix])/n, c.bound(&s))
	}
	fmt.Fprintln(w)
}

// matrixCycles is how long a matrix product keeps its unit busy, on both makers' cards.
// It follows from the peaks: 8192 FLOPs at 256 per cycle on AMD, 4096 at 128 on NVIDIA.
const matrixCycles = 32

// bound returns the share of the card's peak that the inner loop allows, with every
// operand available.
func (c card) bound(s *shader) string {
	if busy := matrixCycles * s.loop[matrix]; busy > 0 {
		slots := max(busy, total(s.loop)) // NVIDIA's are issued in parallel with the units
		if c.beside {
			slots = busy + s.loop[fma] + s.loop[vector]
		}
		if c.matrix == 0 {
			return ""
		}
		return fmt.Sprintf("%.0f", c.matrix*float64(busy)/float64(slots))
	}
	if c.peak == 0 {
		return ""
	}
	slots := max(total(s.loop), 2*s.loop[packed]) // NVIDIA's since Ampere take two cycles for these
	if c.beside {
		slots = s.loop[fma] + s.loop[packed] + s.loop[vector]
	}
	return fmt.Sprintf("%.0f", c.peak*float64(s.loop[fma]+2*s.loop[packed])/float64(slots))
}

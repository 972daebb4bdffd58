package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// card is a card whose listing tools/isa.sh can create.
type card struct {
	file string // the listing's name, without .txt
	name string
	peak float64 // TFLOP/s of plain f32 arithmetic, according to its maker; 0: no bound in the table
	// beside: scalar and memory instructions are issued in parallel with vector ones,
	// and take no time from them.
	beside bool
	matrix float64 // TFLOP/s of matrix products of halves with f32 sums, according to its maker; 0: not listed

	waves, local string // columns of these, if not "waves" and "local bytes"
}

// cards in the order of the page.
var cards = []card{
	{file: "navi31", name: "RX 7900 XTX", peak: 61.4, beside: true, matrix: 122.8},
	{file: "navi21", name: "RX 6800", peak: 16.2, beside: true},
	{file: "ada", name: "RTX 4090", peak: 82.6, matrix: 165.2},
	{file: "ampere", name: "RTX 3070 Ti", peak: 21.7},
	{file: "arc", name: "Arc A770", waves: "SIMD", local: "spills"},
	{file: "bmg", name: "Arc B580", waves: "SIMD", local: "spills"},
	{file: "lnl", name: "Core Ultra 200V", waves: "SIMD", local: "spills"},
	{file: "mtl", name: "Core Ultra 100", waves: "SIMD", local: "spills"},
	{file: "a740", name: "Adreno 740", local: "private accesses"},
}

// cardOf returns the card of a listing, nameless if it is none of these.
func cardOf(file string) card {
	name := strings.TrimSuffix(filepath.Base(file), ".txt")
	for _, c := range cards {
		if c.file == name {
			return c
		}
	}
	return card{}
}

// writePage writes the page: a head, and a section for each card. Cards with a listing
// get a new section, which begins with a line that says when; others keep theirs.
func writePage(page, head, when string, files []string) error {
	text, err := os.ReadFile(head) // #nosec G304 -- a file the caller names
	if err != nil {
		return err
	}
	old, err := os.ReadFile(page) // #nosec G304 -- a file the caller names
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(old), "\n## ")[1:] {
		name, _, _ := strings.Cut(section, ":")
		sections[name] = "## " + strings.TrimSpace(section) + "\n"
	}
	for _, file := range files {
		c := cardOf(file)
		if c.name == "" {
			return fmt.Errorf("%s: no card of this name", file)
		}
		var b strings.Builder
		if err := report(&b, []string{file}); err != nil {
			return err
		}
		title, rows, _ := strings.Cut(b.String(), "\n\n")
		sections[c.name] = title + "\n\n" + when + "\n\n" + strings.TrimSpace(rows) + "\n"
	}
	out := strings.TrimSpace(string(text)) + "\n"
	for _, c := range cards {
		if section := sections[c.name]; section != "" {
			out += "\n" + section
		}
	}
	return os.WriteFile(page, []byte(out), 0o644) // #nosec G306 -- a document
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
		table(w, cardOf(file), adapter, shaders)
	}
	return nil
}

func table(w io.Writer, c card, adapter string, shaders []shader) {
	if c.waves == "" {
		c.waves = "waves"
	}
	if c.local == "" {
		c.local = "local bytes"
	}
	fmt.Fprintf(w, "## %s\n\n", strings.TrimPrefix(c.name+": "+adapter, ": "))
	fmt.Fprintf(w, "| shader | layer | kernel | storage | registers | %s | %s | inner loop | multiply-adds | matrix | at most TFLOP/s |\n", c.waves, c.local)
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|")
	for _, s := range shaders {
		name := strings.TrimSuffix(s.label, "_"+s.elem)
		if s.first {
			s.kernel = "**" + s.kernel + "**"
		}
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

package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"

	"tessera/engine"
	"tessera/gpu"
	"tessera/vae"
)

// planMark begins a line that lists the programs of a published model's plan, by their
// numbers.
const planMark = "tessera-plan: "

// What a shader and a plan should take at most, in ms of processor time. The step dxc of
// tools/windows.sh names what takes longer, and does not fail, because machines differ.
const (
	mostShader = 3000
	mostPlan   = 10_000
)

// plan is what a decode or encode of a published model compiles at its first start.
type plan struct {
	name     string
	programs []string
}

// compilePublished compiles the programs of plans that people run: 9 frames of 512x320
// of each published model in f16, and SeedVR2's in f32.
func compilePublished(dev *gpu.Device, seen map[string]bool) error {
	for _, name := range vae.Families() {
		for _, precision := range []vae.Precision{vae.F16, vae.F32} {
			if precision == vae.F32 && name != "seedvr2" {
				continue
			}
			m, err := vae.Published(name, dev.Info(), vae.Settings{Precision: precision})
			if err != nil {
				return err
			}
			c := m.Config
			d, err := m.PlanDecode(context.Background(), 8/c.Temporal+1, 320/c.Spatial, 512/c.Spatial, vae.DecodeOptions{RGBA8: true})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			e, err := m.PlanEncode(context.Background(), 9, 320, 512, vae.EncodeOptions{})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for direction, p := range []*engine.Plan{d.Plan, e.Plan} {
				if err := compilePlan(dev, fmt.Sprintf("%s %s, %s", name, []string{"decode", "encode"}[direction], precision), p, seen); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// compilePlan compiles a plan's programs one by one, those that no plan before had.
func compilePlan(dev *gpu.Device, name string, p *engine.Plan, seen map[string]bool) error {
	var numbers []string
	for _, pass := range p.Work.Passes {
		for _, r := range slices.Concat(pass.Recorded...) {
			if r == nil {
				continue
			}
			for _, b := range r.Batches() {
				for i, c := range b.Commands {
					if c.Program == nil {
						continue
					}
					key := programKey(c.Program)
					if n := numberOf(key); !slices.Contains(numbers, n) {
						numbers = append(numbers, n)
					}
					if seen[key] {
						continue
					}
					seen[key] = true
					fmt.Fprintf(os.Stderr, "\n%s%s|%s|published||first|%s\n", shaderMark, c.Program.Label, name, numberOf(key))
					if err := dev.Prepare(&gpu.Batch{Label: name, Commands: b.Commands[i : i+1]}); err != nil {
						return err
					}
				}
			}
		}
	}
	fmt.Fprintf(os.Stderr, "\n%s%s|%s\n", planMark, name, strings.Join(numbers, " "))
	return nil
}

func numberOf(key string) string {
	h := fnv.New64a()
	h.Write([]byte(key))
	return fmt.Sprintf("%016x", h.Sum64())
}

// parsePlans returns the plans of a listing.
func parsePlans(listing string) (plans []plan) {
	for line := range strings.Lines(listing) {
		if rest, ok := strings.CutPrefix(line, planMark); ok {
			name, numbers, _ := strings.Cut(strings.TrimSpace(rest), "|")
			plans = append(plans, plan{name, strings.Fields(numbers)})
		}
	}
	return plans
}

// writeDXC writes the page about Microsoft's compiler, names on standard error what
// compiles slowly, and returns what is worse than it may be.
func writeDXC(page, head, when, file string) error {
	text, err := os.ReadFile(head) // #nosec G304 -- a file the caller names
	if err != nil {
		return err
	}
	listing, err := os.ReadFile(file) // #nosec G304 -- a file the caller names
	if err != nil {
		return err
	}
	adapter, shaders := parse(string(listing))
	plans := parsePlans(string(listing))
	if len(shaders) == 0 || len(plans) == 0 {
		return fmt.Errorf("%s: %d shaders and %d plans in it, expected the listing of isa compile published", file, len(shaders), len(plans))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n%s Adapter: %s.\n", strings.TrimSpace(string(text)), when, adapter)
	fmt.Fprintln(&out, "\n## First starts\n\n| model | shaders | processor time, s | slowest shader, ms |\n|---|---|---|---|")
	byNumber := map[string]*dxil{}
	for _, s := range shaders {
		if s.dxil != nil {
			byNumber[s.number] = s.dxil
		}
	}
	var worse []error
	for _, p := range plans {
		sum, most := 0, 0
		for _, n := range p.programs {
			if d := byNumber[n]; d != nil {
				sum, most = sum+d.ms, max(most, d.ms)
			}
		}
		fmt.Fprintf(&out, "| %s | %d | %.1f | %d |\n", p.name, len(p.programs), float64(sum)/1000, most)
		if sum > mostPlan {
			fmt.Fprintf(os.Stderr, "isa: slow: %s: its shaders compile in %.1f s, expected at most %d\n", p.name, float64(sum)/1000, mostPlan/1000)
		}
	}
	fmt.Fprintln(&out, "\n## Shaders\n\n| shader | layer | kernel | storage | arrays, bytes | accesses in loops | inner loop | multiply-adds | products | kB | ms |\n|---|---|---|---|---|---|---|---|---|---|---|")
	listed := map[string]bool{}
	for _, s := range shaders {
		if err := tooBad(&s); err != nil {
			worse = append(worse, fmt.Errorf("%s, %s, %s: %w", s.label, s.layer, s.kernel, err))
		} else if s.dxil.ms > mostShader {
			fmt.Fprintf(os.Stderr, "isa: slow: %s, %s, %s: compiles in %d ms, expected at most %d\n", s.label, s.layer, s.kernel, s.dxil.ms, mostShader)
		}
		if s.kernel == "published" || s.dxil == nil {
			continue
		}
		name := strings.TrimSuffix(s.label, "_"+s.elem)
		kernel := s.kernel
		if s.first {
			kernel = "**" + kernel + "**"
		}
		row := fmt.Sprintf("| %s | %s | %s | %s |", name, s.layer, kernel, s.elem)
		if listed[row] {
			continue
		}
		listed[row] = true
		d := s.dxil
		loop := "none that multiplies | |"
		if n := total(s.loop); n > 0 {
			loop = fmt.Sprintf("%d | %d | %d", n, s.loop[fma], s.loop[product])
		}
		fmt.Fprintf(&out, "%s %d | %d | %s | %.0f | %d |\n", row, d.arrays, d.accesses, loop, float64(d.bytes)/1000, d.ms)
	}
	if err := os.WriteFile(page, []byte(out.String()), 0o644); err != nil { // #nosec G306 -- a document
		return err
	}
	return errors.Join(worse...)
}

// tooBad says what a shader may not be.
func tooBad(s *shader) error {
	switch d := s.dxil; {
	case d == nil:
		return errors.New("not compiled by DXC")
	case d.failure != "":
		return errors.New(d.failure)
	case d.accesses > 0:
		return fmt.Errorf("%d accesses to arrays in loops, expected none", d.accesses)
	}
	return nil
}

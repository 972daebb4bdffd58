//go:build !js

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Report holds all measurements.
type Report struct {
	Commit    string   `json:"commit"`
	Command   string   `json:"command"`
	Processor string   `json:"processor"`
	Load      Load     `json:"load"`
	Parts     []*Part  `json:"parts"`
	Decoder   *Decoder `json:"decoder,omitempty"`
}

// Load is the machine's load at the start and at the end.
type Load struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Where a part runs.
const (
	natively   = "natively"
	inChromium = "in Chromium"
)

// Part is one adapter.
type Part struct {
	Where    string            `json:"where"`
	Adapter  string            `json:"adapter"`
	Versions map[string]string `json:"versions"` // of the peers
	Results  []*Result         `json:"results"`
}

// bar is the ratio that a case must reach.
func (p *Part) bar(c Case) float64 {
	switch {
	case c.Op == decoder:
		return 8
	case c.Op != conv3d:
		return 2
	case p.Where == inChromium:
		return 14
	}
	return 8
}

// commit is the commit that peers.sh built this program from.
var commit = "unknown"

func newReport() *Report {
	return &Report{
		Commit: commit, Command: "make bench-peers", Processor: processor(), Load: Load{Before: load()},
	}
}

func (r *Report) part(where, adapter string, versions map[string]string) *Part {
	p := &Part{Where: where, Adapter: adapter, Versions: versions}
	r.Parts = append(r.Parts, p)
	return p
}

func (r *Report) save(name, text string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".json", append(data, '\n'), 0o644); err != nil { // #nosec G306 -- for all to read
		return err
	}
	return os.WriteFile(name+".md", []byte(text), 0o644) // #nosec G306
}

func (r *Report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Commit %s, `%s`  \nProcessor: %s  \nLoad before and after: %s; %s\n", r.Commit, r.Command, r.Processor, r.Load.Before, r.Load.After)
	for _, p := range r.Parts {
		p.markdown(&b)
	}
	if r.Decoder != nil {
		r.Decoder.markdown(&b)
	}
	return b.String()
}

// inSeconds is the unit for whole decoders.
const inSeconds = "s"

// unit returns the unit of the part's times, and how many of it make a second.
func (p *Part) unit() (name string, of float64) {
	if len(p.Results) > 0 && p.Results[0].Case.Op == decoder {
		return inSeconds, 1
	}
	return "ms", 1e3
}

func (p *Part) markdown(b *strings.Builder) {
	unit, of := p.unit()
	title := strings.ToUpper(p.Where[:1]) + p.Where[1:]
	if unit == inSeconds {
		title += ", whole decoders"
	}
	fmt.Fprintf(b, "\n## %s\n\nAdapter: %s  \nPeers:", title, p.Adapter)
	for i, name := range slices.Sorted(maps.Keys(p.Versions)) {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(b, " %s %s", name, p.Versions[name])
	}
	fmt.Fprintf(b, "\n\n| | whose | best peer | its %[1]s | Tessera, %[1]s | ratio | bar | Tessera, GFLOP/s | difference, NMSE | frame by frame |\n|---|---|---|---|---|---|---|---|---|---|\n", unit)
	var others, none []string
	for _, r := range p.Results {
		r.row(b, of)
		var times []string
		for _, t := range r.Peers {
			switch words, timed := t.words(); {
			case t.Name == r.Best:
			case timed:
				times = append(times, t.Name+" "+words)
			case !slices.Contains(none, t.Name+": "+words):
				none = append(none, t.Name+": "+words)
			}
		}
		if times != nil {
			others = append(others, fmt.Sprintf("%v: %s", r.Case, strings.Join(times, ", ")))
		}
	}
	list(b, "The other ways and peers", others)
	list(b, "No time have", none)
}

func list(b *strings.Builder, what string, lines []string) {
	if lines != nil {
		fmt.Fprintf(b, "\n%s:\n\n- %s\n", what, strings.Join(lines, "\n- "))
	}
}

func (r *Result) row(b *strings.Builder, of float64) {
	fmt.Fprintf(b, "| %v | %s |", r.Case, r.Case.Of)
	speed := "" // empty if the case is not a product
	if r.GFLOPs > 0 {
		speed = fmt.Sprintf("%.1f", r.GFLOPs)
	}
	if r.Best == "" {
		fmt.Fprintf(b, " none | | %.1f | | %.0f× | %s | | |\n", of*r.Ours.Median, r.Bar, speed)
		return
	}
	for _, t := range r.Peers {
		if t.Name == r.Best {
			alone := ""
			if r.Single != nil {
				alone = fmt.Sprintf("%.1f ms, %.1f×", 1e3*r.Single.Median, t.Median/r.Single.Median)
			}
			fmt.Fprintf(b, " %s | %.1f | %.1f | %s | %.0f× | %s | %.0e | %s |\n", t.Name, of*t.Median, of*r.Ours.Median, ratio(r.Ratio, r.Bar), r.Bar, speed, t.NMSE, alone)
		}
	}
}

// ratio is bold if it reaches its bar.
func ratio(of, bar float64) string {
	if of < bar {
		return fmt.Sprintf("%.1f×, missed", of)
	}
	return fmt.Sprintf("**%.1f×**", of)
}

// words returns a time, or why it is missing.
func (t Time) words() (words string, timed bool) {
	if words, timed = strings.CutSuffix(t.Not, slower); timed {
		return words, true
	}
	if t.Not != "" {
		const longest = 200
		return strings.ToValidUTF8(t.Not[:min(len(t.Not), longest)], ""), false
	}
	return fmt.Sprintf("%.1f ms", 1e3*t.Median), true
}

func processor() string {
	name := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if model, ok := strings.CutPrefix(line, "model name"); ok {
				name = strings.TrimSpace(strings.TrimLeft(model, "\t :"))
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s", name, runtime.NumCPU(), runtime.GOOS)
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

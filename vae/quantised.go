//go:build !js

package vae

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tessera/format"
	"tessera/format/quantised"
	"tessera/format/quote"
)

// stored describes how a file's weights are stored; nil: as floats.
type stored struct{ *quantised.File }

// dequantised returns a file that reads quantised weights as floats.
func dequantised(f format.File) (format.File, stored) {
	if q := quantised.Open(f); q != nil {
		return q, stored{q}
	}
	return f, stored{}
}

// refuse reports the model's weights that cannot be read. f has all of them.
func (s stored) refuse(f format.File) error {
	if s.File == nil {
		return nil
	}
	var all []string
	for _, name := range f.Names() {
		if t, _ := f.Tensor(name); s.Reason(t.Name) != "" {
			all = append(all, t.Name+" "+s.Reason(t.Name))
		}
	}
	if all == nil {
		return nil
	}
	return fmt.Errorf("vae: %s: %d weights cannot be read, expected floats, or fp8 or int8 with scales: %s", f.Name(), len(all), quote.List(all, "; "))
}

// note counts a model's weights by storage, "" if all are floats.
func (s stored) note(f format.File) string {
	if s.File == nil {
		return ""
	}
	counts := map[string]int{}
	for _, name := range f.Names() {
		t, _ := f.Tensor(name)
		counts[s.Kind(t.Name)]++
	}
	delete(counts, "")
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d weights are %s", counts[kind], kind))
	}
	if all == nil {
		return ""
	}
	return strings.Join(all, ", ") + ": dequantised as they are loaded"
}

package tune

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tessera/gpu"
	"tessera/wgsl"
)

// Verdicts on a kernel: it agrees with the reference, the process that compared it did
// not finish, or there is no case to compare.
const (
	agrees       = "agrees with the reference"
	unfinished   = "its trial did not end"
	unverifiable = "there is no case to prove it by"
)

// Verification is the outcome of comparing a specialisation of a kernel with the reference.
type Verification struct {
	Operation string `json:"operation"`
	Kernel    string `json:"kernel"`
	Storage   string `json:"storage"` // of activations
	Weights   string `json:"weights"` // of weights
	Taps      int    `json:"taps,omitempty"`
	Blocks    int    `json:"blocks,omitempty"` // these as in wgsl.Specialisation
	Pixels    int    `json:"pixels,omitempty"`
	Narrow    bool   `json:"narrow,omitempty"`
	Verdict   string `json:"verdict"` // "agrees with the reference", or why the kernel is not used
}

// Agrees reports whether the kernel may be used.
func (p Verification) Agrees() bool { return p.Verdict == agrees }

func (p Verification) String() string {
	text := fmt.Sprintf("%s %s in %s", p.Operation, p.Kernel, stored(p.Storage, p.Weights))
	if p.Taps > 0 {
		text += ", " + count(p.Taps, "tap")
	}
	if p.Blocks > 0 {
		text += fmt.Sprintf(", %s of %s", count(p.Blocks, "block"), count(p.Pixels, "pixel"))
	}
	if p.Narrow {
		text += ", narrow"
	}
	text += ": " + p.Verdict
	if !p.Agrees() {
		text += ", not used"
	}
	return text
}

// count formats a number of things.
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// stored names the storage of activations, and that of weights if it differs.
func stored(activations, weights string) string {
	if activations == wgsl.F32.String() && weights == wgsl.Packed.String() {
		return "f32, weights in f16"
	}
	return activations
}

// Trial is the outcome of timing kernels.
type Trial struct {
	Class   string             `json:"class"`
	Taps    int                `json:"taps,omitempty"`
	Storage string             `json:"storage"`
	Weights string             `json:"weights"`
	Usual   string             `json:"usual"`  // the kernel that comes first
	Kernel  string             `json:"kernel"` // the kernel to use
	GFLOPs  map[string]float64 `json:"gflops"` // GFLOP/s of each, counting the operations of the kernel that computes the most
}

// quickest returns the kernel to use among the trusted ones: one other than the usual
// must take less than margin of its time.
func (t *Trial) quickest(trusted []string, margin float64) string {
	best := t.Usual
	for _, name := range trusted {
		if t.GFLOPs[name] > t.GFLOPs[best] && t.GFLOPs[name]*margin > t.GFLOPs[t.Usual] {
			best = name
		}
	}
	return best
}

func (t Trial) String() string {
	taps := ""
	if t.Taps > 0 {
		taps = fmt.Sprintf(", %d taps", t.Taps)
	}
	text := fmt.Sprintf("%s%s in %s: %s", t.Class, taps, stored(t.Storage, t.Weights), t.Kernel)
	if len(t.GFLOPs) > 0 {
		text += ", " + round(t.GFLOPs[t.Kernel]) + " GFLOP/s"
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(t.GFLOPs)) {
		if name != t.Kernel {
			others = append(others, name+" "+round(t.GFLOPs[name]))
		}
	}
	if others != nil {
		text += " (" + strings.Join(others, ", ") + ")"
	}
	return text
}

// round prints at least three digits.
func round(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Record is the stored knowledge about the kernels on an adapter with a driver.
type Record struct {
	Verifications []Verification `json:"proofs"`
	Trials        []Trial        `json:"trials"`
}

// subject identifies what a record is about: these texts of kernels.
func subject(set *wgsl.Set) string { return "kernels by text\n" + set.Texts() }

// Known returns what is known about the kernels on an adapter; an empty Record before
// any trial.
func (t *Tuner) Known(a gpu.Info) (Record, error) {
	set, err := t.newSet(wgsl.F32, a, nil)
	if err != nil {
		return Record{}, err
	}
	r := Record{Verifications: []Verification{}, Trials: []Trial{}}
	if !t.NoCache {
		r.add(loadRecord(a, set))
	}
	r.add(t.found[key(a)])
	return r, nil
}

// loadRecord returns the stored record, or an empty one if that is invalid.
func loadRecord(a gpu.Info, set *wgsl.Set) (r Record) {
	if json.Unmarshal(gpu.LoadResult(a, subject(set)), &r) != nil {
		return Record{}
	}
	return r
}

// storeRecord writes a record to the cache.
func storeRecord(a gpu.Info, set *wgsl.Set, r Record) {
	if text, err := json.Marshal(r); err == nil {
		gpu.StoreResult(a, subject(set), text)
	}
}

// about is a Trial with only the fields that identify it.
type about = Trial

// matches reports whether two trials have equal class, taps and storage.
func (t *Trial) matches(a about) bool {
	return t.Class == a.Class && t.Taps == a.Taps && t.Storage == a.Storage && t.Weights == a.Weights
}

// trial returns the trial of a workload, or nil.
func (r *Record) trial(a about) *Trial {
	for i := range r.Trials {
		if r.Trials[i].matches(a) {
			return &r.Trials[i]
		}
	}
	return nil
}

// verification returns the verification of a claim, or nil.
func (r *Record) verification(claim Verification) *Verification {
	for i := range r.Verifications {
		q := r.Verifications[i]
		q.Verdict = claim.Verdict
		if q == claim {
			return &r.Verifications[i]
		}
	}
	return nil
}

// refutes reports whether any text of a kernel was wrong. Then none of its texts is
// used for that storage of activations.
func (r *Record) refutes(operation, kernel, storage string) bool {
	return slices.ContainsFunc(r.Verifications, func(p Verification) bool {
		return p.Operation == operation && p.Kernel == kernel && p.Storage == storage && !p.Agrees()
	})
}

// add merges new results. A negative verdict stays.
func (r *Record) add(found Record) {
	for _, p := range found.Verifications {
		switch q := r.verification(p); {
		case q == nil:
			r.Verifications = append(r.Verifications, p)
		case q.Agrees() || q.Verdict == unfinished:
			q.Verdict = p.Verdict
		}
	}
	for _, t := range found.Trials {
		if old := r.trial(t); old != nil {
			*old = t
		} else {
			r.Trials = append(r.Trials, t)
		}
	}
}

// forget removes a verification that did not end.
func (r *Record) forget(claim Verification) {
	claim.Verdict = unfinished
	r.Verifications = slices.DeleteFunc(r.Verifications, func(p Verification) bool { return p == claim })
}

// Package tune chooses kernels by trial and verifies them before use. If several kernels
// can do what a job needs, it times them on the job's device and chooses the fastest,
// once for each adapter, driver and library. The results are kept in the user's cache
// folder.
//
// Each kernel but the plain one is first compared with a float64 reference on the
// processor, on random numbers. A kernel with a wrong result is never used, whatever
// features the adapter reports.
//
// Trials take at most a twentieth of the part of the job that they are for, added up over
// the jobs before it. Start at Tuner.Choose; Tuner.Known returns the results.
package tune

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"tessera/gpu"
	"tessera/wgsl"
)

// Tuner chooses kernels. The zero value tries them, and keeps what it found.
type Tuner struct {
	Off     bool                                                       // nothing is tried: what comes first is taken, if it is the plain one or computes what that should
	NoCache bool                                                       // nothing is kept, nor believed of what was
	Say     func(string)                                               // is told that it takes a moment; nil: nobody
	Least   int64                                                      // FLOPs of jobs, one or more, that are worth a trial; 0 is what takes some seconds on a slow device
	Patient bool                                                       // it tries all that there is, however long that takes next to the job
	Sets    func(wgsl.Elem, gpu.Info, wgsl.Choices) (*wgsl.Set, error) // nil is wgsl.NewSet

	Compile time.Duration // that a kernel may take to be compiled for a trial; 0 is 5 s

	found map[string]Record // by adapter, of this run of the program
	parts map[string]*share // by adapter, class and storage, of this run
}

// newSet makes a set of kernels.
func (t *Tuner) newSet(elem wgsl.Elem, a gpu.Info, choices wgsl.Choices) (*wgsl.Set, error) {
	if t.Sets != nil {
		return t.Sets(elem, a, choices)
	}
	return wgsl.NewSet(elem, a, choices)
}

// least is Tuner.Least where that is 0: on a device of 10 GFLOP/s, 20 s.
const least = 2e11

// workload is what a job does of a class: for the most part with so many taps.
type workload struct {
	wgsl.Workload
	flops int64 // of the class
}

// workloads are work by classes, the most first. A class takes one kernel, so what
// counts is how most of it is done.
func workloads(by map[wgsl.Workload]int64) []workload {
	most := map[wgsl.Class]wgsl.Workload{}
	sums := map[wgsl.Class]int64{}
	work := map[wgsl.Workload]int64{} // by whichever kernel and text
	for d, flops := range by {
		d.Kernel, d.Specialisation = "", wgsl.Specialisation{}
		work[d] += flops
	}
	for d, flops := range work {
		sums[d.Class] += flops
		if m, ok := most[d.Class]; !ok || flops > work[m] || flops == work[m] && before(d, m) {
			most[d.Class] = d
		}
	}
	var all []workload
	for class, d := range most {
		all = append(all, workload{d, sums[class]})
	}
	slices.SortFunc(all, func(a, b workload) int {
		return cmp.Or(cmp.Compare(b.flops, a.flops), cmp.Compare(a.Class.String(), b.Class.String()))
	})
	return all
}

// withWinograd is work with what of it frames in pairs could do: a job that makes them
// one by one does not tell.
func (c *chooser) withWinograd(work map[wgsl.Workload]int64) map[wgsl.Workload]int64 {
	known := map[wgsl.Class]bool{}
	for d := range work {
		known[d.Class] = true
	}
	all := maps.Clone(work)
	for d, flops := range work {
		winograd := d
		winograd.Operation, winograd.Taps, winograd.Kernel, winograd.Specialisation = "conv3d_winograd", 0, "", wgsl.Specialisation{}
		if d.Operation == "conv3d" && d.Taps == 3 && !known[winograd.Class] && len(c.kernels(workload{Workload: winograd})) > 0 {
			all[winograd] += flops
		}
	}
	return all
}

// before orders workloads of a class that are done as often.
func before(a, b wgsl.Workload) bool {
	return cmp.Or(cmp.Compare(a.Taps, b.Taps), cmp.Compare(a.Weight, b.Weight)) < 0
}

// Choose is a vae.Chooser: the kernels for a job, work, whose commands set has
// recorded. Where they are recorded with what it has chosen for the job it tries no
// more, and gives that without what turns out to be wrong. Its errors are the
// device's and the context's.
func (t *Tuner) Choose(ctx context.Context, dev *gpu.Device, set *wgsl.Set, work map[wgsl.Workload]int64, chosen wgsl.Choices) (wgsl.Choices, error) {
	if gpu.SkipVerification() {
		return nil, nil
	}
	worked := dev.Stats().Submissions
	c := t.begin(ctx, dev, set)
	all := workloads(c.withWinograd(work))
	err := c.verifyAll(work)
	if err == nil && !t.Off && chosen == nil {
		err = c.tryAll(all)
	}
	if dev.Stats().Submissions > worked { // of the job alone
		dev.ResetPeaks()
	}
	if err != nil && !errors.Is(err, gpu.ErrOutOfMemory) {
		return nil, err
	}
	if chosen != nil {
		return c.left(work, all, chosen), nil
	}
	return c.choices(work, all), nil
}

// Chosen are the kernels that trials on an adapter have chosen so far for
// activations stored as elem, for whatever a job does.
func (t *Tuner) Chosen(a gpu.Info, elem wgsl.Elem) (wgsl.Choices, error) {
	known, err := t.Known(a)
	if err != nil || t.Off {
		return nil, err
	}
	choices := wgsl.Choices{}
	for i := range known.Trials {
		trial := &known.Trials[i]
		operation, _, _ := strings.Cut(trial.Class, " ")
		if trial.Storage == elem.String() && trial.Kernel != trial.Usual && !known.refutes(operation, trial.Kernel, trial.Storage) {
			choices[trial.Class] = trial.Kernel
		}
	}
	return choices, nil
}

// left are choices without what is refuted. Operations that have it in the job, or
// would by themselves, are left to their plain kernels.
func (c *chooser) left(work map[wgsl.Workload]int64, all []workload, chosen wgsl.Choices) wgsl.Choices {
	choices := wgsl.Choices{}
	for name, kernel := range chosen {
		operation, _, _ := strings.Cut(name, " ")
		if !c.record.refutes(operation, kernel, c.elem.String()) {
			choices[name] = kernel
		}
	}
	for _, d := range all {
		if c.refuted(d, c.kernels(d)[0]) {
			choices[d.Operation] = "plain"
		}
	}
	for d := range work {
		if c.refuted(workload{Workload: d}, d.Kernel) {
			choices[d.Operation] = "plain"
		}
	}
	return choices
}

// choices are what the record has for workloads.
func (c *chooser) choices(work map[wgsl.Workload]int64, all []workload) wgsl.Choices {
	choices := c.left(work, all, nil)
	for _, d := range all {
		names := c.trusted(d)
		if trial := c.record.trial(c.about(d)); trial != nil && !c.Off && trial.Usual == names[0] {
			if kernel := trial.quickest(names, c.margin()); kernel != names[0] {
				choices[d.Class.String()] = kernel
			}
		}
	}
	return choices
}

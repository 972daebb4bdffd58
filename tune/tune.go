// Package tune chooses kernels by trial and verifies them before use. If several kernels
// can do the work of a job, it times them on the job's device and chooses the fastest,
// once for each adapter, driver and library. It stores the results in the user's cache
// folder.
//
// A Tuner's method Choose is a vae.Chooser, which package vae calls for each job:
//
//	tuner := &tune.Tuner{Say: func(text string) { log.Print(text) }}
//	settings.Kernels.Choose = tuner.Choose
//
// Known returns the stored results, Chosen the kernels that they imply.
//
// Each kernel except the plain one is first compared with a float64 reference on the
// processor, on random numbers. A kernel with a wrong result is never used, whatever
// features the adapter reports.
//
// Trials take at most a twentieth of the work that they are for, added up over the jobs
// so far.
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

// Tuner chooses kernels. The zero value tries them and stores the results.
type Tuner struct {
	Off     bool                                                       // no trials: the default kernel is used, if it is the plain one or verified
	NoCache bool                                                       // neither store nor use stored results
	Say     func(string)                                               // called with a message that this takes a moment; nil: no message
	Least   int64                                                      // FLOPs of one or more jobs that are worth a trial; 0: some seconds on a slow device
	Patient bool                                                       // try all kernels, however long that takes compared with the job
	Sets    func(wgsl.Elem, gpu.Info, wgsl.Choices) (*wgsl.Set, error) // creates sets; nil: wgsl.NewSet

	Compile time.Duration // limit for compiling a kernel for a trial; 0: 5 s

	found map[string]Record // by adapter, in this run of the program
	parts map[string]*share // by adapter, class and storage, in this run
}

// newSet makes a set of kernels.
func (t *Tuner) newSet(elem wgsl.Elem, a gpu.Info, choices wgsl.Choices) (*wgsl.Set, error) {
	if t.Sets != nil {
		return t.Sets(elem, a, choices)
	}
	return wgsl.NewSet(elem, a, choices)
}

// least is the default of Tuner.Least: 20 s on a device of 10 GFLOP/s.
const least = 2e11

// workload is a job's work of a class; its Taps are those of most of it.
type workload struct {
	wgsl.Workload
	flops int64 // of the class
}

// workloads lists work by class, the most first. A class has one kernel, so most of its
// work decides.
func workloads(by map[wgsl.Workload]int64) []workload {
	most := map[wgsl.Class]wgsl.Workload{}
	sums := map[wgsl.Class]int64{}
	work := map[wgsl.Workload]int64{} // summed over kernels and texts
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

// withWinograd adds the part of work that could be computed in pairs of frames. A job
// that computes frames one by one does not list it.
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

// before orders workloads of a class with equal work.
func before(a, b wgsl.Workload) bool {
	return cmp.Or(cmp.Compare(a.Taps, b.Taps), cmp.Compare(a.Weight, b.Weight)) < 0
}

// Choose is a vae.Chooser. It returns the kernels for a job with this work, whose
// commands set has recorded. If they were recorded with the choices of an earlier call,
// chosen, it makes no further trials and returns these choices without kernels that
// turn out to be wrong. Its errors are those of the device and the context.
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
	if dev.Stats().Submissions > worked { // count only the job
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

// Chosen returns the kernels that trials on an adapter have chosen so far for
// activations stored as elem, for any job.
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

// left returns the choices without refuted kernels. Operations that use a refuted kernel
// in the job, or would by default, get their plain kernels.
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

// choices returns the record's choices for workloads.
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

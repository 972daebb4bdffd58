package tune

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"tessera/gpu"
	"tessera/wgsl"
)

const (
	part   = 20 // a trial may take 1/part of the work it is for
	rounds = 3

	// A kernel must take less than this share of the usual kernel's time to be used.
	// Processors also run other programs. Kernels of several dispatches lose more to
	// these than others, because they wait for all threads in between.
	margin, cpuMargin = 0.95, 0.75

	minRun  = 2 * time.Millisecond // shortest run on a graphics card that is measured well
	minSide = 24                   // of frames; the only side on processors
	maxSide = 128
	most    = 128 << 20 // bytes of a sample on the device, at most
)

// chooser is the state of one Tuner.Choose.
type chooser struct {
	*Tuner
	ctx       context.Context
	dev       *gpu.Device
	info      gpu.Info
	elem      wgsl.Elem
	usual     *wgsl.Set // of the job
	sets      map[string]*wgsl.Set
	expected  map[expectation]func() []float64 // results of small cases
	record    Record                           // the stored record, and results since then
	sides     map[wgsl.Workload]int            // sides of frames at which workloads are measured well
	announced bool                             // Say was called
}

// begin loads the known results.
func (t *Tuner) begin(ctx context.Context, dev *gpu.Device, set *wgsl.Set) *chooser {
	c := &chooser{Tuner: t, ctx: ctx, dev: dev, info: dev.Info(), elem: set.Elem, usual: set, sets: map[string]*wgsl.Set{}, expected: map[expectation]func() []float64{}, sides: map[wgsl.Workload]int{}}
	c.record = c.loadSettled()
	if t.found == nil {
		t.found = map[string]Record{}
	}
	c.record.add(t.found[key(c.info)])
	return c
}

// key distinguishes the machine's adapters.
func key(a gpu.Info) string { return fmt.Sprintln(a.Index, a.Name, a.Driver, a.Backend) }

// note adds to the record and to the stored one, to which other processes may have
// added meanwhile.
func (c *chooser) note(found Record) {
	c.record.add(found)
	c.found[key(c.info)] = c.record
	if c.NoCache {
		return
	}
	r := loadRecord(c.info, c.usual)
	r.add(found)
	storeRecord(c.info, c.usual, r)
}

// announce calls Say once: this takes a moment.
func (c *chooser) announce() {
	if !c.announced && c.Say != nil {
		c.Say("choosing kernels")
	}
	c.announced = true
}

// kernels lists the kernels that can do a workload, the default first.
func (c *chooser) kernels(d workload) []string {
	return c.usual.Kernels(d.Operation, shapeOf(d.Workload))
}

// trusted lists the kernels that are not refuted. The plain kernel comes first if the
// default is refuted, and is the only one if all are.
func (c *chooser) trusted(d workload) []string {
	names := c.kernels(d)
	if at := slices.Index(names, "plain"); c.refuted(d, names[0]) && at > 0 {
		names[0], names[at] = names[at], names[0]
	}
	if left := slices.DeleteFunc(names, func(name string) bool { return c.refuted(d, name) }); len(left) > 0 {
		return left
	}
	return []string{"plain"}
}

func (c *chooser) refuted(d workload, kernel string) bool {
	return c.record.refutes(d.Operation, kernel, c.elem.String())
}

// claim returns the verification to make: the specialisation of a kernel for a
// workload.
func (c *chooser) claim(d wgsl.Workload, kernel string) Verification {
	return Verification{
		Operation: d.Operation, Kernel: kernel, Storage: c.elem.String(), Weights: d.Weight.String(),
		Taps: d.Taps, Blocks: d.Blocks, Pixels: d.Pixels, Narrow: d.Narrow,
	}
}

// about identifies the trial of a workload.
func (c *chooser) about(d workload) about {
	return about{Class: d.Class.String(), Taps: d.Taps, Storage: c.elem.String(), Weights: d.Weight.String()}
}

// verifyAll verifies each specialisation of a kernel in the job, except plain ones,
// however short the job is. The job compiles them in any case.
func (c *chooser) verifyAll(work map[wgsl.Workload]int64) error {
	all := slices.SortedFunc(maps.Keys(work), func(a, b wgsl.Workload) int {
		return cmp.Or(cmp.Compare(work[b], work[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	for _, d := range all {
		name := d.Kernel
		if name == "" {
			name = c.kernels(workload{Workload: d})[0]
		}
		if name == "plain" || c.record.verification(c.claim(d, name)) != nil || c.refuted(workload{Workload: d}, name) {
			continue
		}
		if _, err := c.verify(d, name); err != nil {
			return err
		}
	}
	return nil
}

// candidates are the kernels of a workload that were not yet timed against its usual
// one, the most likely first.
type candidates struct {
	workload
	usual   string
	kernels []string
	share   *share
}

// share is the jobs' work of a class in this run of the program, and the time spent on
// its trials.
type share struct {
	flops int64
	spent time.Duration
}

// share returns the share of a workload's class, and adds the job's work to it.
func (c *chooser) share(d workload) *share {
	of := key(c.info) + d.Class.String() + c.elem.String()
	if c.parts == nil {
		c.parts = map[string]*share{}
	}
	if c.parts[of] == nil {
		c.parts[of] = &share{}
	}
	c.parts[of].flops += d.flops
	return c.parts[of]
}

// comparison is a candidate to be timed against the usual kernel.
type comparison struct {
	*candidates
	kernel string
}

// interleave orders all candidates: the first of each workload before the second of any.
func interleave(all []*candidates) (order []comparison) {
	for i, left := 0, true; left; i++ {
		left = false
		for _, r := range all {
			if i < len(r.kernels) {
				order, left = append(order, comparison{r, r.kernels[i]}), true
			}
		}
	}
	return order
}

// candidates returns those of a workload, or nil if all were timed.
func (c *chooser) candidates(d workload) *candidates {
	names := c.trusted(d)
	r := &candidates{workload: d, usual: names[0]}
	trial := c.record.trial(c.about(d))
	for _, name := range names[1:] {
		if trial == nil || trial.GFLOPs[name] == 0 {
			r.kernels = append(r.kernels, name)
		}
	}
	if len(r.kernels) == 0 {
		return nil
	}
	return r
}

// budget limits the time for trials.
type budget struct {
	each  time.Duration // for a kernel's trial, mostly compilation; a guess before the first
	all   time.Duration // for all trials; 0: only the limit relative to the job
	speed float64       // FLOP/s of the job: the highest of a usual kernel
	spent time.Duration
	tried int
}

// budget returns the budget before anything is known about the device.
func (c *chooser) budget() *budget {
	if c.info.Type == "cpu" {
		return &budget{each: time.Second}
	}
	return &budget{each: 50 * time.Millisecond, all: 300 * time.Millisecond}
}

// pays reports whether the budget allows one more kernel for a workload.
func (b *budget) pays(r *candidates) bool {
	most := float64(r.share.flops) / b.speed / part
	return (r.share.spent+b.each).Seconds() <= most && (b.all == 0 || b.spent+b.each <= b.all)
}

// took records the time of a trial, and the usual kernel's FLOP/s in it; 0: it was not
// timed. Samples are small, and other programs may compute meanwhile, so the highest
// FLOP/s is closest to the job's.
func (b *budget) took(r *candidates, t time.Duration, speed float64) {
	b.speed = max(b.speed, speed)
	r.share.spent += t
	b.spent += t
	b.tried++
	b.each = b.spent / time.Duration(b.tried)
}

// tryAll times kernels that were not tried yet, as far as it pays. It skips the others,
// which are left to later jobs.
func (c *chooser) tryAll(all []workload) error {
	var total int64
	var pending []*candidates
	for _, d := range all {
		s := c.share(d)
		total += s.flops
		if r := c.candidates(d); r != nil {
			r.share = s
			pending = append(pending, r)
		}
	}
	worth := c.Least
	if worth == 0 {
		worth = least
	}
	if total < worth || len(pending) == 0 {
		return nil
	}
	b := c.budget()
	var err error
	if _, b.speed, err = c.speed(pending[0].workload, pending[0].usual); err != nil {
		return err
	}
	for _, t := range interleave(pending) {
		if !c.Patient && !b.pays(t.candidates) {
			continue
		}
		start := time.Now()
		speed, err := c.try(t)
		if err != nil {
			return err
		}
		b.took(t.candidates, time.Since(start), speed)
	}
	return nil
}

// try verifies a kernel and times it against the usual one. It returns the usual
// kernel's FLOP/s.
func (c *chooser) try(t comparison) (speed float64, err error) {
	c.announce()
	trial := c.about(t.workload)
	gflops := map[string]float64{}
	if old := c.record.trial(trial); old != nil && old.Usual == t.usual {
		maps.Copy(gflops, old.GFLOPs)
	}
	ok, err := c.verify(t.Workload, t.kernel)
	if err != nil {
		return 0, err
	}
	if ok {
		var now map[string]float64
		if now, speed, err = c.time(t.workload, []string{t.usual, t.kernel}); err != nil {
			return 0, err
		}
		scale := 1.0 // relative to the usual kernel's first measurement
		if before := gflops[t.usual]; before > 0 {
			scale = before / now[t.usual]
		}
		for name, speed := range now {
			gflops[name] = scale * speed
		}
	}
	trial.Usual, trial.GFLOPs = t.usual, gflops
	trial.Kernel = trial.quickest(c.trusted(t.workload), c.margin())
	c.note(Record{Trials: []Trial{trial}})
	return speed, nil
}

// speed finds the side of samples at which a kernel is measured well, and its FLOP/s.
func (c *chooser) speed(d workload, kernel string) (side int, flops float64, err error) {
	for side = max(minSide, c.sides[d.Workload]); ; side *= 2 {
		r, err := c.runner(d, kernel, side)
		if err != nil {
			return 0, 0, err
		}
		for range 2 { // the first compiles
			if err == nil {
				err = r.run()
			}
		}
		r.free()
		if err != nil {
			return 0, 0, err
		}
		if c.info.Type == "cpu" || r.best >= minRun || 2*side > maxSide || !c.fits(r.sample) {
			c.sides[d.Workload] = side
			return side, float64(r.flops()) / r.best.Seconds(), nil
		}
	}
}

// margin returns the margin for the device.
func (c *chooser) margin() float64 {
	if c.info.Type == "cpu" {
		return cpuMargin
	}
	return margin
}

// fits reports whether a sample of twice the side has room.
func (c *chooser) fits(s *sample) bool {
	all, largest := s.bytes()
	return 4*all <= most && 4*largest <= c.info.Limits.MaxBinding
}

// time measures kernels in turns. It returns the GFLOP/s of their best runs, and the
// first one's FLOP/s. The GFLOP/s count the operations of the kernel that computes the
// most, because others may need fewer for equal results. A kernel that is slow in its
// first run is not run again.
func (c *chooser) time(d workload, names []string) (gflops map[string]float64, speed float64, err error) {
	side, speed, err := c.speed(d, names[0])
	if err != nil {
		return nil, 0, err
	}
	var all []*runner
	defer func() {
		for _, r := range all {
			r.free()
		}
	}()
	for _, name := range names {
		r, err := c.runner(d, name, side)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, r)
		for i := 0; i < 2 && name != names[0]; i++ { // the first warms up
			r.best = 0
			if err := r.run(); err != nil {
				return nil, 0, err
			}
		}
	}
	all[0].best = time.Duration(float64(all[0].flops()) / speed * float64(time.Second))
	left := slices.DeleteFunc(slices.Clone(all), func(r *runner) bool { return r.best > all[0].best*5/4 })
	for i := 0; i < rounds && len(left) > 1; i++ {
		for _, r := range left {
			if err := r.run(); err != nil {
				return nil, 0, err
			}
		}
	}
	flops := int64(0)
	for _, r := range all {
		flops = max(flops, r.flops())
	}
	gflops = map[string]float64{}
	for i, r := range all {
		gflops[names[i]] = float64(flops) / r.best.Seconds() / 1e9
	}
	return gflops, float64(all[0].flops()) / all[0].best.Seconds(), nil
}

// runner runs a sample of a kernel.
type runner struct {
	c      *chooser
	sample *sample
	best   time.Duration
}

// runner returns a runner for a kernel on frames of a side, with memory.
func (c *chooser) runner(d workload, kernel string, side int) (*runner, error) {
	set, err := c.set(c.elem, d.Operation, kernel)
	if err != nil {
		return nil, err
	}
	r := &runner{c: c, sample: newSample(set, d.Workload, d.Weight, square(side))}
	return r, c.dev.Alloc(r.sample.buffers...)
}

func (r *runner) flops() int64 { return r.sample.batch.Cost().FLOPs }

func (r *runner) free() { r.c.dev.Free(r.sample.buffers...) }

// run runs the sample as often as the clock's resolution requires: on Windows it is a
// millisecond or more.
func (r *runner) run() error {
	start, least := time.Now(), 100*time.Microsecond
	if runtime.GOOS == "windows" {
		least = 30 * time.Millisecond
	}
	for n := time.Duration(1); ; n++ {
		err := r.c.dev.Submit(r.c.ctx, r.sample.batch)
		if err == nil {
			err = r.c.dev.Wait(r.c.ctx)
		}
		took := time.Since(start)
		if err == nil && took < least {
			continue
		}
		if r.best == 0 || took/n < r.best {
			r.best = took / n
		}
		return err
	}
}

// set returns a set that uses a kernel of an operation wherever it can.
func (c *chooser) set(elem wgsl.Elem, operation, kernel string) (*wgsl.Set, error) {
	key := elem.String() + " " + operation + " " + kernel
	if s := c.sets[key]; s != nil {
		return s, nil
	}
	s, err := c.newSet(elem, c.info, wgsl.Choices{operation: kernel})
	if err == nil {
		c.sets[key] = s
	}
	return s, err
}

package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"tessera/gpu"
	"tessera/wgsl"
)

// Bounds of the squared error of a kernel, relative to the numbers, by storage. They
// are those of the operations' tests; a wrong kernel is far beyond.
const (
	boundF32  = 1e-9
	boundHalf = 1e-6
)

// verifyChannels is enough for several blocks of each kernel.
const verifyChannels = 64

// verifyCase is a small case that runs a specialisation of a kernel.
type verifyCase struct {
	sample      *sample
	expectation func() []float64
	claims      []Verification // all verifications that it covers
}

// verifyCase returns a case that runs the specialisation of a workload or, if the
// workload leaves that open, one of the kernel for about as many channels; nil if there
// is none.
func (c *chooser) verifyCase(d wgsl.Workload, kernel string) (*verifyCase, error) {
	set, err := c.set(c.elem, d.Operation, kernel)
	if err != nil {
		return nil, err
	}
	few := d
	few.In = min(d.In, verifyChannels)
	for _, z := range verifySizes {
		for _, few.Out = range []int{min(d.Out, verifyChannels), 8, 16, 24, verifyChannels, d.Out} { // of one, two, three blocks and more
			if !slices.Contains(c.kernels(workload{Workload: few}), kernel) {
				continue
			}
			p := &verifyCase{sample: newSample(set, few, d.Weight, z)}
			for _, command := range p.sample.batch.Commands {
				of, ok := set.Workload(command.Program)
				claim := c.claim(of, kernel)
				if ok && of.Operation == d.Operation && of.Kernel == kernel && !slices.Contains(p.claims, claim) {
					p.claims = append(p.claims, claim)
				}
			}
			if d.Kernel == "" && len(p.claims) > 0 || slices.Contains(p.claims, c.claim(d, kernel)) {
				p.expectation = c.reference(few, z)
				return p, nil
			}
		}
	}
	return nil, nil
}

// verify runs a small case with a kernel on the device and compares the result with the
// reference, as tests do with the plain kernels. Until the verdict is known, the record
// says that the trial did not end: a kernel that crashes the program or the device is
// not tried again.
func (c *chooser) verify(d wgsl.Workload, kernel string) (bool, error) {
	p, err := c.verifyCase(d, kernel)
	if err != nil {
		return false, err
	}
	if p == nil && kernel == "plain" { // for F(2,3) it runs single frames by other operations' kernels, which are verified if a job has them
		return true, nil
	}
	if p == nil {
		claim := c.claim(d, kernel)
		claim.Verdict = unverifiable
		c.note(Record{Verifications: []Verification{claim}})
		return false, nil
	}
	defer c.lock()()
	c.record.add(c.load())
	claims := slices.DeleteFunc(p.claims, func(claim Verification) bool { return c.record.verification(claim) != nil })
	if len(claims) == 0 {
		return !c.refuted(workload{Workload: d}, kernel), nil
	}
	c.note(Record{Verifications: withVerdict(claims, unfinished)})
	verdict, err := c.verdict(p, kernel != c.kernels(workload{Workload: d})[0])
	if c.ctx.Err() != nil {
		c.forget(claims)
		return false, c.ctx.Err()
	}
	if err != nil {
		if !errors.Is(err, gpu.ErrDeviceLost) {
			c.forget(claims)
		}
		return false, err
	}
	c.note(Record{Verifications: withVerdict(claims, verdict)})
	return verdict == agrees, nil
}

// lock keeps other processes from verifying kernels until release is called. It waits at
// most lockTimeout for another process, which may hang.
func (c *chooser) lock() (release func()) {
	if c.NoCache {
		return func() {}
	}
	ctx, stop := context.WithTimeout(c.ctx, lockTimeout)
	defer stop()
	release, err := gpu.LockResults(ctx)
	if err != nil {
		return func() {}
	}
	return release
}

// lockTimeout is several times what a verification takes on a slow device.
const lockTimeout = time.Minute

// loadSettled returns the stored record. If a trial there did not end, another process may
// be running it: loadSettled waits for that process, so that a kernel that turns out right
// is not left out.
func (c *chooser) loadSettled() Record {
	r := c.load()
	if slices.ContainsFunc(r.Verifications, func(p Verification) bool { return p.Verdict == unfinished }) {
		release := c.lock()
		r = c.load()
		release()
	}
	return r
}

// load returns the stored record as it is, or an empty one if there is no cache.
func (c *chooser) load() Record {
	if c.NoCache {
		return Record{}
	}
	return loadRecord(c.info, c.usual)
}

// withVerdict returns claims with a verdict.
func withVerdict(claims []Verification, verdict string) []Verification {
	claims = slices.Clone(claims)
	for i := range claims {
		claims[i].Verdict = verdict
	}
	return claims
}

// forget removes the entries of trials that did not end.
func (c *chooser) forget(claims []Verification) {
	r := loadRecord(c.info, c.usual)
	for _, claim := range claims {
		c.record.forget(claim)
		r.forget(claim)
	}
	c.found[key(c.info)] = c.record
	if !c.NoCache {
		storeRecord(c.info, c.usual, r)
	}
}

// verdict compares a case's result with the reference, which is computed while the
// kernel compiles. limited limits the time to compile. Errors are those of the device.
func (c *chooser) verdict(p *verifyCase, limited bool) (string, error) {
	go p.expectation()
	if limited && c.timesOut(p.sample) {
		return fmt.Sprintf("does not compile within %v", c.compile()), nil
	}
	got, err := c.compute(p.sample)
	switch {
	case errors.Is(err, gpu.ErrDeviceLost), errors.Is(err, gpu.ErrOutOfMemory), c.ctx.Err() != nil:
		return "", err
	case err != nil:
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Sprintf("does not run: %.200s", first), nil
	}
	bound := boundHalf
	if c.elem == wgsl.F32 { // weights in halves are exact
		bound = boundF32
	}
	if e := nmse(got, p.expectation()); !(e <= bound) {
		return fmt.Sprintf("disagrees with the reference (NMSE %.0e)", e), nil
	}
	return agrees, nil
}

// expectation identifies an expected result by everything that it depends on.
type expectation struct {
	class wgsl.Class
	taps  int
	size  size
}

// reference returns a function for the expected result of a workload's case, which is
// computed once.
func (c *chooser) reference(d wgsl.Workload, z size) func() []float64 {
	of := expectation{d.Class, d.Taps, z}
	if c.expected[of] == nil {
		c.expected[of] = sync.OnceValue(func() []float64 { return references[d.Operation](d, z) })
	}
	return c.expected[of]
}

// compile returns how long a compiler may take.
func (t *Tuner) compile() time.Duration {
	if t.Compile > 0 {
		return t.Compile
	}
	return 5 * time.Second
}

// timesOut reports whether a sample does not compile in time. Any other compiler error
// comes again when the sample runs.
func (c *chooser) timesOut(s *sample) bool {
	ctx, stop := context.WithTimeout(c.ctx, c.compile())
	defer stop()
	err := c.dev.Compile(ctx, []*gpu.Batch{s.batch}, nil)
	return err != nil && ctx.Err() != nil && c.ctx.Err() == nil
}

// compute runs a sample and returns its result.
func (c *chooser) compute(s *sample) ([]float32, error) {
	defer c.dev.Free(s.buffers...)
	if err := c.dev.Alloc(s.buffers...); err != nil {
		return nil, err
	}
	for _, in := range s.inputs {
		if err := c.dev.Write(in.buffer.All(), in.data()); err != nil {
			return nil, err
		}
	}
	if err := c.dev.Submit(c.ctx, s.batch); err != nil {
		return nil, err
	}
	raw := make([]byte, s.out.Buffer.Size)
	if err := c.dev.Read(c.ctx, raw, s.out.Buffer.All()); err != nil {
		return nil, err
	}
	return decode(raw, s.out.Elem), nil
}

// nmse is the squared error relative to want.
func nmse(got []float32, want []float64) float64 {
	if len(got) < len(want) {
		return math.Inf(1)
	}
	var wrong, all float64
	for i, w := range want {
		e := float64(got[i]) - w
		wrong, all = wrong+e*e, all+w*w
	}
	return wrong / all
}

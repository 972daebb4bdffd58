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

// Bounds of the squared error of a kernel relative to the numbers themselves, by
// how it stores them: those of the operations' own tests. A wrong one is far
// beyond.
const (
	boundF32  = 1e-9
	boundHalf = 1e-6
)

// proofChannels are enough for several blocks of each kernel's.
const proofChannels = 64

// proof is a small case that has a text of a kernel.
type proof struct {
	sample *sample
	right  func() []float64
	claims []Proof // all that it proves
}

// proof is that of a workload's text, or where the workload leaves the kernel open, of a text
// that the kernel has for about so many channels; nil where no case has it.
func (c *chooser) proof(d wgsl.Workload, kernel string) (*proof, error) {
	set, err := c.set(c.elem, d.Operation, kernel)
	if err != nil {
		return nil, err
	}
	few := d
	few.In = min(d.In, proofChannels)
	for _, z := range smalls {
		for _, few.Out = range []int{min(d.Out, proofChannels), 8, 16, 24, proofChannels, d.Out} { // of one, two, three blocks and more
			if !slices.Contains(c.kernels(workload{Workload: few}), kernel) {
				continue
			}
			p := &proof{sample: newSample(set, few, d.Weight, z)}
			for _, command := range p.sample.batch.Commands {
				of, ok := set.Workload(command.Program)
				claim := c.claim(of, kernel)
				if ok && of.Operation == d.Operation && of.Kernel == kernel && !slices.Contains(p.claims, claim) {
					p.claims = append(p.claims, claim)
				}
			}
			if d.Kernel == "" && len(p.claims) > 0 || slices.Contains(p.claims, c.claim(d, kernel)) {
				p.right = c.reference(few, z)
				return p, nil
			}
		}
	}
	return nil, nil
}

// prove has the device compute a small case with a kernel, and notes whether that
// is what the reference says, to which tests hold the plain kernels. Until that is
// known the record has it that the trial did not end: a kernel that takes the
// program down with it, or the device, is not tried again.
func (c *chooser) prove(d wgsl.Workload, kernel string) (bool, error) {
	p, err := c.proof(d, kernel)
	if err != nil {
		return false, err
	}
	if p == nil && kernel == "plain" { // of F(2,3): single frames by other operations' kernels, which are proven where a job has them
		return true, nil
	}
	if p == nil {
		claim := c.claim(d, kernel)
		claim.Verdict = unproven
		c.note(Record{Proofs: []Proof{claim}})
		return false, nil
	}
	defer c.hold()()
	c.record.add(c.kept())
	claims := slices.DeleteFunc(p.claims, func(claim Proof) bool { return c.record.proof(claim) != nil })
	if len(claims) == 0 {
		return !c.refuted(workload{Workload: d}, kernel), nil
	}
	c.note(Record{Proofs: as(claims, unfinished)})
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
	c.note(Record{Proofs: as(claims, verdict)})
	return verdict == agrees, nil
}

// hold keeps other processes from proving while this one does, and waits until they have
// done so, not for ever: one of them may stand still. What it returns ends that.
func (c *chooser) hold() (release func()) {
	if c.NoCache {
		return func() {}
	}
	ctx, stop := context.WithTimeout(c.ctx, patience)
	defer stop()
	release, err := gpu.Hold(ctx)
	if err != nil {
		return func() {}
	}
	return release
}

// patience is how long to wait for others, some times what a proof takes on a slow device.
const patience = time.Minute

// recalled is the record that was kept. A trial that did not end there may be another
// process's, which is at it and has the record until then: a kernel that will turn out
// right is not left out meanwhile.
func (c *chooser) recalled() Record {
	r := c.kept()
	if slices.ContainsFunc(r.Proofs, func(p Proof) bool { return p.Verdict == unfinished }) {
		release := c.hold()
		r = c.kept()
		release()
	}
	return r
}

// kept is the record as it is, an empty one if none is to be believed.
func (c *chooser) kept() Record {
	if c.NoCache {
		return Record{}
	}
	return recall(c.info, c.usual)
}

// as are claims with a verdict.
func as(claims []Proof, verdict string) []Proof {
	claims = slices.Clone(claims)
	for i := range claims {
		claims[i].Verdict = verdict
	}
	return claims
}

// forget takes back that trials did not end.
func (c *chooser) forget(claims []Proof) {
	r := recall(c.info, c.usual)
	for _, claim := range claims {
		c.record.forget(claim)
		r.forget(claim)
	}
	c.found[key(c.info)] = c.record
	if !c.NoCache {
		keep(c.info, c.usual, r)
	}
}

// verdict compares. Its errors are those of the device. The reference is computed
// while the kernel compiles, for which there is a limit.
func (c *chooser) verdict(p *proof, limited bool) (string, error) {
	go p.right()
	if limited && c.late(p.sample) {
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
	if c.elem == wgsl.F32 { // weights that are halves are exact
		bound = boundF32
	}
	if e := nmse(got, p.right()); !(e <= bound) {
		return fmt.Sprintf("disagrees with the reference (NMSE %.0e)", e), nil
	}
	return agrees, nil
}

// right is what a result depends on.
type right struct {
	class wgsl.Class
	taps  int
	size  size
}

// reference is what a case of a workload is to give, once it is computed.
func (c *chooser) reference(d wgsl.Workload, z size) func() []float64 {
	of := right{d.Class, d.Taps, z}
	if c.rights[of] == nil {
		c.rights[of] = sync.OnceValue(func() []float64 { return references[d.Operation](d, z) })
	}
	return c.rights[of]
}

// compile is how long a compiler may take.
func (t *Tuner) compile() time.Duration {
	if t.Compile > 0 {
		return t.Compile
	}
	return 5 * time.Second
}

// late says whether a sample does not compile in time. Another error of the
// compiler comes again when it runs.
func (c *chooser) late(s *sample) bool {
	ctx, stop := context.WithTimeout(c.ctx, c.compile())
	defer stop()
	err := c.dev.Compile(ctx, []*gpu.Batch{s.batch}, nil)
	return err != nil && ctx.Err() != nil && c.ctx.Err() == nil
}

// compute runs a sample.
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

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

// prove has the device compute a small case with a kernel, and notes whether that
// is what the reference says, to which tests hold the plain kernels. Until that is
// known the record has it that the trial did not end: a kernel that takes the
// program down with it, or the device, is not tried again.
func (c *chooser) prove(d duty, kernel string) (bool, error) {
	claim := c.claim(d, kernel)
	if p := c.record.proof(claim); p == nil {
		claim.Verdict = unfinished
		c.note(Record{Proofs: []Proof{claim}})
	}
	verdict, err := c.verdict(d, kernel)
	if c.ctx.Err() != nil {
		c.forget(claim)
		return false, c.ctx.Err()
	}
	if err != nil {
		if !errors.Is(err, gpu.ErrDeviceLost) {
			c.forget(claim)
		}
		return false, err
	}
	claim.Verdict = verdict
	c.note(Record{Proofs: []Proof{claim}})
	return claim.Agrees(), nil
}

// forget takes back that a trial did not end.
func (c *chooser) forget(claim Proof) {
	c.record.forget(claim)
	c.found[key(c.info)] = c.record
	if !c.NoCache {
		r := recall(c.info, c.usual)
		r.forget(claim)
		keep(c.info, c.usual, r)
	}
}

// verdict compares. Its errors are those of the device. The reference is computed
// while the kernel compiles.
func (c *chooser) verdict(d duty, kernel string) (string, error) {
	few := d
	few.In, few.Out = min(d.In, proofChannels), min(d.Out, proofChannels)
	if !slices.Contains(c.kernels(few), kernel) {
		few = d
	}
	set, err := c.set(c.elem, d.Operation, kernel)
	if err != nil {
		return "", err
	}
	right := c.reference(few.Duty)
	go right()
	s := newSample(set, few.Duty, d.Weight, small)
	if kernel != c.kernels(d)[0] && c.late(s) {
		return fmt.Sprintf("does not compile within %v", c.compile()), nil
	}
	got, err := c.compute(s)
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
	if e := nmse(got, right()); !(e <= bound) {
		return fmt.Sprintf("disagrees with the reference (NMSE %.0e)", e), nil
	}
	return agrees, nil
}

// reference is what the small case of a duty is to give, once it is computed.
func (c *chooser) reference(d wgsl.Duty) func() []float64 {
	d.Weight = 0 // the numbers are the same in each
	if c.rights[d] == nil {
		c.rights[d] = sync.OnceValue(func() []float64 { return references[d.Operation](d, small) })
	}
	return c.rights[d]
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

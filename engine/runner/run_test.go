package runner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu"
)

// The submissions of the previous slice were reported with its end. Their sum differs
// from it only by rounding, which is no progress; nor is a rest of a slice that is only
// rounding.
func TestProgressIsNotOfRounding(t *testing.T) {
	var told []float64
	w := &engine.Pass{Slices: []engine.Slice{{}, {}}}
	p := &engine.Plan{Cost: gpu.Cost{FLOPs: 1e6}, Work: engine.Work{Passes: []*engine.Pass{w}}}
	r := &run{plan: p, watch: Watch{Progress: func(v Progress) { told = append(told, v.Done) }}, at: place{pass: w}, end: 1e6}
	part, sum := 102.4, 307.2
	require.Greater(t, part, sum-part-part, "rounded")
	r.done, r.promised = 0.5e6, sum
	for range 3 {
		r.submissionDone(part)
	}
	require.Empty(t, told)
	r.submissionDone(part)
	require.Len(t, told, 1)

	r.end = 0.7e6
	r.submissionDone(r.end - r.done - 1e-7)
	require.Len(t, told, 1, "told of the slice's end before it was reached")
	r.sliceDone()
	require.Len(t, told, 2)
}

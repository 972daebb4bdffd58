package tune

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/wgsl"
)

// jobCandidates returns three workloads of a job; the first is most of it.
func jobCandidates() []*candidates {
	of := func(operation string, flops int64, kernels ...string) *candidates {
		return &candidates{workload: workload{wgsl.Workload{Class: wgsl.Class{Operation: operation, In: 64, Out: 64}}, flops}, usual: "plain", kernels: kernels, share: &share{flops: flops}}
	}
	return []*candidates{of("conv3d", 8e11, "a", "b", "c"), of("pointwise", 4e11, "d"), of("conv_up", 1e11, "e", "f")}
}

// tried returns the kernels for which a budget has room, if each takes this long.
func tried(b *budget, took time.Duration) (names string) {
	for _, t := range interleave(jobCandidates()) {
		if b.pays(t.candidates) {
			b.took(t.candidates, took, 0)
			names += t.kernel
		}
	}
	return names
}

// Every workload has a turn before any has its second. Each takes a twentieth of its
// own part. A trial without room does not block those after it.
func TestBudget(t *testing.T) {
	require.Equal(t, "adebfc", tried(&budget{each: time.Second, speed: 1e9}, time.Second))
	require.Equal(t, "adb", tried(&budget{each: time.Second, speed: 1e10}, 2*time.Second-time.Millisecond))
	require.Equal(t, "a", tried(&budget{each: 2 * time.Second, speed: 1e10}, 9*time.Second))
	require.Empty(t, tried(&budget{each: time.Second, speed: 1e11}, time.Second))
	c := &chooser{}
	require.Equal(t, "adebf", tried(func() *budget { b := c.budget(); b.speed = 1e10; return b }(), 55*time.Millisecond), "on a card")
	c.info.Type = "cpu"
	b := c.budget()
	b.speed = 2e10 // 40 s, 20 s and 5 s of the job
	require.Equal(t, "adb", tried(b, time.Second))
	require.Equal(t, 3*time.Second, b.spent)

	b = c.budget()
	b.speed = 1e10
	r := jobCandidates()[0] // 80 s, a trial of which takes 2
	require.True(t, b.pays(r))
	b.took(r, 2*time.Second, 5e9)
	require.True(t, b.pays(r), "after a slow one")
	b.took(r, time.Second/2, 2e10)
	require.False(t, b.pays(r), "it is half as long as was thought")
}

// Short jobs add up to a long one, separately for each class and adapter, and so does
// the time spent on them.
func TestShortJobsAddUp(t *testing.T) {
	d := workload{wgsl.Workload{Class: wgsl.Class{Operation: "conv3d", In: 64, Out: 64}, Taps: 3}, 1e11}
	other := workload{wgsl.Workload{Class: wgsl.Class{Operation: "conv3d", In: 64, Out: 128}, Taps: 3}, 1e9}
	var tuner Tuner
	pays := func(index int, d workload) bool {
		c := &chooser{Tuner: &tuner}
		c.info.Index = index
		r := &candidates{workload: d, share: c.share(d)}
		b := &budget{each: time.Second, speed: 1e10} // a job of 10 s, a twentieth of which is half a second
		if !b.pays(r) {
			return false
		}
		b.took(r, time.Second, 0)
		return true
	}
	for range 2 {
		require.False(t, pays(0, d))
		require.False(t, pays(0, other))
		require.False(t, pays(1, d))
		require.True(t, pays(0, d))
		require.True(t, pays(1, d))
	}
}

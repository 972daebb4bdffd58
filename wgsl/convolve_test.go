package wgsl

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// Pairs read four consecutive frames. Frames that read less, or that would leave one
// over, come before the pairs.
func TestPairsOfFrames(t *testing.T) {
	x := Tensor{Buffer: &gpu.Buffer{}, T: 9, H: 1, W: 1, C: 4}
	memory := [2]Tensor{{Buffer: &gpu.Buffer{}}, {Buffer: &gpu.Buffer{}}}
	const repeated, zeros, kept = 0, 1, 2 // contents before frame 0
	taps := func(kernel, past int) func(t int) []Tap {
		return func(t int) (all []Tap) {
			for f := t - max(kernel, 1) + 1; f <= t; f++ {
				switch {
				case f >= 0:
					all = append(all, Tap{x, f})
				case past == kept:
					all = append(all, Tap{memory[2+f], 0})
				case past == repeated:
					all = append(all, Tap{x, 0})
				}
			}
			return all
		}
	}
	for _, c := range []struct{ kernel, past, n, single int }{
		{3, repeated, 1, 1}, {3, repeated, 2, 2}, {3, repeated, 3, 1}, {3, repeated, 4, 2}, {3, repeated, 9, 1},
		{3, kept, 1, 1}, {3, kept, 2, 0}, {3, kept, 3, 1}, {3, kept, 4, 0},
		{3, zeros, 3, 3}, {3, zeros, 4, 2}, {3, zeros, 9, 3}, {1, repeated, 4, 4}, {0, repeated, 4, 4},
	} {
		all := Convolution{N: c.n, Taps: taps(c.kernel, c.past)}
		require.Equal(t, c.single, all.single(), "%+v", c)
		for f := c.single; f < c.n; f += 2 {
			require.True(t, all.paired(f), "%+v, frame %d", c, f)
		}
	}
	all := Convolution{Taps: taps(3, kept)}
	require.Equal(t, []Run{{0, 2}, {2, 6}}, Runs(8, 8, all.winogradJoined), "the first pair reads memory")
	require.Equal(t, []Run{{0, 2}, {2, 4}, {6, 2}}, Runs(8, 4, all.winogradJoined))
}

func TestRuns(t *testing.T) {
	require.Empty(t, Runs(0, 3, nil))
	require.Equal(t, []Run{{0, 3}, {3, 3}, {6, 1}}, Runs(7, 3, nil))
	require.Equal(t, []Run{{0, 7}}, Runs(7, 1<<30, nil))
	// Frames 0 and 1 are separate.
	require.Equal(t, []Run{{0, 1}, {1, 1}, {2, 4}, {6, 1}}, Runs(7, 4, func(t, _ int) bool { return t > 1 }))
}

// Runs cover every frame once, with at most the given length, and are as long as
// possible.
func TestRunsCoverFrames(t *testing.T) {
	for n := range 9 {
		for most := 1; most <= 4; most++ {
			for cuts := range 1 << max(n-1, 0) { // bit i: frame i+1 is not in the run of frame i
				together := func(t, k int) bool {
					for f := t; f < t+k; f++ {
						if cuts>>f&1 == 1 {
							return false
						}
					}
					return true
				}
				next, what := 0, fmt.Sprintf("%d frames, %d at most, cuts %b", n, most, cuts)
				for _, r := range Runs(n, most, together) {
					t0, k := r.T, r.N
					require.Equal(t, next, t0, what)
					require.Positive(t, k, what)
					require.LessOrEqual(t, k, most, what)
					require.True(t, together(t0, k-1), what)
					next += k
					require.True(t, k == most || next == n || !together(t0, k), "%s: the run at %d ends early", what, t0)
				}
				require.Equal(t, n, next, what)
			}
		}
	}
}

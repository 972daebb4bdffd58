package tune

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/wgsl"
)

// The references agree with the plain kernels, for every operation that has trials,
// with every number of taps.
func TestReferences(t *testing.T) {
	dev := gputest.Open(t)
	taps := map[string][]int{"attention": {0}, "conv3d_winograd_rows": {0}, "conv3d_winograd": {0}, "conv_up_winograd": {0}, "group_norm": {0}, "conv3d_strided": {1, 3}, "conv_up": {1, 2, 3}, "conv3d": {1, 2, 3}, "pointwise": {1, 3}}
	require.Len(t, samples, len(taps))
	require.Len(t, references, len(taps))
	require.Subset(t, slices.Collect(maps.Keys(taps)), wgsl.Operations(), "operations of several kernels, which trials must verify")
	for operation, counts := range taps {
		set, err := wgsl.NewSet(wgsl.F32, dev.Info(), wgsl.Choices{operation: "plain"})
		require.NoError(t, err)
		for _, n := range counts {
			t.Run(fmt.Sprintf("%s/%d taps", operation, n), func(t *testing.T) {
				d := wgsl.Workload{Class: wgsl.Class{Operation: operation, In: 16, Out: 32}, Taps: n, Weight: wgsl.Packed}
				z := size{2, 3, 5}
				c := (&Tuner{NoCache: true}).begin(context.Background(), dev, set)
				s := newSample(set, d, d.Weight, z)
				noted := n == 0 && strings.Contains(operation, "winograd") || // the plain kernel computes frames one by one
					!slices.Contains(wgsl.Operations(), operation) // operations with only a plain kernel
				for _, command := range s.batch.Commands {
					of, ok := set.Workload(command.Program)
					noted = noted || ok && of.Operation == operation
				}
				require.True(t, noted, "a job would not tell of it")
				got, err := c.compute(s)
				require.NoError(t, err)
				want := references[operation](d, z)
				require.LessOrEqual(t, len(want), len(got))
				require.LessOrEqual(t, nmse(got, want), boundF32)
			})
		}
	}
}

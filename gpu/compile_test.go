package gpu_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// programs returns two batches with the same n programs, which differ in content.
func programs(n int, y *gpu.Buffer) (all []*gpu.Batch) {
	for range 2 {
		b := &gpu.Batch{Label: "programs"}
		for i := range n {
			source := strings.Replace(count, "var v = 1u;", fmt.Sprintf("var v = %du;", i), 1)
			b.Dispatch("count", counter(source), [3]uint32{1, 1, 1}, countParams{}, gpu.Cost{}, y.All())
		}
		all = append(all, b)
	}
	return all
}

// Programs of several batches are compiled once each, and progress is reported.
func TestCompile(t *testing.T) {
	dev := gputest.Open(t)
	y := &gpu.Buffer{Label: "y", Size: 4}
	batches := programs(11, y)
	var told [][2]int
	tell := func(done, all int) { told = append(told, [2]int{done, all}) }
	require.NoError(t, dev.Compile(context.Background(), batches, tell))
	require.Equal(t, 11, dev.Stats().Pipelines)
	for i, v := range told {
		require.Equal(t, [2]int{i, 11}, v)
	}
	require.Len(t, told, 12)

	told = nil
	require.NoError(t, dev.Compile(context.Background(), programs(11, y), tell))
	require.Equal(t, 11, dev.Stats().Pipelines, "of contents that are known")
	require.Empty(t, told)

	require.NoError(t, dev.Alloc(y))
	require.NoError(t, dev.Submit(context.Background(), batches[0]))
	require.Equal(t, []uint32{11}, words(t, dev, y))
}

// An error names the wrong program among good ones, and the device stays usable.
func TestCompileError(t *testing.T) {
	dev := gputest.Open(t)
	y := &gpu.Buffer{Label: "y", Size: 4}
	batches := programs(7, y)
	batches[0].Commands[3].Program = &gpu.Program{Label: "broken", Source: "fn main() { return 1; }", Storage: []gpu.Access{gpu.ReadWrite}}
	err := dev.Compile(context.Background(), batches, nil)
	require.ErrorContains(t, err, "broken: ")
	require.NoError(t, dev.Compile(context.Background(), programs(7, y), nil))
}

// A cancelled Compile returns before all programs are compiled.
func TestCompileIsCancelled(t *testing.T) {
	dev := gputest.Open(t)
	y := &gpu.Buffer{Label: "y", Size: 4}
	ctx, cancel := context.WithCancel(context.Background())
	err := dev.Compile(ctx, programs(40, y), func(done, _ int) {
		if done == 2 {
			cancel()
		}
	})
	require.True(t, errors.Is(err, context.Canceled), err)
	require.Less(t, dev.Stats().Pipelines, 40)
	require.NoError(t, dev.Compile(context.Background(), programs(40, y), nil))
}

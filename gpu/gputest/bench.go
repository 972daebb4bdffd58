package gputest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// Benchmark runs a batch b.N times on bufs, after one run that compiles, and reports
// GFLOP/s and GB/s from the batch's cost.
func Benchmark(b *testing.B, dev *gpu.Device, batch *gpu.Batch, bufs ...*gpu.Buffer) {
	ctx := context.Background()
	require.NoError(b, dev.Alloc(bufs...))
	once := func() {
		require.NoError(b, dev.Submit(ctx, batch))
		require.NoError(b, dev.Wait(ctx))
	}
	once()
	for b.Loop() {
		once()
	}
	cost, seconds := batch.Cost(), b.Elapsed().Seconds()
	b.ReportMetric(float64(cost.FLOPs)*float64(b.N)/seconds/1e9, "GFLOP/s")
	b.ReportMetric(float64(cost.Bytes)*float64(b.N)/seconds/1e9, "GB/s")
}

package vae

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// BenchmarkCompile takes the time of a decoder's shaders on a device that was
// just opened, with an empty cache folder and with one that has them all. Mesa's
// own cache stays out of it where MESA_SHADER_CACHE_DISABLE=true.
func BenchmarkCompile(b *testing.B) {
	library, path := gputest.Open(b).Info().Library, smallCheckpoint(b)
	for _, p := range []Precision{F32, F16} {
		b.Run(string(p), func(b *testing.B) {
			dir := b.TempDir()
			b.Run("cold", func(b *testing.B) {
				for range b.N {
					dir = b.TempDir()
					compileDecoder(b, library, path, dir, p)
				}
			})
			b.Run("warm", func(b *testing.B) {
				compileDecoder(b, library, path, dir, p)
				b.ResetTimer()
				for range b.N {
					require.Zero(b, compileDecoder(b, library, path, dir, p), "compiled again")
				}
			})
		})
	}
}

// compileDecoder compiles and returns how much of it was not in the cache
// folder, dir. It reports the processor's part of the last time.
func compileDecoder(b *testing.B, library, path, dir string, p Precision) (missed int) {
	b.StopTimer()
	defer b.StartTimer()
	b.Setenv("XDG_CACHE_HOME", dir)
	dev, err := gpu.Open(gpu.Options{Adapter: -1, Library: library})
	require.NoError(b, err)
	defer dev.Close()
	m, err := Open(dev, path, Settings{Precision: p})
	require.NoError(b, err)
	defer m.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plan, err := m.PlanDecode(ctx, 2, 8, 8, DecodeOptions{})
	require.NoError(b, err)
	var began time.Duration
	w := Watch{Compiling: func(done, all int) {
		switch done {
		case 0:
			began = processor()
			b.StartTimer()
		case all:
			b.StopTimer()
			b.ReportMetric((processor()-began).Seconds()*1000, "cpu-ms/op")
			b.ReportMetric(float64(all), "shaders")
			cancel()
		}
	}}
	for _, err = range plan.Run(ctx, noiseLatent(2, 8, 8), w) {
	}
	require.ErrorIs(b, err, context.Canceled, fmt.Sprint(dev.Stats().Pipelines))
	return dev.Stats().Missed
}

// processor is what this process has taken of it.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it takes no wrong arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

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
	"tessera/tune"
)

// BenchmarkCompile measures compiling a decoder's shaders on a newly opened device, with
// an empty and with a full cache folder. MESA_SHADER_CACHE_DISABLE=true excludes Mesa's
// cache.
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

// The second start of a decode of the published size compiles nothing, for verification
// or for running.
func TestSecondStartCompilesNothing(t *testing.T) {
	path, library := fullCheckpoint(t), gputest.Open(t).Info().Library
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	z := Latent{Channels: 16, Frames: 2, Height: 8, Width: 8, Data: make([]float32, 16*2*8*8)}
	var made [2]int
	for i, start := range []string{"first", "second"} {
		begun := time.Now()
		dev, err := gpu.Open(gpu.Options{Adapter: -1, Library: library})
		require.NoError(t, err)
		m, err := Open(dev, path, Settings{Precision: F16, Kernels: KernelSettings{Choose: (&tune.Tuner{}).Choose}})
		require.NoError(t, err)
		decodeAll(t, m, z, DecodeOptions{})
		require.NoError(t, m.Close())
		s := dev.Stats()
		require.NoError(t, dev.Close())
		t.Logf("%s start: %d pipelines, %d shaders and pipelines compiled and %d loaded, %.1f s", start, s.Pipelines, s.Missed, s.Kept, time.Since(begun).Seconds())
		if made[i] = s.Pipelines; i == 0 {
			require.GreaterOrEqual(t, s.Missed, s.Pipelines, "compiled with an empty folder")
			continue
		}
		require.Zero(t, s.Missed, "compiled a second time")
		require.GreaterOrEqual(t, s.Kept, s.Pipelines, "loaded")
	}
	require.Equal(t, made[0], made[1], "pipelines")
}

// compileDecoder compiles and returns the number of shaders that the cache folder dir
// lacked. It reports the processor time of the last run.
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

// processor returns this process's processor time.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with these arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package tune_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/tune"
	"tessera/wgsl"
)

// BenchmarkTrials tries all kernels that the adapter can run, class by class, and logs the
// results; docs/performance.md#tried-and-left-out has some. It measures the trials.
func BenchmarkTrials(b *testing.B) {
	dev := gputest.Open(b)
	b.Log(dev.Info().Name, dev.Info().Driver)
	elems := []wgsl.Elem{wgsl.F32}
	if dev.Info().F16 {
		elems = append(elems, wgsl.F16)
	}
	for _, elem := range elems {
		for _, c := range []struct {
			operation string
			taps      int
		}{{"conv3d", 3}, {"conv3d", 1}, {"conv3d_strided", 1}, {"conv_up", 3}, {"pointwise", 1}, {"attention", 0}} {
			for _, wide := range []int{32, 128, 256} {
				d := wgsl.Workload{Class: wgsl.Class{Operation: c.operation, In: wide, Out: wide}, Taps: c.taps, Weight: wgsl.Packed}
				b.Run(d.Class.String()+"/"+elem.String(), func(b *testing.B) {
					set, err := wgsl.NewSet(elem, dev.Info(), nil)
					require.NoError(b, err)
					for b.Loop() {
						t := &tune.Tuner{Patient: true, NoCache: true}
						_, err = t.Choose(context.Background(), dev, set, map[wgsl.Workload]int64{d: 1 << 50}, nil)
						require.NoError(b, err)
						known, err := t.Known(dev.Info())
						require.NoError(b, err)
						for _, p := range known.Verifications {
							b.Log(p)
						}
						for _, k := range known.Trials {
							b.Log(k)
						}
					}
				})
			}
		}
	}
}

package bench

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// result runs a kernel and reads its last buffer.
func result(t *testing.T, dev *gpu.Device, k *kernel) []byte {
	t.Helper()
	require.NoError(t, dev.Alloc(k.buffers...))
	require.NoError(t, dev.Write(k.buffers[0].All(), k.data))
	require.NoError(t, dev.Submit(context.Background(), k.batch))
	y := k.buffers[len(k.buffers)-1]
	out := make([]byte, y.Size)
	require.NoError(t, dev.Read(context.Background(), out, y.All()))
	dev.Free(k.buffers...)
	return out
}

// The FMA kernel computes every multiply-add that its FLOPs count: after few steps its
// sums depend on each one, after many they are the chains' limits.
func TestFMA(t *testing.T) {
	dev := gputest.Open(t)
	for _, f := range fmaForms {
		for _, steps := range []int{0, 16, 32, fmaSteps} {
			const groups = 3
			out := result(t, dev, newFMA(groups, steps, f))
			for i := range groups * fmaWG {
				want := 0.0
				for k := range f.chains() {
					v := float64(i%fmaWG+k) / 64
					for range steps {
						v = v*scale + shift
					}
					want += v
				}
				got := float64(math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])))
				require.InEpsilon(t, want+1, got+1, 1e-6, "%d steps, invocation %d", steps, i)
			}
		}
	}
}

// The copy kernel copies.
func TestCopy(t *testing.T) {
	dev := gputest.Open(t)
	for _, groups := range []int64{1, 6, 1024} {
		k := newCopy(groups * copyWG * vectorBytes)
		for i := range groups * copyWG * vectorBytes / 4 {
			k.data = binary.LittleEndian.AppendUint32(k.data, uint32(i*2654435761))
		}
		require.Equal(t, k.data, result(t, dev, k), "%d workgroups", groups)
	}
}

// The roofline has both figures. A share uses the slower of the two, and of two
// measurements the better one counts.
func TestRoofline(t *testing.T) {
	dev := gputest.Open(t)
	r, err := MeasureRoofline(context.Background(), dev, time.Second)
	require.NoError(t, err)
	t.Logf("%s: %.1f GFLOP/s, %.1f GB/s", dev.Info().Name, r.GFLOPs, r.GBs)
	require.Greater(t, r.GFLOPs, 0.1)
	require.Greater(t, r.GBs, 0.1)
	require.InDelta(t, 0.5, Roofline{GFLOPs: 100, GBs: 10}.share(100e9, 1e9, 2), 1e-9, "by arithmetic")
	require.InDelta(t, 0.25, Roofline{GFLOPs: 100, GBs: 10}.share(1e9, 10e9, 4), 1e-9, "by traffic")
	require.Equal(t, Roofline{GFLOPs: 3, GBs: 4, Matrix: &Matrix{GFLOPs: 9}},
		Roofline{GFLOPs: 3, GBs: 2, Matrix: &Matrix{GFLOPs: 9}}.best(Roofline{GFLOPs: 1, GBs: 4, Matrix: &Matrix{GFLOPs: 8}}))
}

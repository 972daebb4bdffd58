package runner

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu/gputest"
)

// ones returns tensors of ones, of the given length per name.
type ones map[string]int

func (o ones) Float32s(dst []float32, name string) ([]float32, error) {
	return append(dst, slices.Repeat([]float32{1}, o[name])...), nil
}

func (o ones) Float16s(dst []uint16, name string) ([]uint16, error) {
	return append(dst, slices.Repeat([]uint16{0x3c00}, o[name])...), nil
}

// A store has the weights of the current plan, where it needs them, whatever the previous
// plan needed: on the device, or streamed from the host.
func TestStoreFollowsPlans(t *testing.T) {
	dev := gputest.Open(t)
	j := job(t, 8, 8)
	w := j.Network.Weights
	from := ones{"inner.weight": 16 * 4 * 27, "inner.bias": 16, "outer.weight": 3 * 16 * 9, "outer.bias": 3}
	resident, streams := plan(t, j, engine.Options{}), plan(t, j, engine.Options{Offload: engine.OffloadOn, Internals: engine.Internals{Least: true}})
	require.Empty(t, resident.Work.Streamed)
	require.NotEmpty(t, streams.Work.Streamed)
	s := NewStore(dev)
	for _, p := range []*engine.Plan{resident, streams, streams, resident, streams} {
		var done, total int64
		require.NoError(t, s.Load(t.Context(), p, from, func(d, all int64) { done, total = d, all }))
		require.Equal(t, total, done)
		require.Equal(t, set(p.Work.Weights), s.on)
		require.Len(t, s.host, len(p.Work.Streamed))
		for _, b := range p.Work.Weights { // memory is allocated
			require.NotPanics(t, func() { dev.Ready(b) }, b.Label)
		}
		for _, b := range p.Work.Streamed {
			require.Len(t, s.host[b], int(b.Size), b.Label)
			require.Panics(t, func() { dev.Ready(b) }, b.Label)
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	s.Unload(w)
	require.Empty(t, s.on)
	require.Empty(t, s.host)
	require.ErrorIs(t, s.Load(ended, resident, from, nil), context.Canceled)
	require.Empty(t, s.on)
	for _, b := range w.Buffers() {
		require.Panics(t, func() { dev.Ready(b) }, b.Label)
	}
	(&Store{}).Unload(w) // accepts a store without a device
}

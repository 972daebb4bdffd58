package runner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/engine"
)

// A readback to a slot of causal memory reaches the frame that the slot held when it was
// submitted: slots rotate meanwhile.
func TestSlotsTurn(t *testing.T) {
	r := &run{host: hostMemory{}}
	of := &engine.HostMemory{Sizes: []int64{4, 4, 4}}
	at := func(slot int) *engine.HostRows {
		return &engine.HostRows{HostSlot: engine.HostSlot{Of: of, Slot: slot}, At: 1, N: 2}
	}
	holds := func() (all [][]byte) {
		for slot := range of.Sizes {
			all = append(all, r.host.frame(engine.HostSlot{Of: of, Slot: slot}).bytes())
		}
		return all
	}
	require.Equal(t, [][]byte{{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, holds(), "nothing was put there")
	first, second := r.sink(at(0)), r.sink(at(1))
	require.NoError(t, first.put([]byte{1, 2}))
	require.NoError(t, r.step(t.Context(), &engine.Rotate{Of: of, N: 1}))
	require.Equal(t, [][]byte{{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 1, 2, 0}}, holds())
	require.NoError(t, second.put([]byte{3, 4}))
	require.Equal(t, [][]byte{{0, 3, 4, 0}, {0, 0, 0, 0}, {0, 1, 2, 0}}, holds())
	require.NoError(t, r.step(t.Context(), &engine.Clear{Of: *at(2)}))
	require.Equal(t, [][]byte{{0, 3, 4, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, holds())
	clear(r.host)
	require.Equal(t, [][]byte{{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, holds(), "of the tile before")
}

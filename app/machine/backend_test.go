package machine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/tune"
)

// Of a card's graphics APIs the one that a trial found faster is used, if only the other
// has matrices; both drivers' versions belong to the trial.
func TestBackendByTrial(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	usual := gpu.Info{Name: "a card", Backend: "d3d12", DeviceID: "10de:2206", Driver: "1"}
	other := gpu.Info{Index: 2, Name: "a card", Backend: "vulkan", DeviceID: "10de:2206", Driver: "1", Matrices: make([]gpu.Matrix, 1)}
	all := []gpu.Info{usual, {Index: 1, Backend: "vulkan", DeviceID: "8086:56a0", Matrices: other.Matrices}, other}
	twin := withMatrices(usual, all)
	require.NotNil(t, twin)
	assert.Equal(t, 2, twin.Index)
	assert.Nil(t, withMatrices(other, all), "it has matrices")
	assert.Nil(t, withMatrices(usual, all[:2]), "another card")
	plain := other
	plain.Matrices = nil
	assert.Nil(t, withMatrices(usual, []gpu.Info{usual, plain}))

	c := contest{usual, *twin}
	_, known := c.load()
	assert.False(t, known)
	gpu.StoreResult(usual, c.about(), []byte("8123.4 20456.7\n"))
	speeds, known := c.load()
	require.True(t, known)
	assert.True(t, c.wins(speeds))
	assert.Equal(t, "vulkan reaches 20457 GFLOP/s in a convolution, d3d12 8123", c.why(speeds))
	assert.Equal(t, "d3d12 reaches 9 GFLOP/s in a convolution, vulkan 5", c.why([2]float64{9, 5}))
	c[1].Driver = "2"
	_, known = c.load()
	assert.False(t, known, "a new driver")

	tuner := &tune.Tuner{}
	assert.True(t, open(tuner, gpu.Options{Adapter: -1, Backend: "auto"}))
	assert.False(t, open(tuner, gpu.Options{Adapter: -1, Backend: "d3d12"}))
	assert.False(t, open(tuner, gpu.Options{Adapter: 0}))
	assert.False(t, open(tuner, gpu.Options{Adapter: -1, NoCache: true}))
	assert.False(t, open(&tune.Tuner{Off: true}, gpu.Options{Adapter: -1}))
}

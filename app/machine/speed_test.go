package machine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/vae"
)

// A stage's expected speed is that of the last such network on the adapter.
func TestDurationIsLearned(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	a := gpu.Info{Name: "a card", F16: true, Limits: gpu.DefaultLimits}
	m, err := vae.Published("wan2.1", a, vae.Settings{})
	require.NoError(t, err)
	plan, err := m.PlanDecode(t.Context(), 1, 8, 8, vae.DecodeOptions{})
	require.NoError(t, err)
	p := plan.Plan
	flops := float64(p.Cost.FLOPs)
	expected := func(o gpu.Options, a gpu.Info, stage string) time.Duration {
		o.Library = "/nowhere" // so that nothing can be measured
		return Duration(t.Context(), o, a, m, vae.F16, stage, p)
	}
	assert.Zero(t, expected(gpu.Options{}, a, "decode"), "unknown")
	store(a, network(m, a, vae.F16, "decode"), flops/20)
	assert.InDelta(t, 20, expected(gpu.Options{}, a, "decode").Seconds(), 0.01)
	assert.Zero(t, expected(gpu.Options{}, a, "encode"), "another network")
	assert.Zero(t, expected(gpu.Options{}, gpu.Info{Name: "another card", F16: true}, "decode"))
	assert.Zero(t, expected(gpu.Options{NoCache: true}, a, "decode"))
	store(a, "speed of convolutions in "+storage(a, vae.F16), flops/10)
	assert.InDelta(t, 10, expected(gpu.Options{}, a, "encode").Seconds(), 0.01)
}

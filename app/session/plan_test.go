package session

import (
	"bytes"
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/vae"
)

// planned returns a model that plans, without a device.
func planned(t *testing.T, checkpoint []byte) *vae.Model {
	t.Helper()
	m, err := vae.InspectReader(bytes.NewReader(checkpoint), int64(len(checkpoint)), "m.safetensors", gpu.Info{Limits: gpu.DefaultLimits}, vae.Settings{Precision: vae.F32})
	require.NoError(t, err)
	return m
}

// Cancelling a plan ends it, however large it is.
func TestPlanCancelled(t *testing.T) {
	p, _ := start(t)
	p.open()
	gone, stop := context.WithCancel(t.Context())
	stop()
	_, err := p.s.plan(&request{ctx: gone, Options: options{Direction: "decode", Frames: maxFrames, Height: maxSide, Width: maxSide}})
	require.ErrorIs(t, err, context.Canceled)
}

// The largest plans that a page can request allocate, and so work, within a limit, and
// have no more tiles than a message can hold.
func TestLargestPlansAreBounded(t *testing.T) {
	shrink := true
	for name, m := range map[string]*vae.Model{"seedvr2": planned(t, small(t)), "wan": planned(t, wan(t, synthetic.WanConfig{}))} {
		for _, o := range []options{
			{Tile: "16"}, {Tile: "64"}, {Tile: "auto"}, {Tile: "auto", Shrink: &shrink}, {Tile: "64", Chunk: maxChunk, Shrink: &shrink},
			{Tile: "512", Shrink: &shrink}, {Tile: "24x4096", Shrink: &shrink},
			{Tile: "128", Tiling: "exact"}, {Tile: "16", Tiling: "exact", Shrink: &shrink},
			{Tile: "72", Tiling: "diffusers"}, {Tile: "24", Overlap: "8", Tiling: "diffusers"},
		} {
			for _, side := range []int{maxSide, maxSide / 8, 8, 1} {
				if side == maxSide/8 && testenv.Short(t) {
					continue // less than maxSide, and half of the time
				}
				for _, o.Direction = range []string{"decode", "encode"} {
					o.Frames, o.Height, o.Width, o.Budget = maxFrames, side, side, 1<<40
					if o.Overlap == "" {
						o.Overlap = "0"
					}
					want, err := o.choices()
					require.NoError(t, err)
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					_, _, p, err := o.plan(context.Background(), m, want)
					runtime.ReadMemStats(&after)
					assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(3<<30), "bytes allocated: %s: %+v", name, o)
					if err == nil {
						assert.LessOrEqual(t, len(p.Tiles.Tiles), 1<<16, "%s: %+v", name, o)
					}
				}
			}
		}
	}
}

// A page shows the plan of its choices, and for one beyond the budget the least memory.
func TestPlansOfChoices(t *testing.T) {
	p, _ := start(t)
	p.open()
	ask := func(budget int64, least bool) *plan {
		v, err := p.s.plan(&request{ctx: t.Context(), Options: options{Direction: "decode", Frames: 4, Height: 12, Width: 10, Tile: "off", Budget: budget, Least: least}})
		require.NoError(t, err)
		return v
	}
	one := ask(1<<40, false)
	require.True(t, one.Fits)
	m, err := p.s.plannerModel()
	require.NoError(t, err)
	d, err := m.PlanDecode(t.Context(), 4, 12, 10, vae.DecodeOptions{RGBA8: true, Options: vae.Options{Budget: 1 << 40, Chunk: vae.AutoChunk}})
	require.NoError(t, err)
	assert.Equal(t, d.Cost.MACs, one.MACs)
	assert.Positive(t, one.MACs)
	assert.Zero(t, one.Host+one.Moved, "nothing is on the host")

	few := ask(1<<20, false)
	require.False(t, few.Fits)
	assert.Zero(t, few.Bytes)
	least := ask(1<<40, true)
	require.True(t, least.Fits)
	assert.Less(t, least.Bytes, one.Bytes, "in portions")
}

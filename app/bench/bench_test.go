package bench

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/vae"
	"tessera/wgsl"
)

// Every operation is recorded and timed in every storage, with its exact FLOPs
// and traffic.
func TestOps(t *testing.T) {
	dev := gputest.Open(t)
	const side = 8
	const rows = 3*side - 2    // input rows that all output rows read: two lie outside
	exact := map[string]int64{ // worked out by hand
		"conv3d 3×3×3 128→128":          4 * rows * side * 2 * 9 * 128 * 128,
		"conv3d 3×3×3 Winograd 128→128": 4 * rows * side * 2 * 9 * 128 * 128,
		"conv3d 1×3×3 512→512":          rows * side * 2 * 3 * 512 * 512,
		"pointwise 512→512":             4 * 64 * 2 * 512 * 512,
	}
	for _, elem := range []wgsl.Elem{wgsl.F32, wgsl.Packed} {
		set, err := wgsl.NewSet(elem, dev.Info(), nil)
		require.NoError(t, err)
		for i := range opCases {
			c := &opCases[i]
			o, err := c.run(context.Background(), dev, set, side, time.Millisecond)
			require.NoError(t, err, c.name)
			assert.Empty(t, o.Missing, c.name)
			assert.Positive(t, o.Seconds, c.name)
			assert.Positive(t, o.FLOPs, c.name)
			assert.Positive(t, o.Bytes, c.name)
			if want, ok := exact[c.name+" "+c.of]; ok {
				assert.Equal(t, want, o.FLOPs, c.name)
			}
		}
	}
}

// Frames grow with the device and the time, within their limits.
func TestOpSides(t *testing.T) {
	c, attention, norm := &opCases[0], &opCases[8], &opCases[9]
	require.Equal(t, sideLeast, c.side(Roofline{GFLOPs: 1, GBs: 1}, time.Second))
	require.Equal(t, sideMost, c.side(Roofline{GFLOPs: 1e6, GBs: 1e3}, time.Second))
	require.Equal(t, 64, attention.side(Roofline{GFLOPs: 1e6, GBs: 1e3}, time.Second))
	require.Equal(t, 256, norm.side(Roofline{GFLOPs: 1, GBs: 1}, time.Second))
}

// A report has every requested part, for people and machines, and does not identify the
// machine's user.
func TestRun(t *testing.T) {
	dev := gputest.Open(t)
	r, err := Run(context.Background(), dev, Options{
		Parts: []string{"layers", "decode", "encode"}, Time: time.Second, Frames: 2, Height: 16, Width: 24, Precision: vae.F32, Model: "../../assets/tiny-seedvr2.safetensors", Say: func(string) {},
	})
	require.NoError(t, err)
	require.Len(t, r.Jobs, 2)
	for _, j := range r.Jobs {
		require.Empty(t, j.Missing)
		assert.Equal(t, "tiny-seedvr2.safetensors", j.Model)
		assert.Equal(t, []int{2, 16, 24}, []int{j.Frames, j.Height, j.Width})
		assert.Positive(t, j.Seconds)
		assert.Positive(t, j.Submissions)
		assert.Positive(t, j.Share)
		assert.Greater(t, j.PeakBytes, int64(1<<20))
		if dev.Info().Timestamps {
			sum := int64(0)
			for _, l := range j.Layers {
				sum += l.FLOPs
			}
			assert.InDelta(t, j.FLOPs, sum, float64(j.FLOPs)/1e4, "layers are the plan's, and what leaves the device")
			assert.Equal(t, j.Op+"r.conv_in", strings.TrimSuffix(j.Layers[0].Name, " taps"))
		}
	}
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	for _, text := range []string{r.Markdown(), string(data)} {
		assert.NotContains(t, text, home)
		assert.NotContains(t, text, "assets/")
		assert.Contains(t, text, dev.Info().Name)
		assert.Contains(t, text, dev.Info().Driver)
	}
	require.Contains(t, r.Markdown(), "Roofline: ")
	require.Contains(t, r.Markdown(), "| decoder.conv_in |")
	require.Equal(t, "dawn-2026-10/lib.so", dawn("/a/person/dawn-2026-10/lib.so"))
	require.Equal(t, "lib.so", dawn("/a/person/lib.so"))
}

// Parts without time for them are named as missing, for the requested family.
func TestNoTime(t *testing.T) {
	dev := gputest.Open(t)
	families := vae.Families()
	last := len(families) - 1
	for model, names := range map[string][]string{"": families[:2], families[last]: families[last:]} {
		r, err := Run(context.Background(), dev, Options{Parts: []string{"decode"}, Time: time.Microsecond, Precision: vae.F32, Model: model, Say: func(string) {}})
		require.NoError(t, err)
		require.Len(t, r.Jobs, len(names))
		for i, j := range r.Jobs {
			require.Equal(t, names[i], j.Model)
			require.Contains(t, j.Missing, "would take about")
			require.Zero(t, j.Seconds)
		}
		require.Contains(t, r.Markdown(), "would take about")
	}
}

// After an interrupt the report has what was measured before, and the reason.
func TestInterrupted(t *testing.T) {
	dev := gputest.Open(t)
	ctx, stop := context.WithCancel(context.Background())
	r, err := Run(ctx, dev, Options{Parts: []string{"ops"}, Time: time.Millisecond, Precision: vae.F32, Say: func(what string) {
		if strings.HasPrefix(what, "conv3d 3×3×3 256") {
			stop()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, r.Ops, 1)
	require.Positive(t, r.Ops[0].Share)
	require.Contains(t, r.Markdown(), "| conv3d 3×3×3 128→128 on ")
	require.Contains(t, r.Markdown(), "**The rest was not measured**: ")
}

// Random weights are neither zero nor large, as floats and as halves.
func TestMadeUp(t *testing.T) {
	dev := gputest.Open(t)
	m, err := vae.OpenPublished(dev, vae.Families()[1], vae.Settings{})
	require.NoError(t, err)
	defer m.Close()
	j := Job{Frames: 1, Height: 8, Width: 8}
	s := &subject{ctx: context.Background(), dev: dev, model: m, name: "wan", options: options}
	_, run, err := s.plan("decode", size{1, 8, 8})
	require.NoError(t, err)
	require.NoError(t, s.measure(&j, run, false))
	require.Positive(t, j.Seconds)
	require.ErrorIs(t, func() error {
		_, err := vae.OpenPublished(dev, "none", vae.Settings{})
		return err
	}(), vae.ErrUnknownModel)
}

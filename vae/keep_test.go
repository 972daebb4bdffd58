//go:build !js

package vae

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// kept is a Keeper in memory.
type kept struct {
	memory         string
	bytes          int64
	slices, frames int
	now, next      []byte
	restored       int // bytes
	done           func(slices int) error
}

func (k *kept) Begin(memory string, bytes int64) (int, error) {
	if memory != k.memory {
		k.slices, k.frames = 0, 0
	}
	k.memory, k.bytes, k.next = memory, bytes, make([]byte, bytes)
	return k.slices, nil
}

func (k *kept) ReadAt(p []byte, at int64) (int, error) {
	n := copy(p, k.now[at:])
	k.restored += n
	if n < len(p) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

func (k *kept) WriteAt(p []byte, at int64) (int, error) { return copy(k.next[at:], p), nil }

func (k *kept) Done(slices, frames int) error {
	k.slices, k.frames = slices, frames
	k.now, k.next = k.next, make([]byte, k.bytes)
	if k.done != nil {
		return k.done(slices)
	}
	return nil
}

var errEnough = errors.New("enough")

// A decode that ends at any point continues from what was kept, to the same bytes: in one
// tile, in tiles blended on the device and beside it, in exact tiles, with independent
// frames, in slices of several frames, in portions, and with memory and weights on the
// host.
func TestKeep(t *testing.T) {
	dev := gputest.Open(t)
	seedVR2 := open(t, dev, narrow(t), F32)
	wan := open(t, dev, wan(t, "portions_wan", synthetic.WanConfig{Dim: 6, Latent: 4, DType: safetensors.F32}), F32)
	hunyuan, hunyuan15 := open(t, dev, narrowHunyuan(t), F32), open(t, dev, narrow15(t), F32)
	cogVideoX := open(t, dev, narrowCogVideoX(t), F32)
	ltx := open(t, dev, smallLTX(t, synthetic.LTXConfig{New: true, Encoder: []int{8, 16, 32, 64, 64}, Decoder: []int{16, 8, 16, 8, 4}, Latent: 4, DType: safetensors.F32}, nil), F32)
	tiles := tiling.Choice{Tile: tiling.Square(16)}
	for name, c := range map[string]struct {
		m *Model
		o Options
	}{
		"one tile":        {seedVR2, Options{}},
		"tiles":           {seedVR2, Options{Tile: tiles, Overlap: tiling.Square(8)}},
		"tiles, less":     {seedVR2, Options{Tile: tiles, Overlap: tiling.Square(8), Internals: Internals{Least: true}}},
		"offloaded":       {seedVR2, Options{Offload: OffloadOn, Internals: Internals{Across: 3000}}},
		"in 8 bits":       {seedVR2, Options{MemoryFormat: MemoryI8}},
		"in 8, offloaded": {seedVR2, Options{MemoryFormat: MemoryI8, Offload: OffloadOn, Internals: Internals{Across: 3000}}},
		"streamed":        {seedVR2, Options{Offload: OffloadOn, Internals: Internals{Least: true}}},
		"streamed tiles":  {seedVR2, Options{Offload: OffloadOn, Internals: Internals{Least: true}, Tile: tiles, Overlap: tiling.Square(8), MemoryFormat: MemoryI8}},
		"several at once": {seedVR2, Options{Chunk: 2}},
		"wan":             {wan, Options{}},
		"exact":           {wan, Options{Tile: tiles, Tiling: Exact}},
		"ahead":           {ltx, Options{}},
		"pictures":        {wan, Options{Independent: true}},
		"temporal tiles":  {hunyuan, Options{}},
		"clip at once":    {hunyuan15, Options{}},
		"batches":         {cogVideoX, Options{}},
		"and tiles":       {hunyuan15, Options{Tile: tiling.Choice{Tile: tiling.Square(32)}, Tiling: Exact}},
	} {
		t.Run(name, func(t *testing.T) {
			if slices.Contains([]string{"tiles, less", "in 8, offloaded", "streamed", "batches"}, name) {
				testenv.Long(t)
			}
			defer c.m.Unload()
			z := noiseLatent(6, 3, 4)
			p, err := c.m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: c.o})
			require.NoError(t, err)
			require.Equal(t, c.o.Internals.Least && c.o.Offload == OffloadOn, p.Streamed > 0)
			want, err := framesOf(p.Run(context.Background(), z, Watch{}))
			require.NoError(t, err)
			frame := len(want) / p.Plan.Output().Frames
			k := &kept{}
			var got []float32
			for starts := 0; ; starts++ {
				require.Less(t, starts, 10)
				k.done = func(slices int) error {
					if slices > starts && slices < p.Slices { // once at each point, beyond what was done by then
						return errEnough
					}
					return nil
				}
				if starts%2 > 0 {
					c.m.Unload() // a restarted program has no weights
				}
				got = got[:k.frames*frame]
				more, err := framesOf(p.Run(context.Background(), z, Watch{Keep: k}))
				got = append(got, more...)
				if err == nil {
					break
				}
				require.ErrorIs(t, err, errEnough)
				require.Len(t, got, k.frames*frame)
			}
			require.Equal(t, p.Slices, k.slices)
			require.True(t, slices.Equal(got, want), "other frames")
			require.Equal(t, c.o.Independent, k.restored == 0)
		})
	}
}

// A decode with a Keeper that runs out of memory continues from there, not from the
// start.
func TestKeepOutOfMemory(t *testing.T) {
	dev := gputest.Open(t)
	defer dev.InjectFaults(nil)
	m := open(t, dev, narrow(t), F32)
	z := noiseLatent(4, 2, 2)
	want := frames(t, m, z, Options{})
	p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{})
	require.NoError(t, err)
	k := &kept{}
	k.done = func(slices int) error {
		if slices == 1 {
			dev.InjectFaults(func(int64) error {
				dev.InjectFaults(nil)
				return gpu.ErrOutOfMemory
			})
		}
		return nil
	}
	var lessened int
	got, err := framesOf(p.Run(context.Background(), z, Watch{
		Keep: k,
		Less: func(_, _ *Plan, finished int) {
			lessened++
			require.Equal(t, k.frames, finished)
		},
	}))
	require.NoError(t, err)
	require.Equal(t, 1, lessened)
	closeTo(t, got, want, 1e-11, "decoded otherwise")
}

//go:build !js

package vae

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// helper opens a model on a separate device.
func helper(t *testing.T, path string, adapter int) (*gpu.Device, *Model) {
	dev, err := gpu.Open(gpu.Options{Adapter: adapter, Backend: os.Getenv("TESSERA_BACKEND")})
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	return dev, open(t, dev, path, F32)
}

// watched is a clip that reports when a helper reads it.
type watched struct {
	floats
	read func(times int) error
	n    int
}

func (c *watched) ReadFrame(t int, dst []float32) error {
	if strings.Contains(string(debug.Stack()), "(*queue).serve") {
		c.n++
		if err := c.read(c.n); err != nil {
			return err
		}
	}
	return c.floats.ReadFrame(t, dst)
}

// Devices that share a job give one device's result, whichever computes which tile: with
// tiles blended on the device and beside it, exact tiles in both directions, and
// independent frames.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		name, path string
		o          Options
	}{
		{"feathered", smallCheckpoint(t), Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8)}},
		{"exact", wan21Checkpoint(t), Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Tiling: Exact}},
		{"pictures", tiny(t, synthetic.WanConfig{Dim: 4, Latent: 4}), Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8), Tiling: Feather, Independent: true}},
		{"streamed", smallCheckpoint(t), Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8), Offload: OffloadOn, Internals: Internals{Least: true}}},
		{"in the order of diffusers", wan21Checkpoint(t), Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8), Tiling: Diffusers}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "streamed" || c.o.Tiling == Diffusers {
				testenv.Long(t)
			}
			m := open(t, gputest.Open(t), c.path, F32)
			z, clip := noiseLatent(2, 4, 4), noiseClip(5, 32, 32)
			decoded, encoded := decodeAll(t, m, z, DecodeOptions{Options: c.o}), encodeAll(t, m, clip, EncodeOptions{Options: c.o})
			_, other := helper(t, c.path, -1)
			require.NoError(t, m.Share(other))
			got := decodeAll(t, m, z, DecodeOptions{Options: c.o})
			closeTo(t, got, decoded, 1e-12, "decoded")
			if c.o.Tiling == Exact {
				require.Equal(t, decoded, got) // blended tiles are summed in the order in which they are done
			}
			small := c.o
			small.Budget = 40 << 20
			closeTo(t, encodeAll(t, m, clip, EncodeOptions{Options: small}), encoded, 1e-12, "encoded")
			p, err := m.PlanDecode(t.Context(), 2, 4, 4, DecodeOptions{Options: c.o})
			require.NoError(t, err)
			require.Equal(t, c.o.Tiling != Diffusers, len(p.Helpers) == 1)
			require.Empty(t, p.Unshared)
			for _, h := range p.Helpers {
				require.Equal(t, c.o.Internals.Least, h.Plan.Streamed > 0)
			}
		})
	}
}

// The limit of host memory is for all devices: a device with too little left gets no
// tiles.
func TestShareOfTheHost(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits, Name: "card", Type: "discrete", Memory: 8 << 30}
	var all []*Model
	for range 3 {
		m, err := Inspect(smallCheckpoint(t), a, Settings{Precision: F32})
		require.NoError(t, err)
		defer m.Close()
		all = append(all, m)
	}
	require.NoError(t, all[0].Share(all[1:]...))
	o := Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8), Offload: OffloadOn, Host: 1 << 40}
	helpers := func() (plans []*Plan, unshared []string) {
		p, err := all[0].PlanDecode(t.Context(), 3, 6, 6, DecodeOptions{Options: o})
		require.NoError(t, err)
		plans = append(plans, p.Plan)
		for _, h := range p.Helpers {
			plans = append(plans, h.Plan)
		}
		return plans, p.Unshared
	}
	plans, unshared := helpers()
	require.Len(t, plans, 3)
	require.Empty(t, unshared)
	one := plans[0].Host
	require.Positive(t, one)
	for enough := range 3 {
		o.Host = one * int64(enough+1)
		plans, unshared = helpers()
		require.Len(t, plans, enough+1)
		require.Len(t, unshared, 2-enough)
		for _, text := range unshared {
			require.Contains(t, text, "card: ")
			require.Contains(t, text, "of host memory")
		}
	}
}

// Each device computes tiles, and one that fails in the middle of a tile returns it: the
// result is the same.
func TestShareWithOneThatFails(t *testing.T) {
	m := open(t, gputest.Open(t), smallCheckpoint(t), F32)
	o := EncodeOptions{Options: Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8)}}
	clip := noiseClip(9, 32, 48)
	want := encodeAll(t, m, clip, o)
	for _, fails := range []bool{false, true} {
		dev, other := helper(t, smallCheckpoint(t), -1)
		require.NoError(t, m.Share(other))
		p, err := m.PlanEncode(t.Context(), 9, 32, 48, o)
		require.NoError(t, err)
		began := make(chan bool)
		shared := &watched{floats: clip, read: func(times int) error {
			if times == 1 {
				close(began)
			}
			if fails && times == 6 { // of 9 frames: the second slice of its first tile
				return errors.New("gone")
			}
			return nil
		}}
		var lost []error
		last := 0.0
		z, err := p.Collect(context.Background(), shared, Watch{
			Progress: func(v Progress) {
				select {
				case <-began:
				case <-time.After(time.Minute):
					assert.Fail(t, "the helper took no tile")
				}
				assert.GreaterOrEqual(t, v.Done, last-1e-6)
				last = v.Done
			},
			Lost: func(adapter gpu.Info, err error) {
				assert.Equal(t, dev.Info().Name, adapter.Name)
				lost = append(lost, err)
			},
		})
		require.NoError(t, err)
		closeTo(t, z.Data, want, 1e-12, "encoded")
		if fails {
			require.Len(t, lost, 1)
			require.EqualError(t, lost[0], "gone")
			require.Zero(t, p.Helpers[0].Tiles)
			continue
		}
		require.Empty(t, lost)
		require.Positive(t, p.Helpers[0].Tiles)
		require.Less(t, p.Helpers[0].Tiles, len(p.Tiles.Tiles))
		require.InDelta(t, 1, last, 1e-9)
	}
}

// A job that ends early ends its helpers.
func TestShareEndsEarly(t *testing.T) {
	m := open(t, gputest.Open(t), smallCheckpoint(t), F32)
	dev, other := helper(t, smallCheckpoint(t), -1)
	require.NoError(t, m.Share(other))
	o := DecodeOptions{Options: Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8)}}
	p, err := m.PlanDecode(t.Context(), 3, 4, 6, o)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	for _, err = range p.Run(ctx, noiseLatent(3, 4, 6), Watch{Progress: func(Progress) { stop() }}) {
		if err != nil {
			break
		}
	}
	require.ErrorIs(t, err, context.Canceled)
	other.Unload()
	drain(t, dev)
	require.Zero(t, dev.Stats().Bytes, "left on the helper's device")
	m.others = nil
	half, err := Open(dev, smallCheckpoint(t), Settings{Precision: F16})
	require.NoError(t, err)
	defer half.Close()
	require.ErrorContains(t, m.Share(half), "expected the same")
	require.False(t, errors.Is(err, context.Canceled))
}

//go:build !js

package vae

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// refusing makes a device run out of memory once, at the nth buffer or batch from now on;
// the result counts them.
func refusing(dev *gpu.Device, nth int) *int {
	count := new(int)
	dev.InjectFaults(func(int64) error {
		if *count++; *count == nth {
			return gpu.ErrOutOfMemory
		}
		return nil
	})
	return count
}

// narrow returns a checkpoint of few channels.
func narrow(t *testing.T) string {
	return made(t, "narrow.safetensors", func(path string) error {
		return synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{Widths: []int{8, 12, 20, 20}, Latent: 4, Groups: 4, DType: safetensors.F32})
	})
}

// frames decodes a latent.
func frames(t *testing.T, m *Model, z Latent, o Options) []float32 {
	all, err := framesOf(m.Decode(context.Background(), z, DecodeOptions{Options: o}))
	require.NoError(t, err)
	return all
}

// A job that runs out of memory at any point, while weights load and after frames are
// finished, continues with less memory in the same tiles. Its result is the same, each
// frame comes once, and the device never holds more than planned. FAULTS=N tries that
// many points.
func TestOutOfMemoryAnywhere(t *testing.T) {
	dev := gputest.Open(t)
	defer dev.InjectFaults(nil)
	m := open(t, dev, narrow(t), F32)
	z, clip := noiseLatent(6, 3, 4), noiseClip(9, 24, 32)
	points := 4
	if testenv.Short(t) {
		points = 2
	}
	if n, err := strconv.Atoi(os.Getenv("FAULTS")); err == nil {
		points = n
	}
	for name, o := range map[string]Options{
		"one tile": {},
		"tiles":    {Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8)},
	} {
		decode := func(t *testing.T, w Watch, made func()) (all []float32) {
			p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
			require.NoError(t, err)
			for f, err := range p.Run(context.Background(), z, w) {
				require.NoError(t, err)
				all = append(all, f.Pixels...)
				made()
			}
			return all
		}
		encode := func(t *testing.T, w Watch, made func()) []float32 {
			w.Progress = func(Progress) { made() }
			return encodeWatched(t, m, clip, EncodeOptions{Options: o}, w)
		}
		for op, run := range map[string]func(*testing.T, Watch, func()) []float32{"decode": decode, "encode": encode} {
			t.Run(name+"/"+op, func(t *testing.T) {
				if name == "tiles" {
					testenv.Long(t)
				}
				// Weights load in every run, as in a continued one. first is the request
				// after which the first frame of a decode, or part of an encode, was
				// made.
				cold := func(nth int, w Watch) (all []float32, first, requests int) {
					m.Unload()
					drain(t, dev)
					count := refusing(dev, nth)
					all = run(t, w, func() {
						if first == 0 {
							first = *count
						}
					})
					dev.InjectFaults(nil)
					return all, first, *count
				}
				want, first, requests := cold(0, Watch{})
				require.Less(t, first, requests, "nothing is asked for after the first frame")
				r := rand.New(rand.NewPCG(13, uint64(len(name))))
				finished := 0
				for i := range points {
					lessened := 0
					w := Watch{Less: func(was, now *Plan, frames int) {
						lessened++
						finished += frames
						assert.Less(t, now.Bytes(), was.Bytes())
						assert.Equal(t, was.Tile, now.Tile)
					}}
					nth := 1 + (i*requests+r.IntN(requests))/points
					if i%2 == 1 { // few requests follow the weights
						nth = first + 1 + r.IntN(requests-first)
					}
					got, _, _ := cold(nth, w)
					assert.Equal(t, 1, lessened, "at %d of %d", nth, requests)
					closeTo(t, got, want, 1e-11, "made otherwise")
				}
				t.Logf("%d requests, the first frame after %d, %d finished frames kept", requests, first, finished)
				if op == "decode" && points > 1 {
					assert.Positive(t, finished, "none went on after finished frames")
				}
			})
		}
	}
}

// smaller limits a device's memory for buffers.
func smaller(dev *gpu.Device, bytes int64) {
	dev.InjectFaults(func(n int64) error {
		if dev.Stats().Bytes+n > bytes {
			return gpu.ErrOutOfMemory
		}
		return nil
	})
}

// A job on a device with less memory than planned uses smaller tiles if their size is
// open, or if they give the same result; otherwise it fails with the device's error.
func TestOutOfMemoryTakesSmallerTiles(t *testing.T) {
	dev := gputest.Open(t)
	defer dev.InjectFaults(nil)
	seedVR2, wan := open(t, dev, narrow(t), F32), open(t, dev, tiny(t, synthetic.WanConfig{Dim: 6, Latent: 4}), F32)
	z := noiseLatent(1, 16, 16)
	for name, c := range map[string]struct {
		m    *Model
		o    Options
		fits bool
	}{
		"open":            {seedVR2, Options{Shrink: true, Overlap: tiling.Square(8)}, true},
		"asked for":       {seedVR2, Options{Overlap: tiling.Square(8)}, false},
		"exact":           {wan, Options{}, true},
		"asked for exact": {wan, Options{Tiling: Exact, Tile: tiling.Choice{Tile: tiling.Square(96)}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			defer c.m.Unload()
			dev.InjectFaults(nil)
			want := frames(t, c.m, z, c.o)
			c.m.Unload()
			p, err := c.m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: c.o})
			require.NoError(t, err)
			was := p.Plan
			smaller(dev, dev.Stats().Bytes+was.Weights+(was.Bytes()-was.Weights)*6/7)
			got, err := framesOf(p.Run(context.Background(), z, Watch{}))
			if !c.fits {
				require.ErrorIs(t, err, gpu.ErrOutOfMemory)
				return
			}
			require.NoError(t, err)
			require.False(t, p.Tiles.Whole())
			require.NotEqual(t, was.Tile, p.Tile)
			require.Len(t, got, len(want))
			if c.m == wan {
				closeTo(t, got, want, 1e-11, "exact tiles make something else")
			}
		})
	}
}

// Finished frames are not followed by frames of smaller tiles, which would differ
// visibly.
func TestOutOfMemoryAfterFrames(t *testing.T) {
	dev := gputest.Open(t)
	defer dev.InjectFaults(nil)
	m := open(t, dev, narrow(t), F32)
	defer m.Unload()
	z, o := noiseLatent(3, 2, 2), Options{Shrink: true, Overlap: tiling.Square(8)}
	want := frames(t, m, z, o)
	for _, forever := range []bool{false, true} {
		var got []float32
		var kept, count int
		p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
		require.NoError(t, err)
		for f, rerr := range p.Run(context.Background(), z, Watch{Less: func(_, _ *Plan, finished int) { kept = finished }}) {
			if err = rerr; err != nil {
				break
			}
			require.Equal(t, count, f.Index)
			got = append(got, f.Pixels...)
			if count++; count == 5 {
				dev.InjectFaults(func(int64) error {
					if !forever {
						dev.InjectFaults(nil)
					}
					return gpu.ErrOutOfMemory
				})
			}
		}
		require.Equal(t, 5, kept)
		if forever {
			require.ErrorIs(t, err, gpu.ErrOutOfMemory)
			require.ErrorContains(t, err, "smaller tiles would not match the 5 finished frames")
			continue
		}
		require.NoError(t, err)
		closeTo(t, got, want, 1e-11, "frames after those that were kept")
	}
}

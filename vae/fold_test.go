package vae

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// unfolded opens a checkpoint as a model whose layers are as in the file.
func unfolded(t *testing.T, m *Model) *Model {
	t.Helper()
	o, err := Open(m.dev, m.file.Name(), Settings{Precision: F32, Kernels: KernelSettings{NoFold: true}})
	require.NoError(t, err)
	t.Cleanup(func() { o.Close() })
	return o
}

// Upsampling folded into the following convolutions equals the separate layers: for clips
// of any length, in slices of any length, of odd sizes, in tiles.
func TestFoldedIsExact(t *testing.T) {
	dev := gputest.Open(t)
	for name, path := range map[string]string{
		"seedvr2": made(t, "fold.safetensors", func(path string) error {
			return synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{Widths: []int{8, 12, 20, 20}, Latent: 4, Groups: 4, DType: safetensors.F32})
		}),
		"wan2.1": wan(t, "fold_wan", synthetic.WanConfig{Dim: 6, Latent: 4, DType: safetensors.F32}),
		"wan2.2": tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}),
	} {
		m := open(t, dev, path, F32)
		plain := unfolded(t, m)
		require.Less(t, flops(t, m), flops(t, plain), name)
		for _, frames := range []int{1, 2, 3, 5} {
			for _, chunk := range []int{1, 2, 3} {
				if chunk > 1 && frames <= chunk {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d frames by %d", name, frames, chunk), func(t *testing.T) {
					if name != "seedvr2" && (frames != 5 || chunk != 2) || frames == 3 {
						testenv.Long(t)
					}
					sameFolded(t, m, plain, frames, 3, 5, DecodeOptions{Options: Options{Chunk: chunk}})
				})
			}
		}
		t.Run(name+"/one row", func(t *testing.T) { sameFolded(t, m, plain, 3, 1, 9, DecodeOptions{}) })
		t.Run(name+"/one column", func(t *testing.T) { sameFolded(t, m, plain, 3, 9, 1, DecodeOptions{}) })
		t.Run(name+"/tiles", func(t *testing.T) {
			if name == "seedvr2" {
				testenv.Long(t) // its tiles are the largest
			}
			s := m.Config.Spatial
			sameFolded(t, m, plain, 2, 7, 9, DecodeOptions{Options: Options{Tile: tiling.Choice{Tile: tiling.Square(3 * s)}, Overlap: tiling.Square(s)}})
		})
	}
}

// The plain kernel folds weights: faster kernels are verified only for the commands of
// jobs, which these are not.
func TestFoldedByThePlainKernel(t *testing.T) {
	testenv.Long(t)
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F16) // so that no product of the job is in f32
	decodeAll(t, m, noiseLatent(2, 4, 4), DecodeOptions{})
	var products []string
	for label := range dev.Stats().Programs {
		if strings.HasPrefix(label, "pointwise") && strings.HasSuffix(label, "_f32") {
			products = append(products, label)
		}
	}
	require.Equal(t, []string{"pointwise_f32"}, products)
}

// At the published widths, from a checkpoint of halves: there folded weights are f32.
func TestFoldedIsExactAtThePublishedSize(t *testing.T) {
	m := open(t, gputest.Open(t), fullCheckpoint(t), F32)
	z := Latent{Channels: 16, Frames: 3, Height: 1, Width: 2, Data: noise(16 * 3 * 2)}
	want := decodeAll(t, unfolded(t, m), z, DecodeOptions{})
	closeTo(t, decodeAll(t, m, z, DecodeOptions{}), want, 1e-9, "folded and unfolded")
}

// An encoder's convolution whose taps read one frame multiplies once, with the same
// result: for clips of every length that differs at its start, in slices of any length,
// in tiles.
func TestFoldedTimeIsExact(t *testing.T) {
	dev := gputest.Open(t)
	whole, chunks, tiles := Options{}, Options{Chunk: 2}, Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8)}
	m := open(t, dev, smallCheckpoint(t), F32)
	plain := unfolded(t, m)
	for frames, options := range map[int][]Options{1: {whole, tiles}, 2: {whole}, 3: {tiles}, 5: {whole, chunks}, 9: {whole}} {
		clip := noiseClip(frames, 16, 24)
		for _, o := range options {
			t.Run(fmt.Sprintf("%d frames by %d in tiles of %v", frames, max(1, o.Chunk), o.Tile.Tile), func(t *testing.T) {
				moments := EncodeOptions{Options: o, Moments: true}
				closeTo(t, encodeAll(t, m, clip, moments), encodeAll(t, plain, clip, moments), 1e-9, "folded and unfolded")
			})
		}
	}
}

// An encode to means computes no log-variances; its means equal those of the moments, to
// the bit.
func TestMeansAreThoseOfMoments(t *testing.T) {
	dev := gputest.Open(t)
	for name, path := range map[string]string{"seedvr2": smallCheckpoint(t), "wan2.1": wan21Checkpoint(t)} {
		for _, p := range []Precision{F32, F16} {
			m := open(t, dev, path, p)
			clip := noiseClip(5, 40, 48)
			for what, o := range map[string]Options{
				"one tile":  {Unscaled: true},
				"feathered": {Unscaled: true, Tiling: Feather, Tile: tiling.Choice{Tile: tiling.Square(32)}, Overlap: tiling.Square(8)},
			} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, p, what), func(t *testing.T) {
					if p == F16 {
						testenv.Long(t)
					}
					moments := encodeAll(t, m, clip, EncodeOptions{Options: o, Moments: true})
					require.Equal(t, moments[:len(moments)/2], encodeAll(t, m, clip, EncodeOptions{Options: o}))
				})
			}
		}
	}
}

// flops returns the FLOPs of decoding a clip.
func flops(t *testing.T, m *Model) int64 {
	t.Helper()
	p, err := m.PlanDecode(t.Context(), 3, 4, 4, DecodeOptions{})
	require.NoError(t, err)
	return p.Cost.FLOPs
}

func sameFolded(t *testing.T, a, b *Model, frames, h, w int, o DecodeOptions) {
	t.Helper()
	z := noiseLatent(frames, h, w)
	want := decodeAll(t, b, z, o)
	closeTo(t, decodeAll(t, a, z, o), want, 1e-9, "folded and unfolded")
}

// A clip's first frames and later ones have different weights, and pictures have one tap
// instead of three. The device has exactly the weights that a plan reads.
func TestWeightsThatAreRead(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	for _, frames := range []int{1, 3, 2, 1} {
		z := noiseLatent(frames, 2, 2)
		p, err := m.PlanDecode(t.Context(), frames, 2, 2, DecodeOptions{})
		require.NoError(t, err)
		var pictures int64
		for _, b := range m.decoder.net.Weights.Buffers() {
			if strings.HasSuffix(b.Label, " of pictures.weight") {
				pictures += b.Size
			}
		}
		clips := m.decoder.net.Weights.Bytes() - pictures
		require.Equal(t, frames > 1, p.Weights == clips, "%d frames read %d of %d bytes", frames, p.Weights, clips)
		require.Equal(t, frames == 1, p.Weights < clips/2, "%d frames read %d of %d bytes", frames, p.Weights, clips)
		want := decodeAll(t, m, z, DecodeOptions{})
		require.Equal(t, p.Weights, dev.Stats().Bytes, "on the device after %d frames", frames)
		require.Equal(t, want, decodeAll(t, m, z, DecodeOptions{}), "the second time")
	}
}

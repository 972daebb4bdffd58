package vae

import (
	"context"
	"path/filepath"
	"strings"
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

// parameters are those of a table.
func parameters(all []synthetic.Spec) (sum int) {
	for _, s := range all {
		n := 1
		for _, d := range s.Shape {
			n *= d
		}
		sum += n
	}
	return sum
}

// The published size has the published numbers of tensors and parameters, and is what
// Published plans for.
func TestPublishedHunyuan(t *testing.T) {
	all := synthetic.Hunyuan(synthetic.HunyuanConfig{})
	assert.Len(t, all, 248)
	assert.Equal(t, 246_478_803, parameters(all))
	m, err := Published("hunyuanvideo", gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
	require.NoError(t, err)
	shapes := map[string][]int{}
	for _, s := range all {
		shapes[s.Name] = s.Shape
	}
	require.Len(t, m.specs, len(all))
	for _, s := range m.specs {
		assert.Equal(t, shapes[s.name], s.shape, s.name)
	}
}

// smallHunyuan is a checkpoint of a channel a group.
func smallHunyuan(t testing.TB, name func(string) string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hunyuan.safetensors")
	require.NoError(t, synthetic.CreateHunyuan(path, synthetic.HunyuanConfig{Widths: []int{32, 32, 32, 32}, Latent: 4, DType: safetensors.F32, Name: name}))
	return path
}

// Names of diffusers and of ldm, and prefixes, decode and encode to the same bits; halves
// do what they can.
func TestNamesOfHunyuan(t *testing.T) {
	dev := gputest.Open(t)
	z := madeLatent(4, 2, 2, 3)
	var want, wantLatent []float32
	for i, name := range []func(string) string{
		nil, hunyuanLDM,
		func(name string) string { return "vae." + hunyuanLDM(name) },
	} {
		path := smallHunyuan(t, name)
		if i == 1 { // [c, c, 1, 1, 1]
			path = unflattened(t, path)
		}
		m := open(t, dev, path, F32)
		require.Equal(t, map[bool]string{true: "diffusers", false: "original"}[i == 0], m.Config.Layout)
		got := decodeAll(t, m, z, DecodeOptions{Options: Options{Unscaled: true}})
		encoded, err := m.Encode(context.Background(), floats{5, 16, 24, got}, EncodeOptions{})
		require.NoError(t, err)
		if i == 0 {
			want, wantLatent = got, encoded.Data
			continue
		}
		require.Equal(t, want, got, "%d", i)
		require.Equal(t, wantLatent, encoded.Data, "%d", i)
	}
	all, meta, err := synthetic.Read(smallHunyuan(t, nil))
	require.NoError(t, err)
	for _, half := range []string{"encoder", "decoder"} {
		var kept []synthetic.Raw
		for _, x := range all {
			if !strings.HasPrefix(x.Name, half+".") {
				kept = append(kept, x)
			}
		}
		path := filepath.Join(t.TempDir(), "half.safetensors")
		require.NoError(t, synthetic.Create(path, kept, meta))
		m, err := Inspect(path, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.NoError(t, err)
		assert.Equal(t, half, m.Config.Lacks)
		assert.Equal(t, 2, m.Config.Blocks)
		assert.Equal(t, 4, m.Config.Latent)
		m.Close()
	}
}

// narrow15 is a checkpoint of HunyuanVideo 1.5 with few channels.
func narrow15(t testing.TB) string {
	return made(t, "narrow15.safetensors", func(path string) error {
		return synthetic.CreateHunyuan15(path, synthetic.Hunyuan15Config{Widths: []int{8, 8, 16, 16, 16}, Latent: 4, DType: safetensors.F32})
	})
}

// narrowHunyuan is a checkpoint of HunyuanVideo with a channel a group.
func narrowHunyuan(t testing.TB) string {
	return made(t, "narrow_hunyuan.safetensors", func(path string) error {
		return synthetic.CreateHunyuan(path, synthetic.HunyuanConfig{Widths: []int{32, 32, 32, 32}, Latent: 4, DType: safetensors.F32})
	})
}

// madeLatent has numbers that differ from cell to cell.
func madeLatent(c, t, h, w int) Latent {
	z := Latent{Channels: c, Frames: t, Height: h, Width: w, Data: make([]float32, c*t*h*w)}
	for i := range z.Data {
		z.Data[i] = float32(i%11)/5 - 1
	}
	return z
}

// unflattened is a checkpoint whose attention's weights have ones behind them.
func unflattened(t *testing.T, path string) string {
	t.Helper()
	all, meta, err := synthetic.Read(path)
	require.NoError(t, err)
	n := 0
	for i, x := range all {
		if strings.Contains(x.Name, ".attn_1.") && len(x.Shape) == 2 {
			all[i].Shape = append(x.Shape[:2:2], 1, 1, 1)
			n++
		}
	}
	require.Equal(t, 8, n)
	path = filepath.Join(t.TempDir(), filepath.Base(path))
	require.NoError(t, synthetic.Create(path, all, meta))
	return path
}

// Of frames that are larger than the goldens', whose norms magnify the rounding of halves
// less, f16 is as close to f32 as other families' is to their goldens.
func TestHunyuanInHalves(t *testing.T) {
	testenv.Long(t)
	dev := gputest.Open(t)
	z := madeLatent(4, 3, 8, 8)
	o := DecodeOptions{Options: Options{Unscaled: true}}
	path := hunyuanCheckpoint(t)
	want := decodeAll(t, open(t, dev, path, F32), z, o)
	closeTo(t, decodeAll(t, open(t, dev, path, F16), z, o), want, 1e-5, "f16")
}

// Temporal tiles go with tiles of frames, and those that a budget asks for; each part of
// the clip is read for two of them.
func TestHunyuanInTiles(t *testing.T) {
	m, err := Published("hunyuanvideo", gpu.Info{Limits: gpu.DefaultLimits}, Settings{Precision: F16})
	require.NoError(t, err)
	o := Options{Tile: tiling.Choice{Tile: tiling.Square(128)}, Overlap: tiling.Square(32)}
	p, err := m.PlanEncode(t.Context(), 33, 256, 256, EncodeOptions{Options: o})
	require.NoError(t, err)
	assert.Equal(t, 9, p.Frames)
	assert.Equal(t, 3, p.Slices)
	assert.Equal(t, 2*len(p.Tiles.Tiles), p.Reads())
	p, err = m.PlanEncode(t.Context(), 13, 256, 256, EncodeOptions{Options: o})
	require.NoError(t, err)
	assert.Equal(t, 1, p.Slices)
	assert.Equal(t, len(p.Tiles.Tiles), p.Reads())
}

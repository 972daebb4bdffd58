package vae

import (
	"context"
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

// parameters returns the number of parameters in a table.
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

// The published sizes have the published numbers of tensors and parameters, and equal
// what Published plans for.
func TestPublishedHunyuan(t *testing.T) {
	testPublished(t, hunyuan, synthetic.Hunyuan(synthetic.HunyuanConfig{}), 248, 246_478_803, ".attn_1.")
	testPublished(t, hunyuan15, synthetic.Hunyuan15(synthetic.Hunyuan15Config{}), 218, 1_260_634_115, ".attn_1.")
	testPublished(t, hunyuanImage, synthetic.HunyuanImage(synthetic.HunyuanImageConfig{}), 324, 405_575_491, ".attn_1.")
}

// testPublished compares a file of the published size with the published number of
// tensors and parameters, and with what Published plans for. Published omits trailing
// ones in the shapes of tensors whose names contain flat.
func testPublished(t *testing.T, family string, all []synthetic.Spec, tensors, count int, flat string) {
	t.Helper()
	assert.Len(t, all, tensors)
	assert.Equal(t, count, parameters(all))
	m, err := Published(family, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
	require.NoError(t, err)
	shapes := map[string][]int{}
	for _, s := range all {
		shapes[s.Name] = s.Shape
	}
	require.Len(t, m.specs, len(all))
	for _, s := range m.specs {
		shape := shapes[s.name]
		if flat != "" && strings.Contains(s.name, flat) {
			shape = shape[:len(s.shape)]
		}
		assert.Equal(t, shape, s.shape, s.name)
	}
}

// Files with diffusers' or ldm's names, or prefixes, decode and encode to the same bits.
func TestNamesOfHunyuan(t *testing.T) {
	for _, f := range []struct {
		family, path, layout, other string
		name                        func(string) string
		frame                       int
	}{
		{hunyuan, narrowHunyuan(t), "diffusers", "original", hunyuanLDM, 8},
		{hunyuan15, narrow15(t), "original", "diffusers", hunyuan15Diffusers, 16},
	} {
		other := named(t, f.path, f.name)
		if f.family == hunyuan { // [c, c, 1, 1, 1]
			other = unflattened(t, other)
		}
		files := []layout{{f.path, f.layout, ""}, {other, f.other, ""}}
		if !testenv.Short(t) {
			files = append(files, layout{named(t, f.path, func(s string) string { return "vae." + f.name(s) }), f.other, ""})
		}
		c := testNames(t, madeLatent(4, 2, 1, 2), noiseClip(5, f.frame, 2*f.frame), files)
		require.Equal(t, f.family, c.Family)
	}
}

// A file of one network runs its direction, in either layout.
func TestHalvesOfHunyuan(t *testing.T) {
	for _, path := range []string{
		narrowHunyuan(t), named(t, narrowHunyuan(t), hunyuanLDM), narrow15(t), named(t, narrow15(t), hunyuan15Diffusers),
	} {
		testHalves(t, path)
	}
}

// testHalves checks each network of a file alone: it is recognised like the whole.
func testHalves(t *testing.T, path string) {
	t.Helper()
	whole, err := Inspect(path, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
	require.NoError(t, err)
	whole.Close()
	for _, half := range []string{"encoder", "decoder"} {
		file := changed(t, path, func(x *synthetic.Raw) bool { return !strings.HasPrefix(x.Name, half+".") })
		m, err := Inspect(file, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.NoError(t, err)
		assert.Equal(t, half, m.Config.Lacks)
		for _, of := range []*Config{&whole.Config, &m.Config} {
			of.Lacks, of.Widths, of.Decoder, of.TimeDown, of.TimeUp = "", nil, nil, nil, nil
		}
		assert.Equal(t, whole.Config, m.Config)
		m.Close()
	}
}

// Files whose tensors contradict their names are refused with what was found.
func TestUnfitHunyuan(t *testing.T) {
	testUnfit(t, narrowHunyuan(t), []unfit{
		{"decoder.conv_in.conv.weight", []int{32, 4, 27}, "has shape [32 4 27]"},
		{"encoder.down_blocks.1.resnets.0.conv1.conv.weight", []int{33, 32, 3, 3, 3}, "33 channels are not a multiple of 32 norm groups"},
		{"decoder.up_blocks.0.upsamplers.0.conv.conv.weight", []int{32, 32, 3, 3}, "of another shape: decoder.up_blocks.0.upsamplers.0.conv.conv.weight is [32 32 3 3], expected [32 32 3 3 3]"},
	})
	testUnfit(t, narrow15(t), []unfit{
		{"decoder.up.4.block.0.conv1.conv.weight", []int{3, 8, 3, 3, 3}, "8 channels of decoder stage 3 become 3, expected blocks of pixels that fit"},
		{"decoder.up.0.upsample.conv.conv.weight", []int{96, 16, 3, 3, 3}, "found a temporal factor of 2 in the decoder, expected 4"},
		{"decoder.conv_in.conv.weight", []int{16, 5, 3, 3, 3}, "has 16 channels where it has 5 of a latent"},
		{"encoder.mid.attn_1.q.weight", []int{16, 16, 3, 1, 1}, "encoder.mid.attn_1.q.weight is [16 16 3], expected [16 16]"},
	})
}

// A frame that ends within a cell includes that cell, in tiles too: the last tile is
// smaller, and a tile that holds the whole frame is the frame.
func TestHunyuanOfAnySize(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, narrowHunyuan(t), F32)
	clip := noiseClip(5, 20, 27)
	one := encodeAll(t, m, clip, EncodeOptions{})
	require.Len(t, one, 4*2*3*4)
	for _, how := range []Tiling{Feather, Diffusers} {
		o := Options{Tiling: how, Tile: tiling.Choice{Tile: tiling.Square(32)}, Overlap: tiling.Square(8)}
		require.Equal(t, one, encodeAll(t, m, clip, EncodeOptions{Options: o}), "%s", how)
		o.Tile.Tile = tiling.Square(16)
		p, err := m.PlanEncode(t.Context(), 5, 20, 27, EncodeOptions{Options: o})
		require.NoError(t, err)
		last := p.Tiles.Tiles[len(p.Tiles.Tiles)-1]
		require.Equal(t, [2]int{20, 27}, [2]int{last.In.Y1, last.In.X1})
		z, err := p.Collect(context.Background(), clip, Watch{})
		require.NoError(t, err)
		require.Equal(t, [2]int{3, 4}, [2]int{z.Height, z.Width})
		// Only the first tile contributes to the first cell; its clip is the frames'
		// corner.
		corner := floats{5, 16, 16, nil}
		for plane := range 15 {
			for y := range 16 {
				corner.v = append(corner.v, clip.v[(plane*20+y)*27:][:16]...)
			}
		}
		of := encodeAll(t, m, corner, EncodeOptions{})
		for plane := range 8 {
			require.InDelta(t, of[plane*4], z.Data[plane*12], 1e-6, "%s", how)
		}
	}
}

// Clips in slices, and in tiles that see the whole frame, give the same result as at
// once.
func TestHunyuan15InSlices(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, narrow15(t), F32)
	z, clip := noiseLatent(6, 2, 1), noiseClip(21, 32, 16)
	one := Options{Unscaled: true, Chunk: 10}
	wantVideo, wantLatent := decodeAll(t, m, z, DecodeOptions{Options: one}), encodeAll(t, m, clip, EncodeOptions{Options: one})
	for _, chunk := range []int{2, 1, 4} {
		if chunk != 2 && testenv.Short(t) {
			continue
		}
		o := Options{Unscaled: true, Chunk: chunk}
		p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
		require.NoError(t, err)
		require.Equal(t, 1+(5-chunk+chunk-1)/chunk, p.Slices)
		closeTo(t, decodeAll(t, m, z, DecodeOptions{Options: o}), wantVideo, 1e-11, "decoded in slices")
		closeTo(t, encodeAll(t, m, clip, EncodeOptions{Options: o}), wantLatent, 1e-11, "encoded in slices")
	}
	// Later frames are not seen: a shorter clip gives the same first frames.
	short := Latent{Channels: 4, Frames: 2, Height: 2, Width: 1}
	for c := range 4 {
		short.Data = append(short.Data, z.Data[c*12:][:4]...)
	}
	got := decodeAll(t, m, short, DecodeOptions{Options: one})
	for c := range 3 {
		closeTo(t, got[c*5*512:][:5*512], wantVideo[c*21*512:][:5*512], 1e-11, "the first frames")
	}
}

// narrow15 returns a checkpoint of HunyuanVideo 1.5 with few channels.
func narrow15(t testing.TB) string {
	return made(t, "narrow15.safetensors", func(path string) error {
		return synthetic.CreateHunyuan15(path, synthetic.Hunyuan15Config{Widths: []int{8, 8, 16, 16, 16}, Latent: 4, DType: safetensors.F32})
	})
}

// narrowHunyuan returns a checkpoint of HunyuanVideo with one channel per group.
func narrowHunyuan(t testing.TB) string {
	return made(t, "narrow_hunyuan.safetensors", func(path string) error {
		return synthetic.CreateHunyuan(path, synthetic.HunyuanConfig{Widths: []int{32, 32, 32, 32}, Latent: 4, DType: safetensors.F32})
	})
}

// madeLatent returns a latent whose numbers differ from cell to cell.
func madeLatent(c, t, h, w int) Latent {
	z := Latent{Channels: c, Frames: t, Height: h, Width: w, Data: make([]float32, c*t*h*w)}
	for i := range z.Data {
		z.Data[i] = float32(i%11)/5 - 1
	}
	return z
}

// unflattened writes a checkpoint whose attention weights end in dimensions of 1.
func unflattened(t *testing.T, path string) string {
	t.Helper()
	n := 0
	path = changed(t, path, func(x *synthetic.Raw) bool {
		if strings.Contains(x.Name, ".attn_1.") && len(x.Shape) == 2 {
			x.Shape = append(x.Shape[:2:2], 1, 1, 1)
			n++
		}
		return true
	})
	require.Equal(t, 8, n)
	return path
}

// For frames larger than the goldens', whose norms magnify the rounding of halves less,
// f16 is as close to f32 as other families' f16 is to their goldens.
func TestHunyuanInHalves(t *testing.T) {
	testenv.Long(t)
	dev := gputest.Open(t)
	z := madeLatent(4, 3, 8, 8)
	o := DecodeOptions{Options: Options{Unscaled: true}}
	path := hunyuanCheckpoint(t)
	want := decodeAll(t, open(t, dev, path, F32), z, o)
	closeTo(t, decodeAll(t, open(t, dev, path, F16), z, o), want, 1e-5, "f16")
}

// Temporal tiles work with tiles of frames, and with those that a budget requires; each
// part of the clip is read for two of them.
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

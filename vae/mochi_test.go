package vae

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// The published size has the published number of tensors and parameters, and equals what
// Published plans for.
func TestPublishedMochi(t *testing.T) {
	testPublished(t, mochi, synthetic.Mochi(synthetic.MochiConfig{}), 437, 459_748_611, "")
}

// originalMochi writes a checkpoint with its original names, in which queries, keys and
// values are one tensor.
func originalMochi(t *testing.T, path string, name func(string) string) string {
	t.Helper()
	return edited(t, path, func(all []synthetic.Raw) (original []synthetic.Raw) {
		byName := map[string]synthetic.Raw{}
		for _, x := range all {
			byName[x.Name] = x
		}
		for _, x := range all {
			if strings.HasSuffix(x.Name, ".to_k.weight") || strings.HasSuffix(x.Name, ".to_v.weight") {
				continue
			}
			if at, ok := strings.CutSuffix(x.Name, ".to_q.weight"); ok {
				x.Data = slices.Concat(x.Data, byName[at+".to_k.weight"].Data, byName[at+".to_v.weight"].Data)
				x.Name, x.Shape = at+".to_qkv.weight", []int{3 * x.Shape[0], x.Shape[1]}
			}
			if x.Name = name(mochiOriginal(x.Name)); x.Name != "" {
				original = append(original, x)
			}
		}
		return original
	})
}

// The original names are those of genmo's two files.
func TestOriginalNamesOfMochi(t *testing.T) {
	for name, want := range map[string]string{
		"decoder.conv_in.bias":                                "decoder.blocks.0.0.bias",
		"decoder.block_in.resnets.2.conv1.conv.weight":        "decoder.blocks.0.3.stack.2.weight",
		"decoder.up_blocks.1.resnets.3.conv2.conv.weight":     "decoder.blocks.2.blocks.3.stack.5.weight",
		"decoder.up_blocks.2.proj.bias":                       "decoder.blocks.3.proj.bias",
		"decoder.block_out.resnets.0.norm2.norm_layer.weight": "decoder.blocks.4.0.stack.3.weight",
		"decoder.proj_out.weight":                             "decoder.output_proj.weight",
		"encoder.proj_in.weight":                              "encoder.layers.0.weight",
		"encoder.block_in.resnets.0.norm1.norm_layer.bias":    "encoder.layers.1.stack.0.bias",
		"encoder.down_blocks.0.conv_in.conv.weight":           "encoder.layers.4.layers.0.weight",
		"encoder.down_blocks.2.resnets.5.conv2.conv.bias":     "encoder.layers.6.layers.6.stack.5.bias",
		"encoder.down_blocks.1.norms.0.norm_layer.weight":     "encoder.layers.5.layers.1.attn_block.norm.weight",
		"encoder.down_blocks.1.attentions.3.to_qkv.weight":    "encoder.layers.5.layers.4.attn_block.attn.qkv.weight",
		"encoder.block_out.attentions.2.to_out.0.bias":        "encoder.layers.9.attn_block.attn.out.bias",
		"encoder.block_out.resnets.1.conv1.conv.weight":       "encoder.layers.8.stack.2.weight",
		"encoder.norm_out.norm_layer.weight":                  "encoder.output_norm.weight",
		"encoder.proj_out.weight":                             "encoder.output_proj.weight",
	} {
		assert.Equal(t, want, mochiOriginal(name))
	}
}

// diffusers' names and the original ones, also behind a prefix, are one model, which
// decodes and encodes to the same bits. Files of one network need no "encoder." or
// "decoder.".
func TestNamesOfMochi(t *testing.T) {
	path := mochiCheckpoint(t)
	without := func(half string) func(string) string {
		return func(name string) string {
			rest, ok := strings.CutPrefix(name, half)
			if !ok {
				return ""
			}
			return rest
		}
	}
	c := testNames(t, madeLatent(5, 2, 1, 2), noiseClip(7, 8, 16), []layout{
		{path, "diffusers", ""},
		{originalMochi(t, path, strings.Clone), "original", ""},
		{originalMochi(t, path, func(s string) string { return "vae." + s }), "original", ""},
		{named(t, path, func(s string) string { return "first_stage_model." + s }), "diffusers", ""},
		{originalMochi(t, path, without("decoder.")), "original", "encoder"},
		{originalMochi(t, path, without("encoder.")), "original", "decoder"},
		{half(t, path, "", "encoder."), "diffusers", "encoder"},
		{half(t, path, "vae.", "decoder."), "diffusers", "decoder"},
	})
	require.Equal(t, mochi, c.Family)
	require.Equal(t, []int{5, 8, 6, 32, 3}, []int{c.Latent, c.Spatial, c.Temporal, c.Groups, c.Blocks})
	require.Equal(t, [][]int{{3, 3, 4, 9}, {9, 4, 3, 3}}, [][]int{c.StageBlocks("encoder"), c.StageBlocks("decoder")})
}

// A pipeline's latents are (mu - mean) / deviation, with diffusers' numbers.
func TestStatisticsOfMochi(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, made(t, "mochi12.safetensors", func(path string) error {
		c := mochiSmall
		c.Latent, c.Decoder = 12, []int{32, 32, 32, 32}
		return synthetic.CreateMochi(path, c)
	}), F32)
	testStatistics(t, m, noiseClip(7, 8, 16), Options{}, func(channel, _ int, mu float64) float64 {
		return (mu - mochiMean[channel]) / mochiStd[channel]
	})
}

// The features are sines and cosines in float64, for any phase.
func TestFourierFeatures(t *testing.T) {
	pixel := []float32{-1, 0.3047208565, 0.999}
	got := make([]float32, 16)
	fourier(got, pixel)
	for i, v := range pixel {
		for f, times := range []float64{64, 128} {
			assert.InDelta(t, math.Sin(2*math.Pi*times*float64(v)), got[3+2*i+f], 1e-7)
			assert.InDelta(t, math.Cos(2*math.Pi*times*float64(v)), got[9+2*i+f], 1e-7)
		}
	}
	assert.Equal(t, []float32{0, 0, 0}, got[:3]) // the pixel precedes them
}

// A clip decoded in slices, in portions, in bands and with memory on the host equals one
// decoded at once. An encoder sees a whole clip, in bands too.
func TestMochiInSlices(t *testing.T) {
	m := open(t, gputest.Open(t), mochiCheckpoint(t), F32)
	z, clip := noiseLatent5(5, 3, 2), noiseClip(13, 24, 16)
	decoded, encoded, p, whole := within(t, m, z, clip, Options{Chunk: 5}, 0)
	require.Equal(t, []int{1, 1}, []int{p.Slices, whole.Slices})
	for _, c := range []struct {
		name          string
		o             Options
		binding       int64
		slices, depth int
	}{
		{"slices of one", Options{Chunk: 1}, 0, 5, 0},
		{"slices of two", Options{Chunk: 2}, 0, 3, 0},
		{"portions", Options{Chunk: 2, Internals: Internals{Least: true}}, 0, 3, 2},
		{"bands", Options{Chunk: 1, Internals: Internals{Least: true}}, 256 << 10, 5, 2},
		{"offloaded", Options{Chunk: 1, Offload: OffloadOn, Internals: Internals{Across: 400}}, 0, 5, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "slices of two" && c.name != "portions" {
				testenv.Long(t)
			}
			d, e, p, encode := within(t, m, z, clip, c.o, c.binding)
			assert.Equal(t, []int{c.slices, c.depth, 1}, []int{p.Slices, p.Depth, encode.Slices})
			closeTo(t, d, decoded, 1e-11, "decoded")
			closeTo(t, e, encoded, 1e-11, "encoded")
		})
	}
}

// noiseLatent5 returns a latent of five channels.
func noiseLatent5(frames, h, w int) Latent {
	return Latent{Channels: 5, Frames: frames, Height: h, Width: w, Data: noise(5 * frames * h * w)}
}

// Diffusers tiles equal tiled_decode: each tile is decoded separately, and the rows and
// columns that two tiles share are blended, rows first, from what is already blended.
func TestDiffusersTilesOfMochi(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, mochiCheckpoint(t), F32)
	const H, W, tile, stride, frames, pixel = 5, 6, 3, 2, 7, 8 // cells
	z := noiseLatent5(2, H, W)
	own := Options{Unscaled: true}
	type picture struct {
		h, w int
		v    []float32 // [3, frames, h, w]
	}
	var rows [][]picture
	for i := 0; i < H; i += stride {
		var row []picture
		for j := 0; j < W; j += stride {
			part := Latent{Channels: 5, Frames: 2, Height: min(tile, H-i), Width: min(tile, W-j)}
			for plane := range 10 {
				for y := range part.Height {
					part.Data = append(part.Data, z.Data[(plane*H+i+y)*W+j:][:part.Width]...)
				}
			}
			row = append(row, picture{pixel * part.Height, pixel * part.Width, decodeAll(t, m, part, DecodeOptions{Options: own})})
		}
		rows = append(rows, row)
	}
	want := make([]float32, 3*frames*H*W*pixel*pixel)
	const blend = (tile - stride) * pixel
	for i, row := range rows {
		for j, b := range row {
			for plane := range 3 * frames {
				at := func(p picture, y, x int) *float32 { return &p.v[(plane*p.h+y)*p.w+x] }
				if i > 0 {
					a := rows[i-1][j]
					n := min(a.h, b.h, blend)
					for y := range n {
						for x := range b.w {
							f := float32(y) / float32(n)
							*at(b, y, x) = *at(a, a.h-n+y, x)*(1-f) + *at(b, y, x)*f
						}
					}
				}
				if j > 0 {
					a := row[j-1]
					n := min(a.w, b.w, blend)
					for y := range b.h {
						for x := range n {
							f := float32(x) / float32(n)
							*at(b, y, x) = *at(a, y, a.w-n+x)*(1-f) + *at(b, y, x)*f
						}
					}
				}
				for y := range min(b.h, stride*pixel) {
					for x := range min(b.w, stride*pixel) {
						want[(plane*H*pixel+i*stride*pixel+y)*W*pixel+j*stride*pixel+x] = *at(b, y, x)
					}
				}
			}
		}
	}
	own.Tiling, own.Tile, own.Overlap = Diffusers, tiling.Choice{Tile: tiling.Square(tile * pixel)}, tiling.Square(blend)
	closeTo(t, decodeAll(t, m, z, DecodeOptions{Options: own}), want, 1e-11, "in tiles")
	own.Tiling = Exact
	_, err := m.PlanDecode(t.Context(), 2, H, W, DecodeOptions{Options: own})
	require.ErrorIs(t, err, ErrTiling)
}

// Files whose tensors contradict their names are refused with what was found.
func TestUnfitMochi(t *testing.T) {
	testUnfit(t, mochiCheckpoint(t), []unfit{
		{"encoder.proj_in.weight", []int{32, 3}, "reads 3 channels, expected the 15 Fourier features of a pixel"},
		{"encoder.down_blocks.2.conv_in.conv.weight", []int{64, 64, 4, 2, 2}, "makes one frame of 4, expected 1 to 3"},
		{"encoder.down_blocks.2.conv_in.conv.weight", []int{64, 64, 1, 2, 2}, "sides changed by 8 and frames by 2 in the encoder, by 8 and 6 in the decoder"},
		{"decoder.up_blocks.1.proj.weight", []int{500, 64}, "makes 500 channels, next to a stage of 64: expected 4, 8 or 12 times as many"},
		{"decoder.block_out.resnets.0.conv1.conv.weight", []int{33, 33, 3, 3, 3}, "makes 128 channels, next to a stage of 33"},
		{"encoder.down_blocks.0.conv_in.conv.weight", []int{2048, 32, 1, 2, 2}, "found a stage of 2048 channels, expected at most 1024"},
		{"decoder.conv_in.weight", []int{96, 5, 1, 1}, "expected 5 dimensions"},
		{"decoder.proj_out.weight", []int{4, 32}, "decoder.proj_out.weight is [4 32], expected [3 32]"},
	})
}

package vae

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// suite is a model with its cases.
type suite struct {
	name  string // "seedvr2/small"
	path  func(t testing.TB) string
	cases func(t testing.TB) []golden
}

func suites() []suite {
	return append([]suite{
		{"seedvr2/small", smallCheckpoint, smallGoldens},
		{"wan2.1/small", wan21Checkpoint, func(t testing.TB) []golden { return smallWan(t, "wan21/", 16, 24) }},
		{"wan2.2/small", wan22Checkpoint, func(t testing.TB) []golden { return smallWan(t, "wan22/", 32, 48) }},
		{"wan2.1-upscale2x/small", func(t testing.TB) string {
			return wan(t, "upscale2x_small", synthetic.WanConfig{Dim: 12, Latent: 4, Outputs: 12, DType: safetensors.F32})
		}, upscaleGoldens},
		{"qwen-rgba/small", layeredCheckpoint, layeredGoldens},
		{"qwen2.1/small", func(t testing.TB) string {
			return wan(t, "qwen21_small", synthetic.WanConfig{Still: true, Dim: 8, Decoder: 12, Latent: 6, DType: safetensors.F32})
		}, func(t testing.TB) []golden {
			return qwen21Goldens(t, "qwen21_small", 6, [][2]int{{2, 3}, {3, 5}})
		}},
		{"kl/small", klCheckpoint("kl_small", synthetic.KLConfig{Widths: []int{32, 64, 96, 96}, Quant: true, DType: safetensors.F32}), klGoldens("kl_small", 4, [][2]int{{3, 4}, {5, 7}, {1, 1}}, [][2]int{{24, 32}, {40, 56}})},
		{"kl16/small", klCheckpoint("kl16_small", synthetic.KLConfig{Widths: []int{32, 64, 96, 96}, Latent: 16, DType: safetensors.F32}), klGoldens("kl16_small", 16, [][2]int{{3, 4}, {2, 5}}, [][2]int{{24, 32}, {16, 40}})},
		{"klx4/small", klCheckpoint("klx4_small", synthetic.KLConfig{Widths: []int{32, 64, 96}, Quant: true, DType: safetensors.F32}), klGoldens("klx4_small", 4, [][2]int{{6, 8}, {5, 7}}, [][2]int{{24, 32}})},
		{"flux2/small", klCheckpoint("flux2_small", synthetic.KLConfig{Widths: []int{32, 64, 96, 96}, Latent: 5, Flux2: true, DType: safetensors.F32}), flux2Goldens("flux2_small", "decode_5x1x4x6", "decode_5x1x3x5", "encode_3x1x32x48", "pipeline_decode_20x1x2x3", "pipeline_encode_3x1x32x48")},
		{"flux2dec/small", klCheckpoint("flux2dec_small", synthetic.KLConfig{Widths: []int{64, 128, 192, 192}, Narrow: []int{32, 64, 96, 96}, Latent: 5, Flux2: true, DType: safetensors.F32}), flux2Goldens("flux2dec_small", "decode_5x1x4x6", "encode_3x1x32x48", "pipeline_decode_20x1x2x3")},
		{"taesd/small", tinyCheckpoint("taesd_small", small12), tinyGoldens("taesd_small", 4, [][2]int{{3, 4}, {5, 7}}, [][3]int{{3, 24, 32}, {3, 29, 37}})},
		{"taef2/small", tinyCheckpoint("taef2_small", smallTAEF2), tinyGoldens("taef2_small", 6, [][2]int{{3, 4}, {5, 7}}, [][3]int{{3, 24, 32}, {3, 29, 37}})},
		{"taesana/small", tinyCheckpoint("taesana_small", smallTAESana), tinyGoldens("taesana_small", 6, [][2]int{{2, 3}}, [][3]int{{3, 64, 96}, {3, 37, 70}})},
		{"taeqi2.1/small", tinyCheckpoint("taeqi21_small", smallTAEQI), tinyGoldens("taeqi21_small", 6, [][2]int{{2, 3}, {3, 5}}, [][3]int{{4, 32, 48}, {4, 38, 54}})},
		{"taesd/full", tinyCheckpoint("taesd_full", synthetic.TAESDConfig{}), tinyGoldens("taesd_full", 4, [][2]int{{3, 4}}, [][3]int{{3, 24, 32}})},
		{"taef2/full", tinyCheckpoint("taef2_full", synthetic.TAESDConfig{Latent: 32, Pools: true}), tinyGoldens("taef2_full", 32, [][2]int{{3, 4}}, [][3]int{{3, 24, 32}})},
		{"kl/full", klCheckpoint("kl_full", synthetic.KLConfig{Quant: true}), klGoldens("kl_full", 4, [][2]int{{3, 4}}, [][2]int{{24, 32}})},
		{"kl16/full", klCheckpoint("kl16_full", synthetic.KLConfig{Latent: 16}), klGoldens("kl16_full", 16, [][2]int{{3, 4}}, [][2]int{{24, 32}})},
		{"hunyuanvideo/small", hunyuanCheckpoint, hunyuanGoldens},
		{"hunyuanvideo1.5/small", hunyuan15Checkpoint, hunyuan15Goldens},
		{"hunyuanimage2.1/small", func(t testing.TB) string {
			return hunyuanImageFile(t, synthetic.HunyuanImageConfig{Widths: []int{32, 32, 64, 64, 128, 128}, Latent: 8})
		}, hunyuanImageGoldens},
		{"cogvideox/small", cogVideoXCheckpoint, cogVideoXGoldens},
		{"ltx2/small", ltxCheckpoint("ltx20_small", ltx20Small), ltxGoldens("ltx20_small", [3]int{2, 2, 2})},
		{"ltx2.3/small", ltxCheckpoint("ltx23_small", ltx23Small), ltxGoldens("ltx23_small", [3]int{3, 1, 2})},
		{"mochi1/small", mochiCheckpoint, mochiGoldens},
		{"cosmos1/small", cosmosCheckpoint, cosmosGoldens},
		{"seedvr2/full", fullCheckpoint, fullGoldens},
		{"wan2.1/full", full("wan21", synthetic.WanConfig{}), func(t testing.TB) []golden { return fullWan(t, "wan21_full", 16, 8, 4, 6) }},
		{"lightvae/full", full("lightvae", synthetic.WanConfig{Dim: 24}), lightGoldens},
		{"qwen2.1/full", full("qwen21", synthetic.WanConfig{Still: true}), func(t testing.TB) []golden {
			return qwen21Goldens(t, "qwen21_full", 64, [][2]int{{2, 3}})
		}},
		{"wan2.2/full", full("wan22", synthetic.WanConfig{Nested: true}), func(t testing.TB) []golden { return fullWan(t, "wan22_full", 48, 4, 2, 3) }},
	}, taehvSuites()...)
}

// fromJSON reads a file of cases by name.
func fromJSON(t testing.TB, file, prefix string, cases []golden) []golden {
	var all map[string]struct{ Data []float64 }
	data, err := os.ReadFile(goldens + file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &all), "%s", file)
	for i := range cases {
		cases[i].want = all[prefix+cases[i].name].Data
	}
	return cases
}

// fromTensors reads a file of outputs named after cases.
func fromTensors(t testing.TB, file string, cases []golden) []golden {
	f, err := safetensors.Open(goldens + file)
	require.NoError(t, err)
	defer f.Close()
	for i, c := range cases {
		x, ok := f.Tensor(c.name + ".out")
		require.True(t, ok, "%s has no %s.out", file, c.name)
		v := make([]float32, x.Elements())
		require.NoError(t, x.ReadF32(v, 0), "%s", c.name)
		for _, v := range v {
			cases[i].want = append(cases[i].want, float64(v))
		}
		cases[i].traces = strings.TrimSuffix(file, ".safetensors") + ".trace.json"
	}
	return cases
}

// smallGoldens returns SeedVR2's cases with widths 32, 64, 96, 96 and 4 latent channels.
func smallGoldens(t testing.TB) []golden {
	return fromJSON(t, "seedvr2_small.json", "seedvr2/", []golden{
		{name: "encode_T9_moments", key: "input", shape: []int{3, 9, 16, 24}, moments: true},
		{name: "encode_T1_moments", key: "input", shape: []int{3, 1, 16, 24}, frames: 9, moments: true},
		{name: "decode_L3", key: "latent", shape: []int{4, 3, 2, 3}},
		{name: "decode_L1", key: "latent", shape: []int{4, 1, 2, 3}, frames: 3},
		{name: "tiled_decode_L2_tile24_ov8", key: "latent_tile", shape: []int{4, 2, 5, 6},
			tile: tiling.Options{Tile: tiling.Square(24), Overlap: tiling.Square(8)}},
		{name: "tiled_encode_T5_tile24x32_ov8x16_moments", key: "input_tile", shape: []int{3, 5, 40, 56}, moments: true,
			tile: tiling.Options{Tile: tiling.Size{H: 24, W: 32}, Overlap: tiling.Size{H: 8, W: 16}}},
	})
}

// smallWan returns Wan's small cases, with frames of h x w pixels.
func smallWan(t testing.TB, prefix string, h, w int) []golden {
	return fromJSON(t, "wan_small.json", prefix, []golden{
		{name: "encode_T9_mu", key: "input", shape: []int{3, 9, h, w}},
		{name: "encode_T1_mu", key: "input", shape: []int{3, 1, h, w}, frames: 9},
		{name: "decode_L3", key: "latent", shape: []int{4, 3, 2, 3}},
		{name: "decode_L1", key: "latent", shape: []int{4, 1, 2, 3}, frames: 3},
	})
}

// layeredGoldens returns the cases of Qwen-Image's class with four channels.
func layeredGoldens(t testing.TB) []golden {
	return fromTensors(t, "qwen_rgba_small.safetensors", []golden{
		{name: "decode_4x3x4x5", key: "latent", shape: []int{4, 3, 4, 5}},
		{name: "independent_decode_4x3x4x5", key: "latent", shape: []int{4, 3, 4, 5}, independent: true},
		{name: "encode_4x1x24x32", key: "input", shape: []int{4, 1, 24, 32}, independent: true},
	})
}

// upscaleGoldens returns the cases of Wan 2.1 with a decoder that makes 2x2 pixels of
// one.
func upscaleGoldens(t testing.TB) []golden {
	return fromTensors(t, "wan21_up2x_small.safetensors", []golden{
		{name: "decode_4x1x3x4", key: "latent", shape: []int{4, 1, 3, 4}},
		{name: "decode_4x3x2x3", key: "latent", shape: []int{4, 3, 2, 3}},
		{name: "encode_3x9x16x24", key: "input", shape: []int{3, 9, 16, 24}},
	})
}

// lightGoldens returns the cases of LightVAE's published size.
func lightGoldens(t testing.TB) []golden {
	return fromTensors(t, "lightvae21_full.safetensors", []golden{
		{name: "decode_16x1x4x6", key: "latent", shape: []int{16, 1, 4, 6}},
		{name: "decode_16x3x2x3", key: "latent", shape: []int{16, 3, 2, 3}},
		{name: "encode_3x9x16x24", key: "input", shape: []int{3, 9, 16, 24}},
	})
}

// qwen21Goldens returns the cases of Qwen-Image-2.1 with c latent channels, for pictures
// of these sizes in cells.
func qwen21Goldens(t testing.TB, file string, c int, sizes [][2]int) (all []golden) {
	for _, s := range sizes {
		h, w := s[0], s[1]
		all = append(all,
			golden{name: fmt.Sprintf("decode_%dx1x%dx%d", c, h, w), key: "latent", shape: []int{c, 1, h, w}, independent: true},
			golden{name: fmt.Sprintf("encode_4x1x%dx%d", 16*h, 16*w), key: "input", shape: []int{4, 1, 16 * h, 16 * w}, independent: true})
	}
	return fromTensors(t, file+".safetensors", all)
}

// klGoldens returns AutoencoderKL's cases, with latents of c channels and pictures of
// these sizes.
func klGoldens(file string, c int, latents, pictures [][2]int) func(t testing.TB) []golden {
	return func(t testing.TB) []golden {
		var all []golden
		for _, z := range latents {
			all = append(all, golden{name: fmt.Sprintf("decode_%dx1x%dx%d", c, z[0], z[1]), key: "latent", shape: []int{c, 1, z[0], z[1]}, independent: true})
		}
		for _, p := range pictures {
			all = append(all, golden{name: fmt.Sprintf("encode_3x1x%dx%d", p[0], p[1]), key: "input", shape: []int{3, 1, p[0], p[1]}, independent: true})
		}
		if file == "kl_small" || file == "kl16_small" { // with the statistics of Stable Diffusion's and FLUX.1's pipelines
			all = append(all,
				golden{name: fmt.Sprintf("pipeline_decode_%dx1x3x4", c), key: "latent", shape: []int{c, 1, 3, 4}, independent: true},
				golden{name: "pipeline_encode_3x1x24x32", key: "input", shape: []int{3, 1, 24, 32}, independent: true})
		}
		if file == "kl_small" {
			tile := tiling.Options{Tile: tiling.Square(64), Overlap: tiling.Square(16)}
			all = append(all,
				golden{name: "tiled_decode_4x1x13x17_tile64x64_ov16x16", key: "latent_tile", shape: []int{4, 1, 13, 17}, independent: true, tile: tile, tiling: Diffusers},
				golden{name: "tiled_encode_3x1x104x136_tile64x64_ov16x16", key: "input_tile", shape: []int{3, 1, 104, 136}, independent: true, tile: tile, tiling: Diffusers})
		}
		return clampedPipelines(fromTensors(t, file+".safetensors", all))
	}
}

// clampedPipelines clamps the decodes of pipelines' latents, as Tessera does.
func clampedPipelines(all []golden) []golden {
	for _, g := range all {
		if g.pipeline() && g.half() == "decoder" {
			for i, v := range g.want {
				g.want[i] = min(max(v, -1), 1)
			}
		}
	}
	return all
}

// flux2Goldens returns FLUX.2's cases by name. Those of its pipelines are packed.
func flux2Goldens(file string, names ...string) func(t testing.TB) []golden {
	return func(t testing.TB) []golden {
		var all []golden
		for _, name := range names {
			g := golden{name: name, key: "latent", shape: make([]int, 4), independent: true}
			if g.half() == "encoder" {
				g.key = "input"
			}
			_, err := fmt.Sscanf(name[strings.LastIndexByte(name, '_')+1:], "%dx%dx%dx%d", &g.shape[0], &g.shape[1], &g.shape[2], &g.shape[3])
			require.NoError(t, err, name)
			all = append(all, g)
		}
		return clampedPipelines(fromTensors(t, file+".safetensors", all))
	}
}

// hunyuanGoldens returns HunyuanVideo's cases with widths 32, 64, 96, 96 and 4 latent
// channels, in temporal tiles where the reference has them.
func hunyuanGoldens(t testing.TB) []golden {
	return fromTensors(t, "hunyuan_small.safetensors", []golden{
		{name: "decode_4x1x3x4", key: "latent", shape: []int{4, 1, 3, 4}},
		{name: "decode_4x3x2x3", key: "latent", shape: []int{4, 3, 2, 3}},
		{name: "framewise_decode_4x6x2x2", key: "latent", shape: []int{4, 6, 2, 2}},
		{name: "encode_3x1x16x24", key: "input", shape: []int{3, 1, 16, 24}},
		{name: "encode_3x9x16x24", key: "input", shape: []int{3, 9, 16, 24}},
		{name: "encode_3x5x20x27", key: "input", shape: []int{3, 5, 20, 27}},
		{name: "framewise_encode_3x21x16x16", key: "input", shape: []int{3, 21, 16, 16}},
	})
}

func hunyuanCheckpoint(t testing.TB) string {
	return made(t, "hunyuan_small.safetensors", func(path string) error {
		return synthetic.CreateHunyuan(path, synthetic.HunyuanConfig{Widths: []int{32, 64, 96, 96}, Latent: 4, DType: safetensors.F32})
	})
}

// hunyuan15Goldens returns HunyuanVideo 1.5's cases with widths 8, 16, 32, 64, 64 and 8
// latent channels.
func hunyuan15Goldens(t testing.TB) []golden {
	return fromTensors(t, "hunyuan15_small.safetensors", []golden{
		{name: "decode_8x1x2x3", key: "latent", shape: []int{8, 1, 2, 3}},
		{name: "decode_8x3x2x3", key: "latent", shape: []int{8, 3, 2, 3}},
		{name: "decode_8x2x3x2", key: "latent", shape: []int{8, 2, 3, 2}},
		{name: "encode_3x1x32x48", key: "input", shape: []int{3, 1, 32, 48}},
		{name: "encode_3x9x32x48", key: "input", shape: []int{3, 9, 32, 48}},
		{name: "tiled_decode_8x2x6x7_tile64x64_ov16x16", key: "latent_tile", shape: []int{8, 2, 6, 7},
			tile: tiling.Options{Tile: tiling.Square(64), Overlap: tiling.Square(16)}, tiling: Diffusers},
	})
}

// hunyuanImageGoldens returns HunyuanImage 2.1's cases with widths 32, 32, 64, 64, 128,
// 128 and 8 latent channels.
func hunyuanImageGoldens(t testing.TB) []golden {
	return fromTensors(t, "hunyuanimage21_small.safetensors", []golden{
		{name: "decode_8x1x2x3", key: "latent", shape: []int{8, 1, 2, 3}, independent: true},
		{name: "encode_3x1x64x96", key: "input", shape: []int{3, 1, 64, 96}, independent: true},
	})
}

func hunyuanImageFile(t testing.TB, c synthetic.HunyuanImageConfig) string {
	c.DType = safetensors.F32
	return made(t, fmt.Sprintf("hunyuanimage_%d.safetensors", c.Latent), func(path string) error { return synthetic.CreateHunyuanImage(path, c) })
}

func hunyuan15Checkpoint(t testing.TB) string {
	return made(t, "hunyuan15_small.safetensors", func(path string) error {
		return synthetic.CreateHunyuan15(path, synthetic.Hunyuan15Config{Widths: []int{8, 16, 32, 64, 64}, Latent: 8, DType: safetensors.F32})
	})
}

// cogVideoXGoldens returns CogVideoX's cases with widths 32, 64, 64, 96 and 4 latent
// channels: clips of one batch and of two, with even and odd numbers of latent frames.
func cogVideoXGoldens(t testing.TB) []golden {
	return fromTensors(t, "cogvideox_small.safetensors", []golden{
		{name: "decode_4x1x3x4", key: "latent", shape: []int{4, 1, 3, 4}},
		{name: "decode_4x3x2x3", key: "latent", shape: []int{4, 3, 2, 3}},
		{name: "decode_4x5x2x3", key: "latent", shape: []int{4, 5, 2, 3}},
		{name: "decode_4x4x2x3", key: "latent", shape: []int{4, 4, 2, 3}},
		{name: "encode_3x1x24x32", key: "input", shape: []int{3, 1, 24, 32}},
		{name: "encode_3x9x16x24", key: "input", shape: []int{3, 9, 16, 24}},
		{name: "encode_3x17x16x24", key: "input", shape: []int{3, 17, 16, 24}},
	})
}

func cogVideoXCheckpoint(t testing.TB) string {
	return made(t, "cogvideox_small.safetensors", func(path string) error {
		return synthetic.CreateCogVideoX(path, synthetic.CogVideoXConfig{Widths: []int{32, 64, 64, 96}, Latent: 4, DType: safetensors.F32})
	})
}

func klCheckpoint(name string, c synthetic.KLConfig) func(t testing.TB) string {
	return func(t testing.TB) string {
		if strings.HasSuffix(name, "_full") {
			testenv.Long(t)
		}
		return made(t, name+".safetensors", func(path string) error { return synthetic.CreateKL(path, c) })
	}
}

// tinyGoldens returns the cases of tiny autoencoders, with latents of c channels and
// pictures of these channels and sizes.
func tinyGoldens(file string, c int, latents [][2]int, pictures [][3]int) func(t testing.TB) []golden {
	return func(t testing.TB) []golden {
		var all []golden
		for _, z := range latents {
			all = append(all, golden{name: fmt.Sprintf("decode_%dx1x%dx%d", c, z[0], z[1]), key: "latent", shape: []int{c, 1, z[0], z[1]}, independent: true, unsigned: true})
		}
		for _, p := range pictures {
			all = append(all, golden{name: fmt.Sprintf("encode_%dx1x%dx%d", p[0], p[1], p[2]), key: "input", shape: []int{p[0], 1, p[1], p[2]}, independent: true, unsigned: true})
		}
		return fromTensors(t, file+".safetensors", all)
	}
}

// The small tiny autoencoders.
var (
	small12      = synthetic.TAESDConfig{Encoder: []int{12, 12, 12, 12}, Decoder: []int{12, 12, 12, 12}, DType: safetensors.F32}
	smallTAEF2   = synthetic.TAESDConfig{Encoder: []int{12, 12, 12, 12}, Decoder: []int{12, 12, 12, 12}, Latent: 6, Pools: true, DType: safetensors.F32}
	smallTAESana = synthetic.TAESDConfig{Encoder: []int{8, 12, 12, 12, 12}, Decoder: []int{20, 16, 12, 12, 12, 12}, Latent: 6, Stem: 2, DType: safetensors.F32}
	smallTAEQI   = synthetic.TAESDConfig{Encoder: []int{12, 12, 16, 20}, Decoder: []int{20, 16, 12, 12}, Latent: 6, Pixel: 16, Stem: 1, DType: safetensors.F32}
)

func tinyCheckpoint(name string, c synthetic.TAESDConfig) func(t testing.TB) string {
	return func(t testing.TB) string {
		return made(t, name+".safetensors", func(path string) error { return synthetic.CreateTAESD(path, c) })
	}
}

// LTX-2 and LTX-2.3 with few channels.
var (
	ltx20Small = synthetic.LTXConfig{Encoder: []int{8, 16, 32, 64, 128}, Decoder: []int{64, 32, 16, 8}, Latent: 8, DType: safetensors.F32}
	ltx23Small = synthetic.LTXConfig{New: true, Encoder: []int{8, 16, 32, 64, 64}, Decoder: []int{64, 32, 32, 16, 8}, Latent: 8, DType: safetensors.F32}
)

func ltxCheckpoint(name string, c synthetic.LTXConfig) func(t testing.TB) string {
	return func(t testing.TB) string {
		return made(t, name+".safetensors", func(path string) error { return synthetic.CreateLTX(path, c) })
	}
}

// ltxGoldens returns the cases of a latent picture, a latent clip, a clip and a picture.
func ltxGoldens(file string, clip [3]int) func(t testing.TB) []golden {
	return func(t testing.TB) []golden {
		return fromTensors(t, file+".safetensors", []golden{
			{name: "decode_8x1x2x3", key: "latent", shape: []int{8, 1, 2, 3}},
			{name: fmt.Sprintf("decode_8x%dx%dx%d", clip[0], clip[1], clip[2]), key: "latent", shape: []int{8, clip[0], clip[1], clip[2]}},
			{name: "encode_3x9x32x64", key: "input", shape: []int{3, 9, 32, 64}},
			{name: "encode_3x1x64x32", key: "input", shape: []int{3, 1, 64, 32}},
		})
	}
}

// mochiSmall is Mochi 1 with few channels, in as many groups as the published one.
var mochiSmall = synthetic.MochiConfig{Encoder: []int{32, 32, 64, 64}, Decoder: []int{96, 64, 64, 32}, Latent: 5, DType: safetensors.F32}

func mochiCheckpoint(t testing.TB) string {
	return made(t, "mochi_small.safetensors", func(path string) error { return synthetic.CreateMochi(path, mochiSmall) })
}

func mochiGoldens(t testing.TB) []golden {
	return fromTensors(t, "mochi_small.safetensors", []golden{
		{name: "decode_5x1x3x4", key: "latent", shape: []int{5, 1, 3, 4}},
		{name: "decode_5x3x2x3", key: "latent", shape: []int{5, 3, 2, 3}},
		{name: "encode_3x1x16x24", key: "input", shape: []int{3, 1, 16, 24}},
		{name: "encode_3x7x16x24", key: "input", shape: []int{3, 7, 16, 24}},
		{name: "encode_3x13x16x16", key: "input", shape: []int{3, 13, 16, 16}},
	})
}

// cosmosSmall is Cosmos 1.0's tokenizer with few channels.
var cosmosSmall = synthetic.CosmosConfig{Encoder: []int{16, 24, 32, 40}, Decoder: []int{40, 40, 32, 24}, Latent: 5, DType: safetensors.F32}

func cosmosCheckpoint(t testing.TB) string {
	return made(t, "cosmos_small.safetensors", func(path string) error { return synthetic.CreateCosmos(path, cosmosSmall) })
}

func cosmosGoldens(t testing.TB) []golden {
	return fromTensors(t, "cosmos_small.safetensors", []golden{
		{name: "decode_5x1x3x4", key: "latent", shape: []int{5, 1, 3, 4}},
		{name: "decode_5x3x2x3", key: "latent", shape: []int{5, 3, 2, 3}},
		{name: "encode_3x1x32x48", key: "input", shape: []int{3, 1, 32, 48}},
		{name: "encode_3x9x32x48", key: "input", shape: []int{3, 9, 32, 48}},
		{name: "encode_3x17x32x32", key: "input", shape: []int{3, 17, 32, 32}},
	})
}

// fullGoldens returns SeedVR2's cases of the published size.
func fullGoldens(t testing.TB) []golden {
	return fromTensors(t, "seedvr2_full.safetensors", []golden{
		{name: "decode_16x1x8x8", key: "latent", shape: []int{16, 1, 8, 8}},
		{name: "decode_16x3x4x6", key: "latent", shape: []int{16, 3, 4, 6}},
		{name: "encode_3x1x64x64", key: "input", shape: []int{3, 1, 64, 64}, moments: true},
		{name: "encode_3x9x32x48", key: "input", shape: []int{3, 9, 32, 48}, moments: true},
		{name: "tiled_decode_16x2x6x9_tile32x32_ov16x16", key: "latent_tile", shape: []int{16, 2, 6, 9},
			tile: tiling.Options{Tile: tiling.Square(32), Overlap: tiling.Square(16)}},
	})
}

// fullWan returns Wan's cases of the published sizes: a picture of s x s cells, a clip of
// h x w.
func fullWan(t testing.TB, file string, c, s, h, w int) []golden {
	return fromTensors(t, file+".safetensors", []golden{
		{name: fmt.Sprintf("decode_%dx1x%dx%d", c, s, s), key: "latent", shape: []int{c, 1, s, s}},
		{name: fmt.Sprintf("decode_%dx3x%dx%d", c, h, w), key: "latent", shape: []int{c, 3, h, w}},
		{name: "encode_3x1x64x64", key: "input", shape: []int{3, 1, 64, 64}},
		{name: "encode_3x9x32x48", key: "input", shape: []int{3, 9, 32, 48}},
	})
}

package vae

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/engine/runner"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
	"tessera/wgsl"
)

// goldens are outputs of the reference implementation; see tests/goldens.
const goldens = "../tests/goldens/"

// golden is one case: what goes in by name and shape, and what must come out.
type golden struct {
	name        string
	key         string // of the synthetic input
	shape       []int  // of the input, [C, T, H, W]
	frames      int    // of the tensor that the input is the start of; 0: as many
	latents     int    // that the reference makes of a clip, where Tessera makes another of its last frames; 0: as many
	moments     bool   // an encode gives mean and log-variance, else the mean
	independent bool
	unsigned    bool // pixels are from 0 to 1, and what goes in is taken for such
	tile        tiling.Options
	tiling      Tiling // "" is the model's first
	want        []float64
	traces      string // file
}

func (g golden) half() string {
	if strings.Contains(g.name, "encode") {
		return "encoder"
	}
	return "decoder"
}

// pipeline is whether the latent is a pipeline's.
func (g golden) pipeline() bool { return strings.HasPrefix(g.name, "pipeline_") }

// suite is a model and its cases.
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

// fromJSON is a file of cases by name.
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

// fromTensors is a file of outputs named after cases.
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

// smallGoldens are SeedVR2's of widths 32, 64, 96, 96 with 4 latent channels.
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

// smallWan are Wan's small ones, of frames of h x w pixels.
func smallWan(t testing.TB, prefix string, h, w int) []golden {
	return fromJSON(t, "wan_small.json", prefix, []golden{
		{name: "encode_T9_mu", key: "input", shape: []int{3, 9, h, w}},
		{name: "encode_T1_mu", key: "input", shape: []int{3, 1, h, w}, frames: 9},
		{name: "decode_L3", key: "latent", shape: []int{4, 3, 2, 3}},
		{name: "decode_L1", key: "latent", shape: []int{4, 1, 2, 3}, frames: 3},
	})
}

// layeredGoldens are those of Qwen-Image's class with four channels.
func layeredGoldens(t testing.TB) []golden {
	return fromTensors(t, "qwen_rgba_small.safetensors", []golden{
		{name: "decode_4x3x4x5", key: "latent", shape: []int{4, 3, 4, 5}},
		{name: "independent_decode_4x3x4x5", key: "latent", shape: []int{4, 3, 4, 5}, independent: true},
		{name: "encode_4x1x24x32", key: "input", shape: []int{4, 1, 24, 32}, independent: true},
	})
}

// upscaleGoldens are those of Wan 2.1 with a decoder that makes 2x2 pixels of one.
func upscaleGoldens(t testing.TB) []golden {
	return fromTensors(t, "wan21_up2x_small.safetensors", []golden{
		{name: "decode_4x1x3x4", key: "latent", shape: []int{4, 1, 3, 4}},
		{name: "decode_4x3x2x3", key: "latent", shape: []int{4, 3, 2, 3}},
		{name: "encode_3x9x16x24", key: "input", shape: []int{3, 9, 16, 24}},
	})
}

// lightGoldens are those of LightVAE's published size.
func lightGoldens(t testing.TB) []golden {
	return fromTensors(t, "lightvae21_full.safetensors", []golden{
		{name: "decode_16x1x4x6", key: "latent", shape: []int{16, 1, 4, 6}},
		{name: "decode_16x3x2x3", key: "latent", shape: []int{16, 3, 2, 3}},
		{name: "encode_3x9x16x24", key: "input", shape: []int{3, 9, 16, 24}},
	})
}

// qwen21Goldens are those of Qwen-Image-2.1, of so many latent channels, for pictures of
// these sizes in cells.
func qwen21Goldens(t testing.TB, file string, c int, sizes [][2]int) (all []golden) {
	for _, s := range sizes {
		h, w := s[0], s[1]
		all = append(all,
			golden{name: fmt.Sprintf("decode_%dx1x%dx%d", c, h, w), key: "latent", shape: []int{c, 1, h, w}, independent: true},
			golden{name: fmt.Sprintf("encode_4x1x%dx%d", 16*h, 16*w), key: "input", shape: []int{4, 1, 16 * h, 16 * w}, independent: true})
	}
	return fromTensors(t, file+".safetensors", all)
}

// klGoldens are AutoencoderKL's, of latents of c channels and pictures of these sizes.
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

// clampedPipelines clamps what is decoded of pipelines' latents, as Tessera does.
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

// flux2Goldens are FLUX.2's by name. Those of its pipelines are packed.
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

// hunyuanGoldens are HunyuanVideo's of widths 32, 64, 96, 96 with 4 latent channels, in
// temporal tiles where the reference has them.
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

// hunyuan15Goldens are HunyuanVideo 1.5's of widths 8, 16, 32, 64, 64 with 8 latent channels.
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

// hunyuanImageGoldens are HunyuanImage 2.1's of widths 32, 32, 64, 64, 128, 128 with 8 latent
// channels.
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

// cogVideoXGoldens are CogVideoX's of widths 32, 64, 64, 96 with 4 latent channels: clips of
// one batch and of two, of even and odd numbers of latent frames.
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

// tinyGoldens are those of tiny autoencoders, of latents of c channels and pictures of
// these channels and sizes.
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

// ltxGoldens are those of a latent picture, a latent clip, a clip and a picture.
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

// mochiSmall is Mochi 1 with few channels, which are in the groups of the published one.
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

// fullGoldens are SeedVR2's of the published size.
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

// fullWan are Wan's of the published sizes: a picture of s x s cells, a clip of
// h x w.
func fullWan(t testing.TB, file string, c, s, h, w int) []golden {
	return fromTensors(t, file+".safetensors", []golden{
		{name: fmt.Sprintf("decode_%dx1x%dx%d", c, s, s), key: "latent", shape: []int{c, 1, s, s}},
		{name: fmt.Sprintf("decode_%dx3x%dx%d", c, h, w), key: "latent", shape: []int{c, 3, h, w}},
		{name: "encode_3x1x64x64", key: "input", shape: []int{3, 1, 64, 64}},
		{name: "encode_3x9x32x48", key: "input", shape: []int{3, 9, 32, 48}},
	})
}

// checkpoints are made once for all tests of the package.
var checkpoints struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tessera-test-*")
	if err != nil {
		panic(err)
	}
	checkpoints.dir, checkpoints.paths = dir, map[string]string{}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// made is the path of a file that make writes the first time.
func made(t testing.TB, name string, make func(path string) error) string {
	checkpoints.Lock()
	defer checkpoints.Unlock()
	if p := checkpoints.paths[name]; p != "" {
		return p
	}
	p := filepath.Join(checkpoints.dir, name)
	require.NoError(t, make(p), "making %s", name)
	checkpoints.paths[name] = p
	return p
}

func smallCheckpoint(t testing.TB) string {
	return made(t, "small.safetensors", func(path string) error {
		return synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{Widths: []int{32, 64, 96, 96}, Latent: 4, DType: safetensors.F32})
	})
}

func wan(t testing.TB, name string, c synthetic.WanConfig) string {
	return made(t, name+".safetensors", func(path string) error { return synthetic.CreateWan(path, c) })
}

func wan21Checkpoint(t testing.TB) string {
	return wan(t, "wan21_small", synthetic.WanConfig{Dim: 16, Latent: 4, DType: safetensors.F32})
}

func wan22Checkpoint(t testing.TB) string {
	return wan(t, "wan22_small", synthetic.WanConfig{Nested: true, Dim: 20, Decoder: 32, Latent: 4, DType: safetensors.F32})
}

func layeredCheckpoint(t testing.TB) string {
	return wan(t, "layered_small", synthetic.WanConfig{Dim: 12, Latent: 4, Channels: 4, DType: safetensors.F32})
}

func fullCheckpoint(t testing.TB) string {
	testenv.Long(t)
	return made(t, "full.safetensors", func(path string) error {
		return synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{})
	})
}

func full(name string, c synthetic.WanConfig) func(t testing.TB) string {
	return func(t testing.TB) string {
		testenv.Long(t)
		return wan(t, name, c)
	}
}

// floats is a clip in memory, [C, T, H, W].
type floats struct {
	t, h, w int
	v       []float32
}

func (c floats) Channels() int { return len(c.v) / (c.t * c.h * c.w) }

func (c floats) Frames() int      { return c.t }
func (c floats) Size() (int, int) { return c.h, c.w }
func (c floats) ReadFrame(t int, dst []float32) error {
	for i := range dst {
		n := c.Channels()
		dst[i] = c.v[(i%n*c.t+t)*c.h*c.w+i/n]
	}
	return nil
}

// input is the case's own, in float32.
func (g golden) input() []float32 {
	n := g.shape[0] * g.shape[1] * g.shape[2] * g.shape[3]
	wide := make([]float64, n)
	// A shorter clip takes the first frames of the longer tensor, whose shape
	// only matters there.
	long := cmp.Or(g.frames, g.shape[1])
	if long == g.shape[1] {
		synthetic.Fill(g.key, wide)
	} else {
		all := make([]float64, n/g.shape[1]*long)
		synthetic.Fill(g.key, all)
		frame := g.shape[2] * g.shape[3]
		for c := range g.shape[0] {
			copy(wide[c*g.shape[1]*frame:][:g.shape[1]*frame], all[c*long*frame:])
		}
	}
	v := make([]float32, n)
	for i, x := range wide {
		v[i] = float32(x)
		if g.unsigned && g.half() == "encoder" {
			v[i] = float32(2*x - 1)
		}
	}
	return v
}

// output runs a case and lays the result out as the golden is, [C, T, H, W].
func (g golden) output(t *testing.T, m *Model, o Options) []float32 {
	t.Helper()
	o.Unscaled, o.Independent = !g.pipeline(), g.independent
	withoutStatistics(m)
	if g.tile != (tiling.Options{}) {
		o.Tile.Tile, o.Overlap, o.Tiling = g.tile.Tile, g.tile.Overlap, g.tiling
	}
	x := g.input()
	if g.half() == "encoder" {
		z, err := m.Encode(context.Background(), floats{g.shape[1], g.shape[2], g.shape[3], x}, EncodeOptions{Options: o, Moments: g.moments})
		require.NoError(t, err)
		if g.pipeline() && m.Config.Packed {
			z = z.Pack()
		}
		if n := g.latents; n > 0 {
			require.Equal(t, n+1, z.Frames)
			return firstFrames(z, n)
		}
		return z.Data
	}
	z := Latent{Channels: g.shape[0], Frames: g.shape[1], Height: g.shape[2], Width: g.shape[3], Data: x}
	if g.pipeline() && m.Config.Packed {
		z = z.Unpack()
	}
	y := decodeAll(t, m, z, DecodeOptions{Options: o})
	for i, v := range y {
		if g.unsigned {
			y[i] = (v + 1) / 2
		}
	}
	return y
}

// withoutStatistics has a tiny autoencoder take latents as they are: statistics are of the
// VAE that it stands for.
func withoutStatistics(m *Model) {
	if m.Config.pipeline {
		m.Config.Mean, m.Config.Scale = nil, nil
	}
}

// firstFrames are the numbers of a latent's first n frames.
func firstFrames(z Latent, n int) (v []float32) {
	frame := z.Height * z.Width
	for c := range z.Channels {
		v = append(v, z.Data[c*z.Frames*frame:][:n*frame]...)
	}
	return v
}

// decodeAll gathers frames into [C, T, H, W].
func decodeAll(t *testing.T, m *Model, z Latent, o DecodeOptions) []float32 {
	t.Helper()
	return decodeWatched(t, m, z, o, Watch{})
}

// decodeWatched is decodeAll with someone who is told.
func decodeWatched(t *testing.T, m *Model, z Latent, o DecodeOptions, w Watch) []float32 {
	t.Helper()
	p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, o)
	require.NoError(t, err)
	var frames [][]float32
	for f, err := range p.Run(context.Background(), z, w) {
		require.NoError(t, err, "frame %d", len(frames))
		frames = append(frames, append([]float32(nil), f.Pixels...))
	}
	c := m.Config.Channels
	n := len(frames[0]) / c
	out := make([]float32, c*n*len(frames))
	for f, v := range frames {
		for i := range v {
			out[(i%c*len(frames)+f)*n+i/c] = v[i]
		}
	}
	return out
}

// nmse is the sum of squared differences over that of want; infinite where
// either has another length or a value that is not finite.
func nmse[A, B float32 | float64](got []A, want []B) float64 {
	if len(got) != len(want) || len(want) == 0 {
		return math.Inf(1)
	}
	var d, s float64
	for i := range got {
		e := float64(got[i]) - float64(want[i])
		d += e * e
		s += float64(want[i]) * float64(want[i])
	}
	if d != d {
		return math.Inf(1)
	}
	return d / s
}

// closeTo tells where the NMSE of got is above bound, or is not a number.
func closeTo[A, B float32 | float64](t testing.TB, got []A, want []B, bound float64, what string) {
	t.Helper()
	if e := nmse(got, want); !(e <= bound) {
		assert.Failf(t, what, "NMSE %.3g, bound %.0e", e, bound)
	}
}

var bounds = map[Precision]float64{F32: 1e-9, F16: 1e-5}

func open(t testing.TB, dev *gpu.Device, path string, p Precision) *Model {
	t.Helper()
	m, err := Open(dev, path, Settings{Precision: p})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

func TestGoldens(t *testing.T) {
	dev := gputest.Open(t)
	for _, p := range []Precision{F32, F16} {
		t.Run(string(p), func(t *testing.T) {
			for _, s := range suites() {
				t.Run(s.name, func(t *testing.T) { testGoldens(t, open(t, dev, s.path(t), p), p, chosen(s, p, s.cases(t))) })
			}
		})
	}
}

// Every family has small goldens in both directions, which run in Chromium, too.
func TestFamiliesHaveSmallGoldens(t *testing.T) {
	has := map[string][]string{}
	for _, s := range suites() {
		if !strings.HasSuffix(s.name, "/small") {
			continue
		}
		m, err := Inspect(s.path(t), gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.NoError(t, err)
		m.Close()
		for _, g := range s.cases(t) {
			has[m.Config.Family] = append(has[m.Config.Family], g.half())
		}
	}
	for _, family := range Families() {
		assert.Contains(t, has[family], "encoder", family)
		assert.Contains(t, has[family], "decoder", family)
	}
}

// chosen leaves out what takes minutes and shows little: of the published sizes in
// f16 the pictures and tiles, but for GOLDENS=all. And one latent cell of AutoencoderKL
// with groups of two or three channels, whose norms magnify the rounding of halves (NMSE
// 3e-5, 1e-3 where sums of residual blocks are as in the original), and HunyuanVideo's
// clips of 2x3 cells, of which the edges make the most (3e-5; TestHunyuanInHalves).
func chosen(s suite, p Precision, cases []golden) []golden {
	if p == F16 && s.name == "kl/small" {
		return slices.DeleteFunc(cases, func(g golden) bool { return g.name == "decode_4x1x1x1" })
	}
	if p == F16 && s.name == "hunyuanvideo/small" {
		return slices.DeleteFunc(cases, func(g golden) bool { return g.half() == "decoder" && g.shape[1] > 1 })
	}
	if p != F16 || !strings.HasSuffix(s.name, "/full") || os.Getenv("GOLDENS") == "all" {
		return cases
	}
	return slices.DeleteFunc(cases, func(g golden) bool { return g.shape[1] == 1 || g.tile != (tiling.Options{}) })
}

func testGoldens(t *testing.T, m *Model, p Precision, cases []golden) {
	for _, g := range cases {
		t.Run(g.name, func(t *testing.T) {
			got := nmse(g.output(t, m, Options{}), g.want)
			t.Logf("NMSE %.2e", got)
			if !(got <= bounds[p]) {
				require.Failf(t, "differs from the golden", "NMSE %.3g, bound %.0e%s", got, bounds[p], firstLayer(t, m, p, g))
			}
		})
	}
}

// traced is a module's output in one slice: samples at flat indices.
type traced struct {
	Shape []int
	Idx   []int
	Val   []float64
}

// firstLayer names the first module whose output leaves tolerance, where there
// is a trace of the case.
func firstLayer(t *testing.T, m *Model, p Precision, g golden) string {
	var cases map[string]map[string][]traced
	data, err := os.ReadFile(goldens + g.traces)
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil {
		return fmt.Sprintf(" (no trace: %v)", err)
	}
	want, ok := cases[g.name]
	if !ok || g.tile != (tiling.Options{}) {
		return " (there is no trace of this case)"
	}
	compared := 0
	for k, err := range g.trace(t, m) {
		require.NoError(t, err)
		w := want[k.Name]
		if k.Slice >= len(w) {
			continue
		}
		at := w[k.Slice]
		frames := 1 // shapes of pictures are [1, C, H, W]
		if len(at.Shape) == 5 {
			frames = at.Shape[2]
		}
		// What the decoder of a TAEHV drops of the first frames, its reference drops at the end.
		dropped := frames - k.T
		if dropped != 0 && !(m.family.groups && dropped > 0) { // one that the reference runs on the whole clip
			continue
		}
		scale := float64(1)
		if r := m.residual(); r != nil && klScaled(k.Name) {
			scale = 1 / float64(r.by)
		}
		var got, val []float64
		frame := k.H * k.W
		for i, flat := range at.Idx {
			pixel := flat%(frames*frame) - dropped*frame
			if pixel < 0 {
				continue
			}
			got = append(got, scale*float64(k.Values[pixel*wgsl.Pad4(k.C)+flat/(frames*frame)]))
			val = append(val, at.Val[i])
		}
		compared++
		if e := nmse(got, val); !(e <= bounds[p]) {
			return fmt.Sprintf("; first layer outside: %s in slice %d, NMSE %.3g", k.Name, k.Slice, e)
		}
	}
	return fmt.Sprintf("; all %d outputs of layers that there is a trace of are inside", compared)
}

// klScaled tells whether a module of AutoencoderKL makes sums of residual blocks, which are
// smaller in halves.
func klScaled(module string) bool {
	return !strings.Contains(module, "quant_conv") && !strings.HasSuffix(module, ".conv_out")
}

// trace runs an untiled case and yields every named module's output.
func (g golden) trace(t *testing.T, m *Model) iter.Seq2[runner.Traced, error] {
	ctx := context.Background()
	x, o := g.input(), Options{}
	withoutStatistics(m)
	if m.family.groups { // the reference runs the whole clip
		o.Chunk = g.shape[1]
	}
	if g.half() == "encoder" {
		clip := floats{g.shape[1], g.shape[2], g.shape[3], x}
		p, err := m.PlanEncode(t.Context(), clip.t, clip.h, clip.w, EncodeOptions{Options: o, Moments: !m.family.means})
		require.NoError(t, err)
		require.NoError(t, m.load(ctx, p.Plan, nil))
		return runner.Trace(ctx, p.Plan, m.store, newPixels(clip, m))
	}
	p, err := m.PlanDecode(t.Context(), g.shape[1], g.shape[2], g.shape[3], DecodeOptions{Options: o})
	require.NoError(t, err)
	require.NoError(t, m.load(ctx, p.Plan, nil))
	z := Latent{Channels: g.shape[0], Frames: g.shape[1], Height: g.shape[2], Width: g.shape[3], Data: x}
	return runner.Trace(ctx, p.Plan, m.store, &cells{z, &m.Config, true})
}

// A wrong layer is named, in either direction and by every family's traces: the comparison
// with the trace is no decoration.
func TestFirstWrongLayerIsNamed(t *testing.T) {
	dev := gputest.Open(t)
	wrongs := map[string][]struct{ of, tensor, layer string }{ // a case, what becomes zeros, what is named
		"seedvr2/full": {{"decode_16x3x4x6", "decoder.up_blocks.0.resnets.1.conv1.bias", "decoder.up_blocks.0"}, {"encode_3x1x64x64", "encoder.down_blocks.2.resnets.0.conv2.bias", "encoder.down_blocks.2"}},
		"wan2.1/full":  {{"decode_16x1x8x8", "decoder.upsamples.4.residual.6.bias", "decoder.upsamples.4"}, {"encode_3x9x32x48", "encoder.downsamples.6.residual.2.bias", "encoder.downsamples.6"}},
		"wan2.2/full":  {{"decode_48x3x2x3", "decoder.upsamples.1.upsamples.0.residual.2.bias", "decoder.upsamples.1"}, {"encode_3x1x64x64", "encoder.downsamples.2.downsamples.1.residual.6.bias", "encoder.downsamples.2"}},
		"qwen2.1/full": {{"decode_64x1x2x3", "decoder.upsamples.2.upsamples.1.residual.2.bias", "decoder.upsamples.2"}, {"encode_4x1x32x48", "encoder.downsamples.1.downsamples.0.residual.6.bias", "encoder.downsamples.1"}},
		"kl/full":      {{"decode_4x1x3x4", "decoder.up.2.block.1.conv1.bias", "decoder.up.2.block.1"}, {"encode_3x1x24x32", "encoder.mid.attn_1.proj_out.bias", "encoder.mid.attn_1"}},
		"kl16/full":    {{"decode_16x1x3x4", "decoder.up.1.block.2.conv2.bias", "decoder.up.1.block.2"}, {"encode_3x1x24x32", "encoder.down.2.block.0.nin_shortcut.bias", "encoder.down.2.block.0"}},
		"taesd/full":   {{"decode_4x1x3x4", "decoder.8.conv.0.bias", "decoder.8"}, {"encode_3x1x24x32", "encoder.5.conv.2.bias", "encoder.5"}},
		"taef2/full":   {{"decode_32x1x3x4", "decoder.14.conv.4.bias", "decoder.14"}, {"encode_3x1x24x32", "encoder.11.pool.1.bias", "encoder.11"}},
		"taew21/full":  {{"decode_16x3x2x3", "decoder.10.conv.0.bias", "decoder.10"}, {"encode_3x9x32x48", "encoder.6.conv.4.bias", "encoder.6"}},
	}
	traces, err := filepath.Glob(goldens + "*.trace.json")
	require.NoError(t, err)
	require.Len(t, wrongs, len(traces), "models with a trace")
	for _, s := range suites() {
		all, ok := wrongs[s.name]
		if !ok {
			continue
		}
		delete(wrongs, s.name)
		t.Run(s.name, func(t *testing.T) {
			path := s.path(t)
			for _, wrong := range all {
				t.Run(wrong.tensor, func(t *testing.T) {
					m, cases := open(t, dev, path, F32), s.cases(t)
					g := cases[slices.IndexFunc(cases, func(g golden) bool { return g.name == wrong.of })]
					inside := firstLayer(t, m, F32, g)
					t.Log(inside)
					require.Contains(t, inside, " are inside")
					net, zeroed := m.decoder.net, 0
					if g.half() == "encoder" {
						net = m.encoder.net
					}
					for _, b := range net.Weights.Buffers() {
						if b.Label == wrong.tensor {
							require.NoError(t, dev.Write(b.All(), make([]byte, b.Size)))
							zeroed++
						}
					}
					require.Equal(t, 1, zeroed, "buffers of %s", wrong.tensor)
					require.Contains(t, firstLayer(t, m, F32, g), "first layer outside: "+wrong.layer+" in slice 0,", "%s was made wrong", wrong.tensor)
					m.Unload()
				})
			}
		})
	}
	require.Empty(t, wrongs, "no such models")
}

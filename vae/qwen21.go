package vae

import (
	"strings"

	"tessera/format"
)

// qwen21 is the name of Qwen-Image-2.1's VAE.
const qwen21 = "qwen2.1"

// qwen21Family is the VAE of Qwen-Image-2.1, AutoencoderKLQwenImage21 of diffusers: Wan
// 2.2's network for pictures with alpha, in five stages. Its convolutions see one frame.
var qwen21Family = family{
	name: qwen21, encoders: []string{wanEncoderKey, wanDiffusersEncoderKey},
	told:      isQwen21,
	config:    configureWan,
	usable:    checkQuant,
	published: &publishedQwen21,
	encoder:   newWanEncoder,
	decoder:   newWanDecoder,
	between:   []string{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"},

	tilings:       []Tiling{Exact, Feather, Diffusers}, // norms act per pixel
	first:         func(step int) int { return step },
	beyond:        func(t, _, _ int) int { return t },
	clamps:        true,
	previews:      true,
	comfyUnscaled: true,
	classes:       []string{"AutoencoderKLQwenImage21"},
	ignored:       []string{".time_conv."}, // of Wan 2.2's samplers; the files contain them, but they are never used
}

// publishedQwen21 is the configuration of qwen_image_2.1_vae_bf16.safetensors.
var publishedQwen21 = Config{
	Model: "Qwen-Image 2.1", Layout: "original", Spatial: 16, Temporal: 1, Channels: 4, Patch: 1, Blocks: 2, Latent: 64, Independent: true,
	Widths: []int{96, 192, 384, 768, 768}, Decoder: []int{1152, 1152, 576, 288, 144},
	TimeDown: []bool{false, false, false, false}, TimeUp: []bool{false, false, false, false},
}

// isQwen21 recognises a nested Wan file whose convolutions see one frame.
func isQwen21(f format.File) bool {
	if wan, nested := isWan(f); !wan || !nested {
		return false
	}
	for _, name := range []string{"decoder.head.2.weight", "encoder.head.2.weight", "decoder.conv_out.weight", "encoder.conv_out.weight"} {
		if x, ok := f.Tensor(name); ok {
			return len(x.Shape) == 4 || len(x.Shape) == 5 && x.Shape[2] == 1
		}
	}
	return false
}

// qwen21Thick distinguishes weights [O, I, 1, h, w], which diffusers stores as [O, I, h,
// w], from Wan 2.2's 2D weights.
func qwen21Thick(name string) bool {
	return strings.HasSuffix(name, ".weight") && !strings.Contains(name, ".resample.") && !strings.Contains(name, ".middle.1.")
}

// Statistics of the latents, per channel.
var (
	qwen21Mean = []float64{
		0.5126, 0.7721, -0.0631, 1.3506, -0.7855, -2.1025, -0.3458, 1.3722,
		1.8873, -1.7177, -0.6510, 0.2732, 0.7562, -0.6163, -1.0277, 3.8363,
		2.0210, 0.0472, 0.9320, 2.0087, 2.4954, -0.1391, -1.4249, 1.8464,
		-0.5236, 1.2826, 3.7046, -1.3035, 2.7286, -1.4518, -1.9036, -1.9955,
		-0.0342, -1.0265, -0.7636, 3.0555, 0.0746, -3.0751, -0.1076, 1.7376,
		-1.0914, -1.9435, -0.2784, -1.3680, 0.4809, -0.4433, 0.3764, 0.5729,
		-2.0595, 1.0960, -1.3260, -2.0211, -5.0179, 0.5275, 4.0162, 1.8505,
		0.3026, 1.9373, 1.4937, 0.2632, 0.5547, -1.7121, -0.1562, 0.0304,
	}
	qwen21Std = []float64{
		3.2001, 3.2936, 3.4321, 3.0091, 3.1061, 4.0379, 4.0705, 3.7910,
		3.0785, 3.6500, 3.9308, 3.0904, 2.8778, 3.7675, 3.7320, 5.0756,
		3.2864, 4.0397, 3.1317, 4.0443, 2.9249, 3.9454, 3.0988, 4.2489,
		3.4896, 3.8513, 3.9323, 3.4719, 3.7498, 4.2830, 3.5694, 4.2467,
		3.9037, 3.2947, 5.0770, 3.5075, 3.2700, 3.4767, 2.8063, 5.1125,
		3.5327, 4.7833, 3.1286, 4.1819, 3.8527, 3.8312, 3.5605, 4.3875,
		3.9624, 4.0168, 3.5643, 4.0550, 5.5614, 4.2963, 4.4080, 3.4959,
		3.8747, 3.7608, 3.5735, 3.1490, 3.7662, 3.6746, 3.4563, 3.8161,
	}
)

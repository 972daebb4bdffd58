package vae

import (
	"os"
	"path/filepath"
	"slices"
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

// narrowCogVideoX returns a checkpoint of CogVideoX with one channel per group.
func narrowCogVideoX(t testing.TB) string {
	return made(t, "narrow_cogvideox.safetensors", func(path string) error {
		return synthetic.CreateCogVideoX(path, synthetic.CogVideoXConfig{Widths: []int{32, 32, 32, 32}, Latent: 4, DType: safetensors.F32})
	})
}

// The published size has the published number of tensors and parameters, and equals what
// Published plans for.
func TestPublishedCogVideoX(t *testing.T) {
	testPublished(t, cogVideoX, synthetic.CogVideoX(synthetic.CogVideoXConfig{}), 436, 215_583_907, "")
}

// Clips are padded to whole batches of eight frames, or one more, by mirroring their end.
// Every latent frame stands for four frames, except the first of an odd number.
func TestFramesOfCogVideoX(t *testing.T) {
	c := publishedCogVideoX
	cogVideoXFamily.complete(&c)
	for frames, padded := range map[int]int{1: 1, 2: 8, 8: 8, 9: 9, 10: 16, 16: 16, 17: 17, 49: 49, 81: 81, 85: 88} {
		assert.Equal(t, padded, c.PaddedFrames(frames), "of %d", frames)
		latents := c.Encoding().Frames(padded, false)
		assert.Equal(t, (padded+3)/4, latents, "of %d", padded)
		assert.Equal(t, padded, c.Decoding().Frames(latents, false), "of %d", latents)
	}

	m := open(t, gputest.Open(t), narrowCogVideoX(t), F32)
	clip := noiseClip(5, 16, 8)
	long := floats{8, 16, 8, make([]float32, 3*8*128)}
	for plane := range 3 {
		for f, from := range []int{0, 1, 2, 3, 4, 3, 2, 1} {
			copy(long.v[(plane*8+f)*128:][:128], clip.v[(plane*5+from)*128:][:128])
		}
	}
	z := encodeAll(t, m, clip, EncodeOptions{})
	require.Len(t, z, 4*2*2)
	assert.Equal(t, encodeAll(t, m, long, EncodeOptions{}), z)
}

// The model fixes the batches: no chunk changes them, and norms see one batch, so the
// first frames do not depend on later ones if they are whole batches.
func TestBatchesOfCogVideoX(t *testing.T) {
	testenv.Long(t)
	m := open(t, gputest.Open(t), narrowCogVideoX(t), F32)
	z := noiseLatent(5, 2, 1)
	o := DecodeOptions{Options: Options{Unscaled: true}}
	p, err := m.PlanDecode(t.Context(), 5, 2, 1, o)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 2, 17}, []int{p.Slices, p.Chunk, p.Frames})
	want := decodeAll(t, m, z, o)
	o.Chunk = 5
	assert.Equal(t, want, decodeAll(t, m, z, o))
	short := Latent{Channels: 4, Frames: 3, Height: 2, Width: 1}
	for c := range 4 {
		short.Data = append(short.Data, z.Data[c*10:][:6]...)
	}
	got := decodeAll(t, m, short, o)
	for c := range 3 {
		assert.Equal(t, want[c*17*128:][:9*128], got[c*9*128:][:9*128], "the first frames")
	}
}

// A tile is a separate frame, so the corner that only one tile makes equals that of a
// clip of its pixels. Diffusers' tiles differ in height and width.
func TestCogVideoXInTiles(t *testing.T) {
	testenv.Long(t)
	m := open(t, gputest.Open(t), narrowCogVideoX(t), F32)
	z := noiseLatent(2, 5, 7)
	o := Options{Unscaled: true, Tile: tiling.Choice{Tile: tiling.Size{H: 24, W: 32}}, Overlap: tiling.Size{H: 8, W: 16}}
	corner := Latent{Channels: 4, Frames: 2, Height: 3, Width: 4}
	for row := range 4 * 2 * 5 {
		if row%5 < 3 {
			corner.Data = append(corner.Data, z.Data[row*7:][:4]...)
		}
	}
	want := decodeAll(t, m, corner, DecodeOptions{Options: Options{Unscaled: true}})
	for _, o.Tiling = range []Tiling{Feather, Diffusers} {
		got := decodeAll(t, m, z, DecodeOptions{Options: o})
		require.Len(t, got, 3*8*40*56)
		for row := range 3 * 8 * 16 { // above and left of the blended part
			from, to := want[(row/16*24+row%16)*32:][:16], got[(row/16*40+row%16)*56:][:16]
			require.InDeltaSlice(t, from, to, 1e-6, "%s, row %d", o.Tiling, row)
		}
	}
}

// A file of one network runs its direction, also inside another file.
func TestHalvesOfCogVideoX(t *testing.T) {
	for _, c := range []struct{ lacks, prefix string }{{"", "vae."}, {"encoder", ""}, {"decoder", ""}, {"decoder", "vae."}} {
		path := changed(t, narrowCogVideoX(t), func(x *synthetic.Raw) bool {
			keep := c.lacks == "" || !strings.HasPrefix(x.Name, c.lacks+".")
			x.Name = c.prefix + x.Name
			return keep
		})
		m, err := Inspect(path, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.NoError(t, err)
		assert.Equal(t, []string{cogVideoX, c.lacks}, []string{m.Config.Family, m.Config.Lacks})
		assert.Equal(t, []int{3, 4, 2}, []int{m.Config.Blocks, m.Config.Latent, m.Config.Full})
		m.Close()
	}
}

// The file's name, or Settings.As, decides the model and so its scale; by default it is
// the most common one, with a doubt.
func TestModelsOfCogVideoX(t *testing.T) {
	data, err := os.ReadFile(narrowCogVideoX(t))
	require.NoError(t, err)
	for _, c := range []struct {
		file, as, model string
		scale           float64
		assumed         bool
	}{
		{"cogvideox_2b_vae", "", "CogVideoX-2B", 1.15258426, false},
		{"CogVideoX1.5-5B", "", "CogVideoX", 0.7, false},
		{"vae", "", "CogVideoX", 0.7, true},
		{"vae", "cogvideox-2b", "CogVideoX-2B", 1.15258426, false},
		{"vae", "cogvideox-5b", "CogVideoX", 0.7, false},
	} {
		path := filepath.Join(t.TempDir(), c.file+".safetensors")
		require.NoError(t, os.WriteFile(path, data, 0o666))
		m, err := Inspect(path, gpu.Info{Limits: gpu.DefaultLimits}, Settings{As: c.as})
		require.NoError(t, err)
		assert.Equal(t, c.model, m.Config.Model, "%+v", c)
		assert.Equal(t, slices.Repeat([]float64{c.scale}, 4), m.Config.Scale, "%+v", c)
		assert.Equal(t, make([]float64, 4), m.Config.Mean)
		if doubt := m.Config.Doubt(); c.assumed {
			assert.Contains(t, doubt, "Assuming CogVideoX; CogVideoX-2B has the same tensors")
		} else {
			assert.Empty(t, doubt, "%+v", c)
		}
		m.Close()
	}
}

// Scaled latents are the model's own numbers times its scale, in both directions.
func TestScaleOfCogVideoX(t *testing.T) {
	m := open(t, gputest.Open(t), narrowCogVideoX(t), F32)
	testStatistics(t, m, noiseClip(1, 16, 16), Options{As: "cogvideox-2b"}, func(_, _ int, mu float64) float64 { return 1.15258426 * mu })
}

// Files whose tensors contradict their names are refused with what was found.
func TestUnfitCogVideoX(t *testing.T) {
	testUnfit(t, narrowCogVideoX(t), []unfit{
		{"decoder.conv_in.conv.weight", []int{32, 4, 27}, "has shape [32 4 27]"},
		{"encoder.down_blocks.1.resnets.0.conv1.conv.weight", []int{33, 32, 3, 3, 3}, "33 channels are not a multiple of 32 norm groups"},
		{"decoder.up_blocks.0.upsamplers.0.conv.weight", []int{32, 32, 3, 3, 3}, "of another shape: decoder.up_blocks.0.upsamplers.0.conv.weight is [32 32 3 3 3], expected [32 32 3 3]"},
		{"decoder.norm_out.conv_y.conv.weight", []int{32, 5, 1, 1, 1}, "of another shape: decoder.norm_out.conv_y.conv.weight is [32 5 1 1 1], expected [32 4 1 1 1]"},
		{"post_quant_conv.weight", []int{4, 4, 1, 1, 1}, "1 unknown: post_quant_conv.weight"},
	})
}

// A picture whose activations live on the host equals one tile's, to the bit. A clip
// whose causal memory is there and whose convolutions overwrite their input is as close.
func TestCogVideoXOnTheHost(t *testing.T) {
	m := open(t, gputest.Open(t), cogVideoXCheckpoint(t), F32)
	less := Options{Unscaled: true, Offload: OffloadOn, Internals: Internals{Least: true, Across: 2 << 10}}
	for _, frames := range []int{1, 3} {
		z := noiseLatent(frames, 5, 4) // too large to stay on the device, even before it is enlarged
		want := decodeAll(t, m, z, DecodeOptions{Options: Options{Unscaled: true}})
		p, err := m.PlanDecode(t.Context(), frames, 5, 4, DecodeOptions{Options: less})
		require.NoError(t, err)
		assert.Equal(t, frames == 1, p.Hosted)
		assert.True(t, p.InPlace)
		if got := decodeAll(t, m, z, DecodeOptions{Options: less}); frames == 1 {
			assert.Equal(t, want, got)
		} else {
			closeTo(t, got, want, 1e-11, "clip")
		}
	}
}

// Layers of large frames, and the products of the latent that norms read with them, are
// bound in parts within an adapter's limits.
func TestBindingsOfCogVideoX(t *testing.T) {
	limits := gpu.DefaultLimits
	limits.MaxBuffer = 16 << 30
	norms := 0
	for _, precision := range []Precision{F16, F32} {
		m, err := Published(cogVideoX, gpu.Info{Limits: limits}, Settings{Precision: precision})
		require.NoError(t, err)
		for _, size := range [][3]int{{5, 90, 160}, {4, 67, 113}} {
			p, err := m.PlanDecode(t.Context(), size[0], size[1], size[2], DecodeOptions{Options: Options{Budget: 1 << 40}})
			require.NoError(t, err)
			for _, r := range p.Work.Last().Recorded[0] {
				for _, b := range r.Batches() {
					for _, c := range b.Commands {
						if c.Program != nil && strings.HasPrefix(c.Program.Label, "spatial_norm") {
							norms++
						}
						for _, v := range c.Bindings {
							require.LessOrEqual(t, v.Bytes(), limits.MaxBinding, "%s binds %v", c.Label, v)
						}
					}
				}
			}
		}
	}
	assert.Greater(t, norms, 4*2*31, "some norms are made in parts")
}

package vae

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// smallTAEHV are the goldens' sizes, by their files' names.
var smallTAEHV = map[string]synthetic.TAEHVConfig{
	"taew21":     {},
	"taew22":     {Latent: 48, Patch: 2},
	"taehv15":    {Latent: 32, Patch: 2},
	"taeltx":     {Latent: 128, Patch: 4, Halves: true},
	"taeltxwide": {Latent: 128, Patch: 4, Halves: true, Blocks: "wide", Decoder: []int{128, 128, 64, 20}},
	"taeh3":      {Latent: 24, Patch: 2},
	"taesuper":   {Latent: 48, Patch: 2, Blocks: "super", Decoder: []int{32, 24, 16, 12}},
	"lighttae15": {Latent: 32, Patch: 2},
}

// taehvSuite returns the cases of one of them: latents and clips, with frames, rows and
// columns.
func taehvSuite(file string, latents, clips [][3]int) suite {
	c, unsigned := smallTAEHV[file], file != "lighttae15"
	name := strings.TrimSuffix(file, "_full") + "/full"
	if _, small := smallTAEHV[file]; small {
		c.Encoder, c.DType = 12, safetensors.F32
		if c.Decoder == nil {
			c.Decoder = []int{32, 20, 16, 12}
		}
		name, file = file+"/small", file+"_small"
	}
	return suite{
		name,
		func(t testing.TB) string {
			if strings.HasSuffix(name, "/full") {
				testenv.Long(t)
			}
			return made(t, file+".safetensors", func(path string) error { return synthetic.CreateTAEHV(path, c) })
		},
		func(t testing.TB) []golden {
			var all []golden
			for _, z := range latents {
				all = append(all, golden{name: fmt.Sprintf("decode_%dx%dx%dx%d", max(c.Latent, 16), z[0], z[1], z[2]), key: "latent", shape: []int{max(c.Latent, 16), z[0], z[1], z[2]}, unsigned: unsigned})
			}
			for _, p := range clips {
				g := golden{name: fmt.Sprintf("encode_3x%dx%dx%d", p[0], p[1], p[2]), key: "input", shape: []int{3, p[0], p[1], p[2]}, unsigned: unsigned}
				if p[0] == 6 { // 2 latent frames would decode to 5
					g.latents = 2
				}
				all = append(all, g)
			}
			return fromTensors(t, file+".safetensors", all)
		},
	}
}

// taehvSuites returns all of them.
func taehvSuites() []suite {
	type sizes = [][3]int
	return []suite{
		taehvSuite("taew21", sizes{{1, 3, 4}, {4, 2, 3}}, sizes{{1, 16, 24}, {9, 16, 24}, {6, 21, 30}}),
		taehvSuite("taew21_full", sizes{{1, 4, 6}, {3, 2, 3}}, sizes{{9, 32, 48}}),
		taehvSuite("taew22", sizes{{1, 2, 2}, {3, 2, 3}}, sizes{{1, 32, 48}, {9, 32, 16}, {5, 34, 36}}),
		taehvSuite("taehv15", sizes{{2, 2, 3}}, sizes{{5, 32, 48}}),
		taehvSuite("lighttae15", sizes{{2, 2, 3}}, sizes{{5, 32, 48}}),
		taehvSuite("taeltx", sizes{{1, 1, 2}, {2, 1, 2}}, sizes{{9, 64, 32}, {1, 32, 64}}),
		taehvSuite("taeltxwide", sizes{{1, 1, 2}, {2, 1, 2}}, sizes{{9, 32, 64}}),
		taehvSuite("taeh3", sizes{{2, 2, 3}, {7, 2, 2}}, sizes{{5, 32, 48}, {22, 32, 16}, {1, 32, 32}}),
		taehvSuite("taesuper", sizes{{1, 2, 3}, {3, 2, 2}}, sizes{{5, 32, 48}}),
	}
}

// tinyTAEHV returns a checkpoint of few channels.
func tinyTAEHV(t testing.TB, name string, c synthetic.TAEHVConfig) string {
	t.Helper()
	c.Encoder, c.DType = 4, safetensors.F32
	if c.Decoder == nil {
		c.Decoder = []int{8, 8, 4, 4}
	}
	path := filepath.Join(t.TempDir(), name+".safetensors")
	require.NoError(t, synthetic.CreateTAEHV(path, c))
	return path
}

// However a clip is cut into slices, it decodes and encodes to the same bits: blocks read
// the previous frame, which is kept between slices.
func TestSlicesOfTAEHV(t *testing.T) {
	dev := gputest.Open(t)
	for name, c := range map[string]synthetic.TAEHVConfig{
		"taew2_1": {}, "taeltx2_3": {Latent: 128, Patch: 4, Halves: true},
		"wide":  {Blocks: "wide", Decoder: []int{128, 64, 8, 8}},
		"super": {Blocks: "super"},
		"taeh3": {Latent: 24, Patch: 2},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "taew2_1" {
				testenv.Long(t)
			}
			m := open(t, dev, tinyTAEHV(t, name, c), F32)
			frames := m.Config.Decoding().Frames(6, false)
			z := Latent{Channels: m.Config.Latent, Frames: 6, Height: 2, Width: 3}
			z.Data = noise(z.Channels * z.Frames * z.Height * z.Width)
			h, w := m.Config.Spatial, 2*m.Config.Spatial
			clip := floats{frames, h, w, noise(3 * frames * h * w)}
			var pixels, latent []float32
			for _, chunk := range []int{6, 1, 2, 4} { // the first is the whole clip
				o := Options{Chunk: chunk}
				got := decodeAll(t, m, z, DecodeOptions{Options: o})
				require.Len(t, got, 3*frames*2*h*3*m.Config.Spatial)
				encoded, err := m.Encode(t.Context(), clip, EncodeOptions{Options: o})
				require.NoError(t, err)
				require.Equal(t, m.Config.Encoding().Frames(m.Config.PaddedFrames(frames), false), encoded.Frames)
				if pixels == nil {
					pixels, latent = got, encoded.Data
					continue
				}
				require.True(t, slices.Equal(pixels, got), "decoded in slices of %d: NMSE %g", chunk, nmse(got, pixels))
				require.True(t, slices.Equal(latent, encoded.Data), "encoded in slices of %d: NMSE %g", chunk, nmse(encoded.Data, latent))
			}
		})
	}
}

// In portions, with causal memory on the host, and with convolutions that overwrite their
// input, a clip gives the same result as at once.
func TestTAEHVInLittleMemory(t *testing.T) {
	dev := gputest.Open(t)
	for name, c := range map[string]synthetic.TAEHVConfig{
		"taew2_1": {}, "taeltx2_3": {Latent: 128, Patch: 4, Halves: true}, "super": {Blocks: "super"}, "wide": {Blocks: "wide"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "taew2_1" {
				testenv.Long(t)
			}
			m := open(t, dev, tinyTAEHV(t, name, c), F32)
			n := m.Config.Temporal
			z := Latent{Channels: m.Config.Latent, Frames: 5, Height: 3, Width: 3}
			z.Data = noise(z.Channels * z.Frames * z.Height * z.Width)
			clip := floats{4*n + 1, m.Config.Spatial, 2 * m.Config.Spatial, noise(3 * (4*n + 1) * 2 * m.Config.Spatial * m.Config.Spatial)}
			want := decodeAll(t, m, z, DecodeOptions{Options: Options{Chunk: 2}})
			latent, err := m.Encode(t.Context(), clip, EncodeOptions{Options: Options{Chunk: 2}})
			require.NoError(t, err)
			for _, o := range []Options{{Internals: Internals{Least: true}}, {Internals: Internals{Least: true}, Chunk: 2}, {Internals: Internals{Least: true}, Offload: OffloadOff}, {Internals: Internals{Least: true}, Offload: OffloadOff, Chunk: 2}, {Offload: OffloadOn}} {
				p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
				require.NoError(t, err)
				if o.Internals.Least {
					require.Positive(t, p.Depth)
				}
				got := decodeAll(t, m, z, DecodeOptions{Options: o})
				require.True(t, slices.Equal(want, got), "%+v, depth %d: NMSE %g", o, p.Depth, nmse(got, want))
				encoded, err := m.Encode(t.Context(), clip, EncodeOptions{Options: o})
				require.NoError(t, err)
				require.True(t, slices.Equal(latent.Data, encoded.Data), "%+v: NMSE %g", o, nmse(encoded.Data, latent.Data))
			}
		})
	}
}

// A separate picture equals a clip of one frame.
func TestPicturesOfTAEHV(t *testing.T) {
	m := open(t, gputest.Open(t), tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{}), F32)
	clip := floats{3, 8, 16, noise(3 * 3 * 8 * 16)}
	all, err := m.Encode(t.Context(), clip, EncodeOptions{Options: Options{Independent: true}})
	require.NoError(t, err)
	require.Equal(t, 3, all.Frames)
	back := decodeAll(t, m, all, DecodeOptions{Options: Options{Independent: true}})
	require.Len(t, back, len(clip.v))
	for i := range 3 {
		one := floats{1, 8, 16, make([]float32, 3*8*16)}
		for c := range 3 {
			copy(one.v[c*128:][:128], clip.v[(c*3+i)*128:])
		}
		z, err := m.Encode(t.Context(), one, EncodeOptions{})
		require.NoError(t, err)
		require.Equal(t, 1, z.Frames)
		pixels := decodeAll(t, m, z, DecodeOptions{})
		for c := range z.Channels {
			require.Equal(t, z.Data[2*c:][:2], all.Data[(c*3+i)*2:][:2], "picture %d", i)
		}
		for c := range 3 {
			require.Equal(t, pixels[c*128:][:128], back[(c*3+i)*128:][:128], "picture %d", i)
		}
	}
}

// MiniMax-H3's clips have 17 frames in five latent frames, and five frames in two more.
func TestCyclesOfTAEHV(t *testing.T) {
	m := open(t, gputest.Open(t), tinyTAEHV(t, "taeh3", synthetic.TAEHVConfig{Latent: 24, Patch: 2}), F32)
	c := &m.Config
	require.Equal(t, 5, c.Cycle)
	for n, want := range map[int]int{1: 5, 5: 5, 6: 22, 22: 22, 23: 39} {
		require.Equal(t, want, c.PaddedFrames(n), "%d frames", n)
		require.Equal(t, want, c.Decoding().Frames(c.Encoding().Frames(want, false), false))
	}
	pictures := floats{2, 16, 16, noise(3 * 2 * 256)}
	z, err := m.Encode(t.Context(), pictures, EncodeOptions{Options: Options{Independent: true}})
	require.NoError(t, err)
	require.Equal(t, 2, z.Frames)
	first := floats{1, 16, 16, make([]float32, 3*256)}
	for c := range 3 {
		copy(first.v[c*256:][:256], pictures.v[c*512:])
	}
	clip, err := m.Encode(t.Context(), first, EncodeOptions{})
	require.NoError(t, err)
	require.Equal(t, 2, clip.Frames)
	for c := range z.Channels {
		require.Equal(t, clip.Data[c*2], z.Data[c*2], "the first latent frame of a clip is a picture")
	}
}

// CogVideoX's clips of an even number of latent frames keep four frames of the first,
// too, of which other clips keep one.
func TestFullClipsOfTAEHV(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, tinyTAEHV(t, "taecvx", synthetic.TAEHVConfig{}), F32)
	plain := open(t, dev, tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{}), F32)
	const frame = 8 * 16
	last := func(clip []float32, n int) (all []float32) { // of each channel
		for channel := range slices.Chunk(clip, len(clip)/3) {
			all = append(all, channel[len(channel)-n*frame:]...)
		}
		return all
	}
	for latents, frames := range map[int]int{1: 1, 2: 8, 3: 9, 4: 16} {
		z := madeLatent(16, latents, 1, 2)
		got := decodeAll(t, m, z, DecodeOptions{})
		require.Len(t, got, 3*frames*frame, "%d latent frames", latents)
		others := decodeAll(t, plain, z, DecodeOptions{})
		require.Equal(t, last(others, 4*latents-3), last(got, 4*latents-3), "%d latent frames", latents)
		for _, chunk := range []int{2, 3} {
			require.Equal(t, got, decodeAll(t, m, z, DecodeOptions{Options: Options{Chunk: chunk}}), "%d latent frames, %d at once", latents, chunk)
		}
		require.Equal(t, got, decodeAll(t, plain, z, DecodeOptions{Options: Options{As: "taecvx"}}), "%d latent frames, by another name", latents)
	}
	for n, padded := range map[int]int{1: 1, 2: 8, 8: 8, 9: 9, 10: 16} {
		require.Equal(t, padded, m.Config.PaddedFrames(n), "%d frames", n)
	}
	clip := noiseClip(8, 8, 16)
	z, err := m.Encode(t.Context(), clip, EncodeOptions{})
	require.NoError(t, err)
	require.Equal(t, 2, z.Frames)
	other, err := plain.Encode(t.Context(), clip, EncodeOptions{Options: Options{As: "taecvx"}})
	require.NoError(t, err)
	require.Equal(t, z.Data, other.Data)
}

// The network's numbers are a pipeline's, and LightTAE's the VAE's own.
func TestNumbersOfTAEHV(t *testing.T) {
	dev := gputest.Open(t)
	plain := open(t, dev, tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{}), F32)
	light := open(t, dev, tinyTAEHV(t, "lighttaew2_1", synthetic.TAEHVConfig{}), F32)
	z := Latent{Channels: 16, Frames: 1, Height: 1, Width: 2, Data: noise(32)}
	own := z // the VAE's own numbers
	own.Data = slices.Clone(z.Data)
	for i := range own.Data {
		own.Data[i] = float32(float64(z.Data[i])*wan21Std[i/2] + wan21Mean[i/2])
	}
	want := decodeAll(t, plain, z, DecodeOptions{})
	unscaled := func(m *Model, z Latent) []float32 {
		y := decodeAll(t, m, z, DecodeOptions{Options: Options{Unscaled: true}})
		for i, v := range y {
			y[i] = min(max(v, -1), 1)
		}
		return y
	}
	closeTo(t, unscaled(plain, own), want, 1e-11, "of the VAE's own numbers")
	closeTo(t, unscaled(light, z), want, 1e-11, "LightTAE's network has numbers as they are")
	clip := floats{1, 8, 16, noise(3 * 128)}
	a, err := plain.Encode(t.Context(), clip, EncodeOptions{})
	require.NoError(t, err)
	b, err := light.Encode(t.Context(), clip, EncodeOptions{Options: Options{Unscaled: true}})
	require.NoError(t, err)
	require.Equal(t, a.Data, b.Data)
	b, err = plain.Encode(t.Context(), clip, EncodeOptions{Options: Options{Unscaled: true}})
	require.NoError(t, err)
	for i := range a.Data {
		a.Data[i] = float32(float64(a.Data[i])*wan21Std[i/2] + wan21Mean[i/2])
	}
	closeTo(t, b.Data, a.Data, 1e-11, "encoded to the VAE's own numbers")
	for _, o := range []EncodeOptions{{Moments: true}, {Sample: true}} {
		_, err = plain.Encode(t.Context(), clip, o)
		require.ErrorContains(t, err, "TAEHV for Wan 2.1 produces latents, not distributions")
	}
}

// Which model a file is: the requested one, else by the file's name, else the most
// common.
func TestWhichTAEHV(t *testing.T) {
	for _, c := range []struct {
		file, as string
		config   synthetic.TAEHVConfig
		model    string
		assumed  bool
		scale    float64 // of channel 0
		leaky    bool
		pipeline bool
	}{
		{"taew2_1", "", synthetic.TAEHVConfig{}, "TAEHV for Wan 2.1", false, 1 / 2.8184, false, true},
		{"model", "", synthetic.TAEHVConfig{}, "TAEHV for Wan 2.1", true, 1 / 2.8184, false, true},
		{"lighttaew2_1", "", synthetic.TAEHVConfig{}, "LightTAE for Wan 2.1", false, 1 / 2.8184, false, false},
		{"lighttaew2_1", "taew2_1", synthetic.TAEHVConfig{}, "TAEHV for Wan 2.1", false, 1 / 2.8184, false, true},
		{"taehv", "", synthetic.TAEHVConfig{}, "TAEHV for HunyuanVideo", false, 0.476986, false, true},
		{"taecvx", "", synthetic.TAEHVConfig{}, "TAEHV for CogVideoX", false, 1, false, true},
		{"taeos1_3", "", synthetic.TAEHVConfig{}, "TAEHV for Open-Sora 1.3", false, 1, false, true},
		{"taew2_2", "", synthetic.TAEHVConfig{Latent: 48, Patch: 2}, "TAEHV for Wan 2.2", false, 1 / 0.4765, false, true},
		{"LightTAE_w2_2", "", synthetic.TAEHVConfig{Latent: 48, Patch: 2}, "LightTAE for Wan 2.2", false, 1 / 0.4765, false, false},
		{"taehv1_5", "", synthetic.TAEHVConfig{Latent: 32, Patch: 2}, "TAEHV for HunyuanVideo 1.5", false, 1.03682, false, true},
		{"lighttaehy1_5", "", synthetic.TAEHVConfig{Latent: 32, Patch: 2}, "LightTAE for HunyuanVideo 1.5", false, 1.03682, true, false},
		{"model", "lighttaehy1_5", synthetic.TAEHVConfig{Latent: 32, Patch: 2}, "LightTAE for HunyuanVideo 1.5", false, 1.03682, true, false},
		{"taeltx_2", "", synthetic.TAEHVConfig{Latent: 128, Patch: 4, Halves: true}, "TAEHV for LTX-2", false, 1, false, true},
		{"taeltx2_3", "", synthetic.TAEHVConfig{Latent: 128, Patch: 4, Halves: true}, "TAEHV for LTX-2.3", false, 1, false, true},
		{"taeh3", "", synthetic.TAEHVConfig{Latent: 24, Patch: 2}, "TAEHV for MiniMax-H3", false, 1, false, true},
		{"own", "", synthetic.TAEHVConfig{Latent: 5}, "TAEHV", false, 1, false, false},
	} {
		m, err := Inspect(tinyTAEHV(t, c.file, c.config), gpu.Info{}, Settings{As: c.as})
		require.NoError(t, err, c.file)
		m.Close()
		got := m.Config
		scales, _ := got.scales(0, 0, 0)
		scale := scales[0]
		assert.Equal(t, c.model, got.Model, c.file)
		assert.Equal(t, c.assumed, got.Assumed, c.file)
		assert.InDelta(t, c.scale, scale, 1e-12, c.file)
		assert.Equal(t, [2]bool{c.leaky, c.pipeline}, [2]bool{got.Leaky, got.pipeline}, c.file)
		assert.Equal(t, c.leaky, m.kernels.Activations.Leaky, c.file)
	}
	_, err := Inspect(tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{}), gpu.Info{}, Settings{As: "taew2_2"})
	require.ErrorContains(t, err, `cannot be opened as "taew2_2"`)
}

// The published sizes have the published numbers of tensors and parameters.
func TestPublishedTAEHV(t *testing.T) {
	super := []int{512, 256, 128, 64}
	for _, c := range []struct {
		config              synthetic.TAEHVConfig
		tensors, parameters int
	}{
		{synthetic.TAEHVConfig{}, 128, 11_315_539},
		{synthetic.TAEHVConfig{Latent: 48, Patch: 2}, 128, 11_418_108},
		{synthetic.TAEHVConfig{Latent: 32, Patch: 2}, 128, 11_372_012},
		{synthetic.TAEHVConfig{Latent: 24, Patch: 2}, 128, 11_348_964},
		{synthetic.TAEHVConfig{Latent: 128, Patch: 4, Halves: true}, 128, 11_759_728},
		{synthetic.TAEHVConfig{Latent: 128, Patch: 4, Halves: true, Blocks: "wide", Decoder: []int{1024, 512, 256, 64}}, 146, 30_173_104},
		{synthetic.TAEHVConfig{Latent: 48, Patch: 2, Blocks: "super", Decoder: super}, 112, 20_487_996},
		{synthetic.TAEHVConfig{Latent: 32, Patch: 2, Blocks: "super", Decoder: super}, 112, 20_470_572},
	} {
		all := synthetic.TAEHV(c.config)
		assert.Len(t, all, c.tensors)
		assert.Equal(t, c.parameters, parameters(all))
	}
}

// Half a model runs its direction, and refuses the other.
func TestHalvesOfTAEHV(t *testing.T) {
	dev := gputest.Open(t)
	whole := open(t, dev, tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{}), F32)
	decoder := open(t, dev, tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{Lacks: "encoder"}), F32)
	encoder := open(t, dev, tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{Lacks: "decoder"}), F32)
	z := Latent{Channels: 16, Frames: 1, Height: 1, Width: 2, Data: noise(32)}
	require.Equal(t, decodeAll(t, whole, z, DecodeOptions{}), decodeAll(t, decoder, z, DecodeOptions{}))
	clip := floats{5, 8, 16, noise(3 * 5 * 128)}
	want, err := whole.Encode(t.Context(), clip, EncodeOptions{})
	require.NoError(t, err)
	got, err := encoder.Encode(t.Context(), clip, EncodeOptions{})
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = decoder.Encode(t.Context(), clip, EncodeOptions{})
	require.ErrorIs(t, err, ErrBadModel)
	_, err = encoder.PlanDecode(t.Context(), 1, 1, 2, DecodeOptions{})
	require.ErrorIs(t, err, ErrBadModel)
}

// Files whose shapes cannot be TAEHV's are refused, with tensor, found and expected.
func TestWrongTAEHV(t *testing.T) {
	testUnfit(t, tinyTAEHV(t, "good", synthetic.TAEHVConfig{}), []unfit{
		{"encoder.2.conv.weight", []int{4, 12, 1, 1}, "tensor encoder.2.conv.weight is of 4 and 12 channels, expected as many or twice as many"},
		{"decoder.22.weight", []int{6, 4, 3, 3}, "tensor decoder.22.weight has 6 channels of pixels, expected 3 times a square"},
		{"decoder.22.weight", []int{4, 4, 3, 3}, "tensor decoder.22.weight has 4 channels, expected a multiple of 3"},
		{"encoder.0.weight", []int{4, 3, 3}, "tensor encoder.0.weight has shape [4 3 3], expected 4 dimensions"},
		{"decoder.4.conv.0.weight", []int{8, 8, 3, 3}, "decoder.4.conv.0.weight is [8 8 3 3], expected [8 16 3 3]"},
		{"decoder.13.conv.weight", []int{8, 8, 1, 1}, "found a temporal factor of 2 in the decoder, expected 4"},
	})
}

// A latent of the VAE that a TAEHV approximates decodes like its own, Qwen-Image's too.
func TestWhatTAEHVStandsFor(t *testing.T) {
	for _, c := range []struct {
		model string
		of    latent.Checkpoint
		want  Kin
	}{
		{"TAEHV for Wan 2.1", latent.Checkpoint{Family: "wan2.1", Model: "Wan 2.1"}, StandIn},
		{"TAEHV for Wan 2.1", latent.Checkpoint{Family: "wan2.1", Model: "Qwen-Image"}, StandIn},
		{"TAEHV for Wan 2.1", latent.Checkpoint{Family: "wan2.2", Model: "Wan 2.2"}, OtherFamily},
		{"LightTAE for Wan 2.2", latent.Checkpoint{Family: "wan2.2", Model: "Wan 2.2"}, StandIn},
		{"TAEHV for HunyuanVideo", latent.Checkpoint{Family: "hunyuanvideo", Model: "HunyuanVideo"}, StandIn},
		{"TAEHV for HunyuanVideo 1.5", latent.Checkpoint{Family: "hunyuanvideo1.5", Model: "HunyuanVideo 1.5"}, StandIn},
		{"TAEHV for LTX-2.3", latent.Checkpoint{Family: "ltx2", Model: "LTX-2.3"}, StandIn},
		{"TAEHV for LTX-2.3", latent.Checkpoint{Family: "ltx2", Model: "LTX-2"}, OtherFamily},
		{"TAEHV for CogVideoX", latent.Checkpoint{Family: "wan2.1", Model: "Wan 2.1"}, OtherFamily},
	} {
		got := Config{Family: taehv, Model: c.model, Latent: 16}.kin(c.of)
		assert.Equal(t, c.want, got, "%s of %v", c.model, c.of)
	}
}

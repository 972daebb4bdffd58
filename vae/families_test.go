package vae

import (
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
)

// A build with the usual families reads each checkpoint like the full one, or leaves it
// to that one.
func TestUsualFamilies(t *testing.T) {
	all := families
	t.Cleanup(func() { families, errNoFamily = all, ErrUnknownModel })
	seen := map[string]bool{}
	for _, s := range suites() {
		if !strings.HasSuffix(s.name, "/small") {
			continue
		}
		path := s.path(t)
		families, errNoFamily = all, ErrUnknownModel
		whole, err := Inspect(path, gpu.Info{}, Settings{})
		require.NoError(t, err, s.name)
		families, errNoFamily = usual, ErrLeftOut
		m, err := Inspect(path, gpu.Info{}, Settings{})
		if slices.ContainsFunc(usual, func(f *family) bool { return f.name == whole.Config.Family }) {
			require.NoError(t, err, s.name)
			assert.Equal(t, whole.Config, m.Config, s.name)
			assert.NoError(t, m.Close())
		} else {
			require.ErrorIs(t, err, ErrLeftOut, s.name)
			require.ErrorIs(t, err, ErrUnknownModel, s.name)
			require.ErrorIs(t, err, ErrBadModel, s.name)
		}
		assert.NoError(t, whole.Close())
		seen[whole.Config.Family] = true
	}
	assert.Len(t, seen, len(all), "families that were tried: %v", seen)
	families, errNoFamily = all, ErrUnknownModel
	path := filepath.Join(t.TempDir(), "other.safetensors")
	require.NoError(t, synthetic.Create(path, []synthetic.Raw{{Spec: safetensors.Spec{Name: "a.weight", DType: safetensors.F32, Shape: []int{1}}, Data: make([]byte, 4)}}, nil))
	_, err := Inspect(path, gpu.Info{}, Settings{})
	require.ErrorIs(t, err, ErrUnknownModel)
	require.NotErrorIs(t, err, ErrLeftOut, "the whole build has no other to ask")
}

// layout is a file of a model with other names, or of half of it.
type layout struct{ path, layout, lacks string }

// testNames checks that each file is recognised as the same model, and decodes and
// encodes to the same bits as the first, which is whole. It returns the first file's
// configuration.
func testNames(t *testing.T, z Latent, clip Clip, files []layout) (first Config) {
	t.Helper()
	dev := gputest.Open(t)
	sizes := func(c Config) []int {
		return []int{c.Latent, c.Spatial, c.Temporal, c.Groups, c.Blocks, c.Channels, c.Patch}
	}
	var pixels, latent []float32
	for i, f := range files {
		m := open(t, dev, f.path, F32)
		if i == 0 {
			first = m.Config
		}
		require.Equal(t, []string{first.Family, first.Model, f.layout, f.lacks}, []string{m.Config.Family, m.Config.Model, m.Config.Layout, m.Config.Lacks}, "%d", i)
		require.Equal(t, sizes(first), sizes(m.Config), "%d", i)
		if f.lacks != "decoder" {
			require.Equal(t, first.StageBlocks("decoder"), m.Config.StageBlocks("decoder"), "%d", i)
			got := decodeAll(t, m, z, DecodeOptions{Options: Options{Unscaled: true}})
			if i == 0 {
				pixels = got
			}
			require.Equal(t, pixels, got, "%d", i)
		}
		if f.lacks != "encoder" {
			require.Equal(t, first.StageBlocks("encoder"), m.Config.StageBlocks("encoder"), "%d", i)
			got := encodeAll(t, m, clip, EncodeOptions{})
			if i == 0 {
				latent = got
			}
			require.Equal(t, latent, got, "%d", i)
		}
		require.NoError(t, m.Close())
	}
	return first
}

// testStatistics checks that o scales a latent as want says of a network's mean, and that
// it decodes to the same clamped pixels as the network's own numbers.
func testStatistics(t *testing.T, m *Model, clip Clip, o Options, want func(channel, frame int, mu float64) float64) {
	t.Helper()
	unscaled := o
	unscaled.Unscaled = true
	z, err := m.Encode(t.Context(), clip, EncodeOptions{Options: unscaled})
	require.NoError(t, err)
	scaled := encodeAll(t, m, clip, EncodeOptions{Options: o})
	require.Len(t, scaled, len(z.Data))
	cells := z.Height * z.Width
	for i, mu := range z.Data {
		frame := i / cells
		require.InDelta(t, want(frame/z.Frames, frame%z.Frames, float64(mu)), float64(scaled[i]), 1e-6, "element %d", i)
	}
	pixels := decodeAll(t, m, z, DecodeOptions{Options: unscaled})
	for i, v := range pixels {
		pixels[i] = min(max(v, -1), 1)
	}
	z.Data = scaled
	closeTo(t, decodeAll(t, m, z, DecodeOptions{Options: o}), pixels, 1e-11, "of scaled latents")
}

// Stages whose group norm cannot be computed are refused in every family with such norms.
func TestTooWide(t *testing.T) {
	for path, tensor := range map[string]string{
		smallCheckpoint(t): "encoder.down_blocks.3.resnets.0.conv1.weight",
		smallKL(t, "kl.safetensors", synthetic.KLConfig{Quant: true}):    "decoder.up.3.block.0.conv1.weight",
		smallKL(t, "flux2.safetensors", synthetic.KLConfig{Flux2: true}): "encoder.down.3.block.0.conv1.weight",
		narrowHunyuan(t):      "decoder.up_blocks.0.resnets.0.conv1.conv.weight",
		narrowHunyuanImage(t): "encoder.down.5.block.0.conv1.weight",
		narrowCogVideoX(t):    "encoder.down_blocks.3.resnets.0.conv1.conv.weight",
	} {
		all, meta, err := synthetic.Read(path)
		require.NoError(t, err)
		at := slices.IndexFunc(all, func(x synthetic.Raw) bool { return x.Name == tensor })
		require.GreaterOrEqual(t, at, 0, tensor)
		shape := slices.Clone(all[at].Shape)
		all[at].Data = slices.Repeat(all[at].Data[:len(all[at].Data)/shape[0]], 1056)
		shape[0] = 1056 // 32 groups
		all[at].Shape = shape
		wide := filepath.Join(t.TempDir(), filepath.Base(path))
		require.NoError(t, synthetic.Create(wide, all, meta))
		_, err = Inspect(wide, gpu.Info{}, Settings{})
		require.ErrorIs(t, err, ErrBadModel)
		require.ErrorContains(t, err, "found a stage of 1056 channels, expected at most 1024", tensor)
	}
}

package vae

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
)

// Pictures in one slice equal separate ones: the shortcuts, which in a video change time,
// see one frame.
func TestQwen21InSlices(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, tiny(t, synthetic.WanConfig{Still: true, Dim: 4, Decoder: 8}), F32)
	no := Options{Chunk: 3}
	clip := floats{3, 32, 16, noise(4 * 3 * 512)}
	z := Latent{Channels: 4, Frames: 3, Height: 2, Width: 1, Data: encodeAll(t, m, clip, EncodeOptions{Options: no})}
	p, err := m.PlanDecode(t.Context(), 3, 2, 1, DecodeOptions{Options: no})
	require.NoError(t, err)
	require.Equal(t, 1, p.Slices)
	video := decodeAll(t, m, z, DecodeOptions{Options: no})
	alone := Options{Independent: true}
	closeTo(t, z.Data, encodeAll(t, m, clip, EncodeOptions{Options: alone}), 1e-11, "latents of a slice")
	closeTo(t, video, decodeAll(t, m, z, DecodeOptions{Options: alone}), 1e-11, "pictures of a slice")
}

// Any of its parts distinguishes it from Wan 2.2, whose names it has.
func TestQwen21IsTold(t *testing.T) {
	for family, c := range map[string]synthetic.WanConfig{
		qwen21: {Still: true, Dim: 4, Decoder: 8}, wan22: {Nested: true, Dim: 4, Decoder: 8}, wan21: {Dim: 4},
	} {
		for _, path := range []string{tiny(t, c), half(t, tiny(t, c), "", "encoder."), half(t, tiny(t, c), "vae.", "decoder.")} {
			m, err := Inspect(path, gpu.Info{}, Settings{})
			require.NoError(t, err, family)
			require.Equal(t, family, m.Config.Family)
			require.NoError(t, m.Close())
		}
	}
}

// The temporal convolutions in its files are not needed.
func TestQwen21WithoutTime(t *testing.T) {
	path := tiny(t, synthetic.WanConfig{Still: true, Dim: 4, Decoder: 8})
	gone := 0
	pruned := changed(t, path, func(x *synthetic.Raw) bool {
		if strings.Contains(x.Name, ".time_conv.") {
			gone++
			return false
		}
		return true
	})
	require.Equal(t, 12, gone)
	m, err := Inspect(path, gpu.Info{}, Settings{})
	require.NoError(t, err)
	defer m.Close()
	p, err := Inspect(pruned, gpu.Info{}, Settings{})
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, m.Config, p.Config)
	require.Equal(t, m.specs, p.specs)
}

// Files with another number of stages, or with widths that a shortcut cannot have, are
// refused.
func TestUnfitQwen21(t *testing.T) {
	path := tiny(t, synthetic.WanConfig{Still: true, Dim: 4, Decoder: 8})
	_, err := Inspect(half(t, path, "", "decoder.upsamples.4.", "decoder.upsamples.3.upsamples.3."), gpu.Info{}, Settings{})
	require.ErrorIs(t, err, ErrBadModel)
	require.ErrorContains(t, err, "found 4 decoder stages, expected 5")
	testUnfit(t, path, []unfit{{"encoder.downsamples.1.downsamples.0.residual.2.weight", []int{9, 4, 1, 3, 3}, "encoder stage 1 has 9 channels from 4, expected a divisor of 32"}})
}

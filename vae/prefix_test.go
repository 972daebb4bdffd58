package vae

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/tests/synthetic"
)

// wrapped writes the tensors of a checkpoint behind each prefix, beside a tensor that is
// not the VAE's.
func wrapped(t *testing.T, from string, prefixes ...string) string {
	t.Helper()
	in, err := safetensors.Open(from)
	require.NoError(t, err)
	defer in.Close()
	specs := []safetensors.Spec{{Name: "unet.conv1.weight", DType: safetensors.F32, Shape: []int{2, 3}}}
	for _, prefix := range prefixes {
		for _, name := range in.Names() {
			x, _ := in.Tensor(name)
			specs = append(specs, safetensors.Spec{Name: prefix + name, DType: x.DType, Shape: x.Shape})
		}
	}
	path := filepath.Join(t.TempDir(), "whole.safetensors")
	out, err := os.Create(path)
	require.NoError(t, err)
	defer out.Close()
	w, err := safetensors.NewWriter(out, specs, in.Metadata())
	require.NoError(t, err)
	require.NoError(t, w.Begin("unet.conv1.weight"))
	require.NoError(t, w.WriteF32(make([]float32, 6)))
	for _, prefix := range prefixes {
		for _, name := range in.Names() {
			x, _ := in.Tensor(name)
			raw := make([]byte, x.Bytes())
			require.NoError(t, x.ReadRaw(raw, 0))
			require.NoError(t, w.Begin(prefix+name))
			_, err := w.Write(raw)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return path
}

// A VAE is found behind the prefixes of whole checkpoints and trainers, with the same
// configuration and weights; a file with two is refused.
func TestPrefixes(t *testing.T) {
	for _, from := range []string{filepath.Join("..", "assets", "tiny-seedvr2.safetensors"), tiny(t, synthetic.WanConfig{})} {
		want, err := Inspect(from, gpu.Info{}, Settings{})
		require.NoError(t, err)
		defer want.Close()
		for _, prefix := range []string{"vae.", "first_stage_model.", "module.", "_orig_mod.", "model.", "module._orig_mod.vae."} {
			m, err := Inspect(wrapped(t, from, prefix), gpu.Info{}, Settings{})
			require.NoError(t, err, prefix)
			config := m.Config
			config.File, config.Print = want.Config.File, want.Config.Print
			assert.Equal(t, want.Config, config, prefix)
			assert.Equal(t, want.weights, m.weights, "storage of weights, which the other model's f32 doesn't change")
			require.Equal(t, len(want.specs), len(m.specs))
			for _, s := range want.specs {
				x, _ := want.tensors.find(s.name)
				y, ok := m.tensors.find(s.name)
				require.True(t, ok, s.name)
				a, b := make([]byte, x.Bytes()), make([]byte, y.Bytes())
				require.NoError(t, x.ReadRaw(a, 0))
				require.NoError(t, y.ReadRaw(b, 0))
				require.Equal(t, a, b, s.name)
			}
			require.NoError(t, m.Close())
		}
		_, err = Inspect(wrapped(t, from, "vae.", "ema."), gpu.Info{}, Settings{})
		require.ErrorIs(t, err, ErrUnknownModel)
		require.ErrorContains(t, err, "it has 2 VAEs, with the prefixes vae. and ema., expected one")
	}
}

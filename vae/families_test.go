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
	"tessera/tests/synthetic"
)

// A build with the usual families alone takes each checkpoint as the whole one does, or
// leaves it to that one.
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

// Models that no family has are refused by name.
func TestUnread(t *testing.T) {
	for name, want := range map[string]string{
		"decoder.stages.0.0.main.conv.weight":             "it is a DC-AE (tensor decoder.stages.0.0.main.conv.weight)",
		"decoder.project_in.conv.weight":                  "it is a DC-AE",
		"decoder.transformer_blocks.0.attn.to_q.weight":   "it is the VAE of MiniMax-H3",
		"student.dconv_encoder.blocks.0.conv.weight":      "it is the VAE of Mage",
		"vae.decoder.stages.0.op_list.0.main.conv.weight": "it is a DC-AE",
	} {
		path := filepath.Join(t.TempDir(), "other.safetensors")
		spec := safetensors.Spec{Name: name, DType: safetensors.F32, Shape: []int{1}}
		require.NoError(t, synthetic.Create(path, []synthetic.Raw{{Spec: spec, Data: make([]byte, 4)}}, nil))
		_, err := Inspect(path, gpu.Info{}, Settings{})
		require.ErrorIs(t, err, ErrUnknownModel, name)
		require.ErrorContains(t, err, want)
	}
}

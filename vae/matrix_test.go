//go:build !js

package vae

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/wgsl"
)

// A small model computes what the reference does on matrix units too: SeedVR2's wide
// layers are wide enough for the kernels. The tests' driver has no such units;
// tools/matrix.sh runs this on one that has.
func TestMatrixGoldens(t *testing.T) {
	dev := gputest.Open(t)
	choices := wgsl.Choices{}
	for _, operation := range []string{"attention", "conv3d", "conv3d_strided", "conv_up", "pointwise"} {
		if slices.Contains(wgsl.Kernels(operation, wgsl.F16, dev.Info()), "matrix") {
			choices[operation] = "matrix"
		}
	}
	if len(choices) == 0 {
		t.Skipf("%s has no matrices that a kernel is for", dev.Info().Name)
	}
	m, err := Open(dev, smallCheckpoint(t), Settings{Precision: F16, Kernels: KernelSettings{Choices: choices}})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	decode, err := m.PlanDecode(t.Context(), 3, 2, 3, DecodeOptions{})
	require.NoError(t, err)
	encode, err := m.PlanEncode(t.Context(), 9, 16, 24, EncodeOptions{})
	require.NoError(t, err)
	labels := map[string]bool{}
	for _, p := range []*Plan{decode.Plan, encode.Plan} {
		for program := range p.Programs() {
			labels[program.Label] = true
		}
	}
	for operation := range choices {
		if operation == "attention" {
			operation = "attention_scores"
		}
		require.Contains(t, labels, operation+"_matrix_f16")
	}
	testGoldens(t, m, F16, slices.DeleteFunc(smallGoldens(t), func(g golden) bool {
		return !slices.Contains([]string{"encode_T9_moments", "decode_L3", "decode_L1"}, g.name)
	}))
}

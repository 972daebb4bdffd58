//go:build !js

package wgsl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// Kernels that are likely on an adapter are tried before others.
func TestLikelyKernels(t *testing.T) {
	likely(t, gpu.Info{Vendor: "nvidia", Type: "discrete"}, map[string]string{"conv3d": "tiled plain", "conv3d_winograd": "plain fused passes"})
}

// likely compares the order of an adapter's kernels, by operation.
func likely(t *testing.T, info gpu.Info, want map[string]string) {
	t.Helper()
	s, err := NewSet(F32, info, nil)
	require.NoError(t, err)
	for operation, names := range want {
		assert.Equal(t, names, strings.Join(s.Kernels(operation, Shape{O: 64, I: 64, KT: 3, KS: 3}), " "), "%s on %+v", operation, info)
	}
}

func TestChoicesRefused(t *testing.T) {
	var operations []string
	for _, table := range tables {
		operations = append(operations, table.operation)
	}
	require.Greater(t, len(operations), 10)
	for _, c := range []struct {
		name    string
		choices Choices
		info    gpu.Info
		want    string
	}{
		{"unknown_operation", Choices{"conv": "plain", "zoom": "plain"}, gpu.Info{Name: "llvmpipe"},
			`wgsl: no kernel "plain" of "conv" on adapter "llvmpipe": there are operations ` + strings.Join(operations, " ")},
		{"unknown_kernel", Choices{"conv3d": "fast"}, gpu.Info{Name: "able", Subgroups: true},
			`wgsl: no kernel "fast" of "conv3d" on adapter "able": there are kernels plain (weights in blocks of 4x8) tiled (weights in blocks of 4x8) matrix (weights in blocks of 8x16)`},
		{"kernel_of_another_operation", Choices{"rms_norm": "matrix"}, gpu.Info{Name: "able", Subgroups: true},
			`wgsl: no kernel "matrix" of "rms_norm" on adapter "able": there are kernels plain (weights none)`},
		{"adapter_without", Choices{"conv3d": "matrix"}, gpu.Info{Name: "slow"},
			`wgsl: no kernel "matrix" of "conv3d" on adapter "slow": there are kernels plain (weights in blocks of 4x8) tiled (weights in blocks of 4x8)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newSet(F32, c.info, c.choices, withMatrix())
			require.EqualError(t, err, c.want)
		})
	}
	_, err := NewSet(F32, gpu.Info{}, Choices{"conv3d": "plain", "attention": "plain"})
	require.NoError(t, err)
}

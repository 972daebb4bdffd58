package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChangedKernels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "folder", "kernels")
	texts := map[string]string{"conv3d/plain": "1", "conv3d/tiled": "2", "sample/plain": "3"}
	assert.Equal(t, []string{"conv3d/plain", "conv3d/tiled", "sample/plain"}, changedKernels(file, texts), "nothing passed yet")
	require.NoError(t, rememberKernels(file, texts))
	assert.Empty(t, changedKernels(file, texts))
	texts["conv3d/tiled"], texts["conv_up/plain"] = "4", "5"
	assert.Equal(t, []string{"conv3d/tiled", "conv_up/plain"}, changedKernels(file, texts))
}

func TestNotRun(t *testing.T) {
	log := []byte(`{"Output":"    cases_test.go:115: SwiftShader can't run kernel matrix\n"}`)
	assert.Equal(t, []string{"conv3d/matrix"}, notRun(log, []string{"conv3d/matrix", "conv3d/plain"}))
}

// The log of package wgsl's test has every operation's plain kernel.
func TestKernelTexts(t *testing.T) {
	t.Chdir("../..")
	texts, err := kernelTexts(t.Context())
	require.NoError(t, err)
	for _, name := range []string{"conv3d/plain", "conv3d/tiled", "rms_norm/plain", "to_rgba8/plain"} {
		assert.Contains(t, texts, name)
	}
}

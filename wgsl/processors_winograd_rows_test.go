//go:build !js

package wgsl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// Sums computed for a few rows at a time give equal results.
func TestWinogradRowInputsInRows(t *testing.T) {
	inRows(t, "conv3d_winograd_rows", rowsCases, []int{4}, func(c convVariant, _ int) int64 {
		return rowSums(&Tensor{C: c.C}, c.W, c.kt)
	}, func(s *Set, c convVariant, _ int) gputest.Case { return rowsCase(s, c, F32) })
}

// Mesa's drivers for processors use rows for f32 frames with many pixels and channels;
// Mesa 25 only for pictures, with more pixels.
func TestWinogradRowsChosen(t *testing.T) {
	one, three := Shape{O: 128, I: 128, KT: 1, KS: 3}, Shape{O: 128, I: 128, KT: 3, KS: 3}
	for name, info := range map[string]gpu.Info{"transformed": llvmpipe("Mesa 25.0.7-2 (LLVM 15.0.6) 0.0.1"), "columns": llvmpipe("Mesa 26.2.6 (LLVM 22.1.8) 0.0.1"), "plain": {}} {
		s, err := NewSet(F32, info, nil)
		require.NoError(t, err)
		packing, pixels := s.ConvPacking(one, 1), rowsPixels
		if name == "transformed" {
			pixels = slowRowsPixels
		}
		assert.Equal(t, name, s.winogradRows(one).name)
		for _, shape := range []Shape{one, three} {
			assert.Equal(t, name != "plain", s.UsesWinogradRows(packing, shape, pixels, false))
			assert.Equal(t, name == "columns", s.UsesWinogradRows(packing, shape, pixels, true), "of a clip")
			assert.False(t, s.UsesWinogradRows(packing, shape, pixels-1, false))
		}
		assert.False(t, s.UsesWinogradRows(packing, Shape{O: 128, I: 48, KT: 1, KS: 3}, pixels, false))
		assert.False(t, s.UsesWinogradRows(packing, Shape{O: 48, I: 128, KT: 1, KS: 3}, pixels, false))
		for _, on := range []bool{true, false} {
			s, err = NewSet(F32, info, Choices(nil).Winograd(info, on))
			require.NoError(t, err)
			assert.Equal(t, on && name != "plain", s.UsesWinogradRows(packing, Shape{O: 8, I: 8, KT: 3, KS: 3}, rowsPixels, true), "chosen")
		}
		s, err = NewSet(Packed, info, nil)
		require.NoError(t, err)
		assert.False(t, s.UsesWinogradRows(packing, one, pixels, false), "of halves")
	}
}

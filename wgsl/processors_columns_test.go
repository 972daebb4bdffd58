//go:build !js

package wgsl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// On Mesa 26's driver for processors, convolutions use columns of 16 pixels, or of 8
// with two blocks if fewer rows then lie beyond the frame.
func TestColumns(t *testing.T) {
	for driver, name := range map[string]string{"Mesa 25.0.7-2 (LLVM 15.0.6) 0.0.1": "cooperative", "Mesa 26.2.6 (LLVM 22.1.8) 0.0.1": "columns"} {
		s, err := NewSet(F32, llvmpipe(driver), nil)
		require.NoError(t, err)
		assert.Equal(t, name, s.find("conv3d", nil).name, driver)
		assert.Equal(t, name, s.find("conv3d_strided", nil).name, driver)
	}
	for driver, name := range map[string]string{"Mesa 25.0.7-2 (LLVM 15.0.6) 0.0.1": "columns_cooperative", "Mesa 26.2.6 (LLVM 22.1.8) 0.0.1": "columns"} {
		s, err := NewSet(F32, llvmpipe(driver), nil)
		require.NoError(t, err)
		assert.Equal(t, name, s.find("conv_up", nil).name, driver)
	}
	h, e := row(t, "conv3d_strided", "columns").shaders[0].inColumns(extent{H: 17, W: 9, C4: 128 / 4, N: 2}, 128)
	assert.Equal(t, []int{8, 2}, []int{h.pixels, h.blocks})
	assert.Equal(t, [3]uint32{8, 3 * 2, 2}, h.cover(e))
	assert.False(t, mesaFrom26Of8(gpu.Info{Name: "SwiftShader Device (LLVM 10.0.0)", Type: "cpu"}))
	for _, c := range []struct{ h, w, channels, pixels, blocks, rows, width int }{
		{32, 32, 128, 16, 1, 2, 32},
		{30, 9, 128, 16, 1, 2, 16},
		{24, 8, 128, 8, 2, 3, 8},
		{24, 8, 24, 6, 3, 4, 8},
		{1, 1, 3, 8, 1, 1, 8},
		{72, 1, 128, 16, 1, 5, 8},
	} {
		h, e := row(t, "conv3d", "columns").shaders[0].inColumns(extent{H: c.h, W: c.w, C4: Pad4(c.channels) / 4, N: 2}, c.channels)
		assert.Equal(t, []int{c.pixels, c.blocks}, []int{h.pixels, h.blocks}, "%+v", c)
		assert.Equal(t, c.rows*c.width, h.segments(e), "%+v", c)
		assert.Equal(t, [3]uint32{groups(c.channels, 8*c.blocks), uint32(c.rows * c.width / 8), 2}, h.cover(e), "%+v", c)
	}
}

// Enlarging convolutions use columns of 8 pixels of a parity, with either driver.
func TestEnlargingColumns(t *testing.T) {
	for _, c := range []struct{ kernel, h, w, channels, pixels, blocks, rows, width, all int }{
		{0, 64, 64, 128, 8, 2, 4, 32, 64 * 2},
		{0, 47, 17, 128, 8, 2, 3, 16, 64 * 2},
		{0, 16, 16, 24, 6, 3, 2, 8, 12 * 2},
		{1, 64, 64, 128, 8, 2, 4, 32, 64 * 2},
		{1, 64, 64, 24, 6, 3, 6, 32, 12 * 2},
		{1, 1, 1, 3, 8, 1, 1, 8, 4 * 2},
	} {
		h, e := row(t, "conv_up", []string{"columns", "columns_cooperative"}[c.kernel]).shaders[0].inColumns(extent{H: (c.h + 1) / 2, W: (c.w + 1) / 2, N: 3}, c.channels)
		e.C4 = 2 * h.parities(pad8(c.channels)/h.block)
		assert.Equal(t, []int{c.pixels, c.blocks}, []int{h.pixels, h.blocks}, "%+v", c)
		assert.Equal(t, c.rows*c.width, h.segments(e), "%+v", c)
		assert.Equal(t, [3]uint32{uint32(c.all / c.blocks), uint32(c.rows * c.width / 8), 3}, h.cover(e), "%+v", c)
	}
}

// Drivers for processors compile for seconds, so there one pipeline serves all
// dispatches of a layer: with one or more temporal taps, which add to the output or
// don't.
func TestSharedPipeline(t *testing.T) {
	for name, info := range map[string]gpu.Info{
		"mesa 25":        llvmpipe("Mesa 25.0.7-2 (LLVM 15.0.6) 0.0.1"),
		"mesa 26":        llvmpipe("Mesa 26.2.6 (LLVM 22.1.8) 0.0.1"),
		"subgroups of 4": {Type: "cpu", Subgroups: true, SubgroupMin: 4, SubgroupMax: 4},
	} {
		s, err := NewSet(F32, info, nil)
		require.NoError(t, err)
		for _, outputs := range []int{3, 16, 24} {
			x := Tensor{Buffer: &gpu.Buffer{Label: "x", Size: 1 << 20}, T: 3, H: 4, W: 8, C: 12}
			y := Tensor{Buffer: &gpu.Buffer{Label: "y", Size: 1 << 20}, T: 3, H: 4, W: 8, C: outputs}
			w := Weights{Weight: &gpu.Buffer{Label: "weight", Size: 1 << 20}, Bias: &gpu.Buffer{Label: "bias", Size: 1 << 10}}
			w.Packing = s.ConvPacking(Shape{O: outputs, I: 12, KT: 3, KS: 3}, 1)
			b, taps := &gpu.Batch{}, []Tap{{x, 0}, {x, 1}, {x, 2}}
			for n := 1; n <= 3; n++ {
				for _, add := range []bool{false, true} {
					s.Conv3D(b, "conv3d", Conv3D{Weights: w, KT: 3, Taps: taps[3-n:], Step: 1, Stride: 1, Y: y, N: 1, Add: add})
				}
			}
			programs := map[*gpu.Program]bool{}
			for i := range b.Commands {
				programs[b.Commands[i].Program] = true
			}
			assert.Len(t, programs, 1, "%s, %d outputs", name, outputs)
		}
	}
}

// On a processor, its kernels come before all others.
func TestLikelyOnProcessors(t *testing.T) {
	likely(t, llvmpipe("llvmpipe: Mesa 25.0.7"), map[string]string{"conv3d": "cooperative plain tiled", "conv3d_winograd": "transformed plain fused passes"})
	likely(t, llvmpipe("llvmpipe: Mesa 26.2.6"), map[string]string{"conv3d": "columns cooperative plain tiled", "group_norm": "by_group_4 by_group plain"})
}

//go:build !js

package wgsl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

func init() { // pages have no such kernels
	paramsOf["conv3d_columns"] = conv3dParams{}
}

// Convolutions are in columns with Mesa 26's driver for processors, of 16 pixels, or of
// 8 and two blocks where fewer rows so lie beyond the frame.
func TestColumns(t *testing.T) {
	for driver, name := range map[string]string{"Mesa 25.0.7-2 (LLVM 15.0.6) 0.0.1": "broadcast", "Mesa 26.2.6 (LLVM 22.1.8) 0.0.1": "columns"} {
		s, err := NewSet(F32, llvmpipe(driver), nil)
		require.NoError(t, err)
		assert.Equal(t, name, s.find("conv3d", nil).name, driver)
	}
	assert.False(t, columned(gpu.Info{Name: "SwiftShader Device (LLVM 10.0.0)", Type: "cpu"}))
	for _, c := range []struct{ h, w, channels, pixels, blocks, rows, width int }{
		{32, 32, 128, 16, 1, 2, 32},
		{30, 9, 128, 16, 1, 2, 16},
		{24, 8, 128, 8, 2, 3, 8},
		{24, 8, 24, 8, 3, 3, 8},
		{1, 1, 3, 8, 1, 1, 8},
		{72, 1, 128, 16, 1, 5, 8},
	} {
		h, e := conv3DColumnsKernels[0].shaders[0].inColumns(&Tensor{H: c.h, W: c.w, C: c.channels}, 2)
		assert.Equal(t, []int{c.pixels, c.blocks}, []int{h.pixels, h.tall}, "%+v", c)
		assert.Equal(t, c.rows*c.width, h.segments(e), "%+v", c)
		assert.Equal(t, [3]uint32{groups(c.channels, 8*c.blocks), uint32(c.rows * c.width / 8), 2}, h.cover(e), "%+v", c)
	}
}

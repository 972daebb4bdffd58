//go:build !js

package wgsl

import (
	_ "embed"

	"tessera/gpu"
)

// Convolutions in columns of pixels. They are for Mesa's drivers for processors, which
// no browser has.
var (
	//go:embed conv3d_columns.wgsl
	conv3dColumnsText string
	//go:embed conv3d_strided_columns.wgsl
	conv3dStridedColumnsText string
	//go:embed shared/columns.wgsl
	sharedColumnsText string
	//go:embed shared/fused.wgsl
	sharedFusedText string
	//go:embed shared/columns_frames.wgsl
	sharedColumnsFramesText string
	//go:embed shared/conv3d_columns.wgsl
	sharedConv3dColumnsText string
)

var conv3DColumnsKernels = []kernel{{
	name: "columns", packing: blocks4x8, needs: columned, better: columned,
	shaders: []shader{{file: "conv3d_columns", taps: 3, wg: 8, pixels: 16, block: 8, tall: 1, upright: true, grid: columnGrid}},
}}

var conv3DStridedColumnsKernels = []kernel{{
	name: "columns", packing: blocks4x8, needs: columned, better: columned,
	shaders: []shader{{file: "conv3d_strided_columns", taps: 3, stride: 2, wg: 8, pixels: 8, block: 8, tall: 2, upright: true, grid: columnGrid}},
}}

// columned says whether an adapter is Mesa's driver for processors from 26 on, with
// subgroups of eight.
func columned(info gpu.Info) bool { return eights(info) && uniform(info) }

// inColumns is an upright shader for what e counts in pixels, and e in columns of them,
// eight of them together. Where columns of 16 pixels would reach beyond e by more than
// those of 8 cost, which is an eighth, they have 8, of two blocks; of three blocks they
// have six, which take less to compile.
func (h *shader) inColumns(e extent, channels int) (*shader, extent) {
	suited := *h
	if h.pixels == 16 && 16*8*groups(e.H, 16) > 8*9*groups(e.H, 8) {
		suited.pixels, suited.tall = 8, 2
	}
	h = suited.covering(channels, 1)
	if h.tall == 3 {
		h.pixels = 6
	}
	e.H, e.W = int(groups(e.H, h.pixels)), 8*h.pixels*int(groups(e.W, 8))
	return h, e
}

// columnGrid covers blocks of channels and columns of pixels: the blocks of the same
// pixels one after the other, so that the processor's cache has these.
func columnGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(4*e.C4, h.deep()), groups(h.segments(e), h.wg), uint32(e.N)}
}

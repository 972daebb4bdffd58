package wgsl

import "tessera/gpu"

// A page's engine has no kernels of subgroup matrices, since no browser has these,
// and keeps nothing in 8 bits.
var nativeTexts []embedded

// Ahead says that sums of frames may be made before pairs of them.
const Ahead = false

func (*Set) ahead(*gpu.Batch, string, string, *ConvPairs) bool { return false }

func (h *shader) inColumns(e extent, _ int) (*shader, extent) { return h, e }

func (*Set) PairSums(int, *Tensor, int) int64 { return 0 }

func (*Set) Together(Shape, int) int { return 2 }

type quadTapsParams struct{ Size, Run, Part, Rows, Taps uint32 }

func (*Set) sixTaps(*gpu.Batch, string, Weights, int, quadTapsParams, gpu.View) {}

func (*shader) whole(constants, int) {}

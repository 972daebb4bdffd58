package wgsl

import "tessera/gpu"

// The page's engine plans no frames that can't be bound.
func (g *GroupNorm) parts(_ *Set, _ *gpu.Batch, label string, _ gpu.View) (gpu.View, uint32) {
	panic("wgsl: " + label + ": group norm of a frame that can't be bound")
}

package wgsl

// Grids of kernels for processors.

// threeFrames and oneFrame set the number of inputs of a columns shader.
var (
	threeFrames = []constant{{"SOURCES", 3}}
	oneFrame    = []constant{{"SOURCES", 1}}
)

// blockedGrid is blockGrid for several blocks per invocation.
func blockedGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(e.W, h.pixels*h.wg), groups(4*e.C4, h.channelsDeep()), 1}
}

// inColumns returns an upright shader for an output of e pixels, and e in columns of
// pixels, in groups of eight. Columns have 16 pixels. If those exceed e by more than
// the cost of columns of 8, which is an eighth, it uses columns of 8 with two blocks.
// With three blocks, columns have six pixels, which compile faster.
func (h *shader) inColumns(e extent, channels int) (*shader, extent) {
	suited := *h
	if h.pixels == 16 && 16*8*groups(e.H, 16) > 8*9*groups(e.H, 8) {
		suited.pixels, suited.blocks = 8, 2
	}
	h = suited.covering(channels, 1)
	if h.blocks == 3 {
		h.pixels = 6
	}
	e.H, e.W = int(groups(e.H, h.pixels)), 8*h.pixels*int(groups(e.W, 8))
	return h, e
}

// columnGrid covers blocks of channels and columns of pixels. Blocks of the same pixels
// come in sequence, so that the pixels stay in the processor's cache.
func columnGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(4*e.C4, h.channelsDeep()), groups(h.segments(e), h.wg), uint32(e.N)}
}

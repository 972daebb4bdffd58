package wgsl

// Grids of kernels for processors.

// threeFrames and oneFrame are how many inputs a shader of columns has.
var (
	threeFrames = []constant{{"SOURCES", 3}}
	oneFrame    = []constant{{"SOURCES", 1}}
)

// blockedGrid is blockGrid for several blocks of an invocation.
func blockedGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(e.W, h.pixels*h.wg), groups(4*e.C4, h.channelsDeep()), 1}
}

// inColumns is an upright shader for what e counts in pixels, and e in columns of them,
// eight of them together. Where columns of 16 pixels would reach beyond e by more than
// those of 8 cost, which is an eighth, they have 8, of two blocks; of three blocks they
// have six, which take less to compile.
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

// columnGrid covers blocks of channels and columns of pixels: the blocks of the same
// pixels one after the other, so that the processor's cache has these.
func columnGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(4*e.C4, h.channelsDeep()), groups(h.segments(e), h.wg), uint32(e.N)}
}

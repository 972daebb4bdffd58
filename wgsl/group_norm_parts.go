package wgsl

import "tessera/gpu"

// parts records the moments of a frame that is too large to bind, as many chunks at a
// time as fit, and binds the frame's first pixel.
func (g *GroupNorm) parts(s *Set, b *gpu.Batch, label string, to gpu.View) (head gpu.View, headAt uint32) {
	pixels, n := g.frames()
	if n > 1 {
		panic("wgsl: " + label + ": group norm of several frames in parts")
	}
	x, chunk, pixel := &g.X, g.chunk(), g.X.pixelBytes()
	from, part := x.At(g.XT), x.bytes
	if g.Bring != nil {
		part = func(from, till int64) (gpu.View, uint32) { return g.Bring(from, till-from), 0 }
	}
	head, headAt = part(from, from+pixel)
	each := max(1, int((g.Most-bindAlign)/(int64(chunk)*pixel)))
	for k := 0; k*chunk < pixels; k += each {
		n := min(each*chunk, pixels-k*chunk)
		first := from + int64(k*chunk)*pixel
		in, at := part(first, first+int64(n)*pixel)
		g.partial(s, b, label, to, k, n, in, at, head, headAt)
	}
	return head, headAt
}

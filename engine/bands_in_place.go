package engine

import "tessera/wgsl"

// To save memory (Plan.InPlace), a convolution overwrites frames that no later layer
// reads. Each band of rows is computed in separate memory and copied to its place when no
// later band reads the rows there.

// maxInPlaceBand limits the bytes of such a band, unless one row is larger. Two bands
// exist at once.
const maxInPlaceBand = 16 << 20

func (e *emitter) inPlaceBandLimit() int64 {
	if e.bank.across > 0 {
		return e.bank.across
	}
	return maxInPlaceBand
}

// inPlace reports whether a node overwrites its input: no other node may read it, and the
// output must be at least half as large.
func (e *emitter) inPlace(n *node) bool {
	if !e.rows || !n.inPlace || n.onto.id != 0 {
		return false
	}
	x, y := e.tensors[n.reads[0].id], e.within(n)
	if e.hosted(&x) {
		return false
	}
	frame := x.At(1) - x.At(0)
	return y.T <= x.T && y.FrameBytes() <= x.FrameBytes() && 2*y.FrameBytes() >= x.FrameBytes() &&
		(y.T == 1 || frame == y.FrameBytes() || !e.clips && frame%y.RowBytes() == 0) && y.Bytes() > 2*e.inPlaceBandLimit()
}

// within returns a node's output in the memory of its input: each frame begins where an
// input frame does.
func (e *emitter) within(n *node) wgsl.Tensor {
	x, v := e.tensors[n.reads[0].id], n.out
	y := wgsl.Tensor{Buffer: x.Buffer, Elem: x.Elem, T: v.T, H: v.H, W: v.W, C: v.C}
	if frame := x.At(1) - x.At(0); y.T > 1 && frame != y.FrameBytes() {
		y.Rows = int(frame / y.RowBytes())
	}
	return y
}

// pendingBand is a finished band with its place.
type pendingBand struct{ made, to wgsl.Tensor }

// placeBands copies bands to their places if they end before byte `next` of a frame, the
// first byte that later bands read.
func (e *emitter) placeBands(label string, next int64) {
	for len(e.pendingBands) > 0 {
		b := &e.pendingBands[0]
		if int64(b.to.Row+b.to.H)*b.to.RowBytes() > next {
			return
		}
		e.move(label, &b.to, &b.made)
		e.arena.free(b.made.Buffer)
		e.pendingBands = e.pendingBands[1:]
	}
}

package engine

import "tessera/wgsl"

// Where a plan saves memory so (Plan.Rows), a convolution writes over the frames that it alone still
// reads: a band of rows is made beside them, and put in its place when no later band
// reads the rows that lie there.

// mostBehind is how many bytes a band has that is made beside, at most, unless one row
// is more. There are two at once.
const mostBehind = 16 << 20

func (e *emitter) behindAtMost() int64 {
	if e.bank.across > 0 {
		return e.bank.across
	}
	return mostBehind
}

// trails says that a node, if nobody else reads what it does, writes over that: where
// it saves half of it or more.
func (e *emitter) trails(n *node) bool {
	if !e.rows || !n.trails || n.onto.id != 0 {
		return false
	}
	x, y := e.tensors[n.reads[0].id], e.within(n)
	if e.hosted(&x) {
		return false
	}
	frame := x.At(1) - x.At(0)
	return y.T <= x.T && y.FrameBytes() <= x.FrameBytes() && 2*y.FrameBytes() >= x.FrameBytes() &&
		(y.T == 1 || frame == y.FrameBytes() || !e.clips && frame%y.RowBytes() == 0) && y.Bytes() > 2*e.behindAtMost()
}

// within is what a node makes, in the memory of what it reads: each frame begins where
// one of those does.
func (e *emitter) within(n *node) wgsl.Tensor {
	x, v := e.tensors[n.reads[0].id], n.out
	y := wgsl.Tensor{Buffer: x.Buffer, Elem: x.Elem, T: v.T, H: v.H, W: v.W, C: v.C}
	if frame := x.At(1) - x.At(0); y.T > 1 && frame != y.FrameBytes() {
		y.Rows = int(frame / y.RowBytes())
	}
	return y
}

// trailing is a band that is made, and its place.
type trailing struct{ made, to wgsl.Tensor }

// follow puts bands in their places: those that end before byte `next` of a frame,
// from which on it is still read.
func (e *emitter) follow(label string, next int64) {
	for len(e.trail) > 0 {
		b := &e.trail[0]
		if int64(b.to.Row+b.to.H)*b.to.RowBytes() > next {
			return
		}
		e.move(label, &b.to, &b.made)
		e.arena.give(b.made.Buffer)
		e.trail = e.trail[1:]
	}
}

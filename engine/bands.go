package engine

import (
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

// A layer whose frames are larger than a binding runs in bands of rows. Each row is computed
// as without bands, so the result does not change.

// reach says which rows a layer reads for rows y0 to y1 of its output: by*y0+from to
// by*y1+to, of what it reads taken as `per` times as high. Some may lie outside.
type reach struct{ by, from, to, per int }

// each is the reach of layers that read no neighbours.
var each = reach{by: 1, per: 1}

// cells is that of layers that read cells around pixels of frames twice as high, of
// which the output begins with row `top`.
func cells(top int) reach { return reach{by: 1, from: top - 1, to: top + 2, per: 2} }

// band is rows y0 to y1 of what an operation makes. Of what it reads, it has rows lo
// to hi, the next band those from `next` on.
type band struct {
	y0, y1, lo, hi, next int
	of                   int // rows of all that it reads
}

// entire is all of an output of so many rows, which reads all of its input.
func entire(made, read int) band { return band{y1: made, hi: read, next: read, of: read} }

// window is a window on all that the operation reads as it is on the band's rows.
func (e *emitter) window(w Window) Window {
	w.Y += e.reach.by*e.b.y0 - e.reach.per*e.b.lo
	w.H = e.b.y1 - e.b.y0
	return w
}

// all records an operation's whole output y, in bands if it can't be bound.
func (e *emitter) all(n *node, y *wgsl.Tensor) {
	e.reach, e.b = n.reach, band{}
	if len(n.reads) > 0 {
		e.x = e.tensors[n.reads[0].id]
	}
	if n.reach.per == 0 {
		n.emit(e, *y)
		return
	}
	e.makes = max(n.makes, 1)
	if n.joins != nil && y.T > 1 && n.joins(e, y) {
		e.makes = 2
	}
	if e.beyond(&e.x, n.joint) || e.beyond(y, e.makes) || e.exceedsTransfer(n, e.x.H, &e.x) || n.inPlace && y.Buffer == e.x.Buffer || e.hosted(&e.x) || e.hosted(y) {
		e.cut(n, e.x, y)
		return
	}
	if n.prepare != nil {
		n.prepare(e)
	}
	e.b = entire(y.H, e.x.H)
	n.emit(e, *y)
	e.releaseBand()
}

// releaseBand frees the memory of a band.
func (e *emitter) releaseBand() {
	for _, b := range e.copies {
		e.arena.free(b)
	}
	e.copies = e.copies[:0]
}

// close allocates memory for x in a band, with contiguous frames.
func (e *emitter) close(label string, x *wgsl.Tensor) {
	x.Row, x.Rows = 0, 0
	x.Buffer = e.alloc(label, x.Bytes())
	e.copies = append(e.copies, x.Buffer)
}

// beyond reports whether n frames of x, or all if it has fewer, are too large to bind.
func (e *emitter) beyond(x *wgsl.Tensor, n int) bool { return x.Beyond(n, e.limits.MaxBinding) }

// unbound is the error of so many rows of x that can't be bound; nil if they can.
func unbound(label string, x *wgsl.Tensor, rows int, most int64) error {
	bytes := int64(rows) * x.RowBytes()
	if bytes <= most {
		return nil
	}
	return fmt.Errorf("engine: %s: %d rows of %d pixels and %d channels are %s, device allows %s in a binding: %w",
		label, rows, x.W, x.C, Bytes(bytes), Bytes(most), gpu.ErrTooLarge)
}

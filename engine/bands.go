package engine

import (
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

// A layer whose frames are larger than a binding runs in bands of rows. Each row is computed
// as without bands, so the result does not change.

// reach says which input rows a layer reads for output rows y0 to y1: by*y0+from to
// by*y1+to, in the input enlarged by per. Some rows may lie outside.
type reach struct{ by, from, to, per int }

// each is the reach of layers that read no neighbouring rows.
var each = reach{by: 1, per: 1}

// cells is the reach of layers that read cells around pixels of frames twice as high. The
// output begins at row top of these.
func cells(top int) reach { return reach{by: 1, from: top - 1, to: top + 2, per: 2} }

// band is rows y0 to y1 of an operation's output. Its input has rows lo to hi; the next
// band's input begins at row `next`.
type band struct {
	y0, y1, lo, hi, next int
	of                   int // rows of the whole input
}

// entire returns the band of a whole output, which reads the whole input.
func entire(made, read int) band { return band{y1: made, hi: read, next: read, of: read} }

// window converts a window on the whole input to one on the band's rows.
func (e *emitter) window(w Window) Window {
	w.Y += e.reach.by*e.b.y0 - e.reach.per*e.b.lo
	w.H = e.b.y1 - e.b.y0
	return w
}

// all records an operation's whole output y, in bands if it cannot be bound at once.
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

// unbound returns an error if the given rows of x cannot be bound, else nil.
func unbound(label string, x *wgsl.Tensor, rows int, most int64) error {
	bytes := int64(rows) * x.RowBytes()
	if bytes <= most {
		return nil
	}
	return fmt.Errorf("engine: %s: %d rows of %d pixels and %d channels are %s, device allows %s in a binding: %w",
		label, rows, x.W, x.C, Bytes(bytes), Bytes(most), gpu.ErrTooLarge)
}

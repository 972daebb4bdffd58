package engine

import (
	"cmp"
	"math"

	"tessera/wgsl"
)

// Bands: a layer runs on some rows of its output at a time if all rows can't be bound, if
// its causal memory is offloaded or in 8 bits, or if it overwrites its input. bands.go
// defines a band, this file cuts outputs into bands, and bands_in_place.go overwrites inputs.
//
// The planner decides only whether convolutions may overwrite their input (Plan.InPlace, one
// of the savings). Whether a layer runs in bands follows from the limits of the adapter and
// the size of its frames.
//
// A recording asks each node which rows it reads (reach), and records the node's commands
// once for each band. Frames that one command needs next to each other are copied.
//
// The runner sees only commands. Results are downloaded in bands that can be bound, too
// (Plan.Bound).

// rows returns the input rows for rows y0 to y1-1 of the output.
func (r reach) rows(y0, y1 int) (lo, hi int) { return r.row(r.by*y0 + r.from), r.row(r.by*y1 + r.to) }

// row returns the input row that holds row y of the input enlarged by per.
func (r reach) row(y int) int {
	if y < 0 {
		y -= r.per - 1
	}
	return y / r.per
}

// bands cuts all rows of a node's output into as few bands of at most h rows as possible.
func (n *node) bands(h, all, of int) (list []band) {
	step := max(n.step, 1)
	count := (all + h - 1) / h
	h = ((all+count-1)/count + step - 1) / step * step
	for y := 0; y < all; y += h {
		b := band{y0: y, y1: min(y+h, all), of: of}
		lo, hi := n.reach.rows(b.y0, b.y1)
		b.lo = max(0, min(lo, of-1))
		b.hi = max(b.lo+1, min(hi, of))
		b.next = b.hi
		if len(list) > 0 {
			list[len(list)-1].next = b.lo
		}
		list = append(list, b)
	}
	return list
}

// high returns the greatest number of input rows for h output rows.
func (r reach) high(h int) int {
	lo, hi := r.rows(0, h)
	return hi - lo + min(1, r.per-1)
}

// cut records a node in bands that can be bound.
func (e *emitter) cut(n *node, x wgsl.Tensor, y *wgsl.Tensor) {
	read, made, step := max(n.joint, 1), e.makes, max(n.step, 1)
	most := e.limits.MaxBinding - bindAlign
	h, inPlace := (y.H+step-1)/step*step, y.Buffer == x.Buffer && n.inPlace
	for h > step && (max(int64(read*n.reach.high(h))*x.RowBytes(), int64(made*h)*y.RowBytes()) > most || e.exceedsTransfer(n, n.reach.high(h), &x) || e.tooManyRows(&x, n.reach.high(h)) || e.tooManyRows(y, h) || inPlace && int64(y.T*h)*y.RowBytes() > e.inPlaceBandLimit()) {
		h = max(step, min(h-step, h*15/16/step*step))
	}
	if e.err = cmp.Or(unbound(n.label, &x, read*n.reach.high(h), most), unbound(n.label, y, made*h, most)); e.err != nil {
		return
	}
	if n.prepare != nil {
		n.prepare(e)
	}
	e.many = true
	for _, b := range n.bands(h, y.H, x.H) {
		e.part(n, b, &x, y)
	}
	e.placeBands(n.label, math.MaxInt64)
}

// part records a band. It copies frames that one command reads or makes together if they
// are too far apart.
func (e *emitter) part(n *node, b band, x, y *wgsl.Tensor) {
	e.b = b
	e.x = x.Part(b.lo, b.hi-b.lo)
	to := y.Part(b.y0, b.y1-b.y0)
	made := to
	if e.hosted(&e.x) {
		e.uploadRows(n.label, &e.x)
	} else if e.scattered(&e.x, n.joint) {
		from := e.x
		e.close(n.label+" rows", &e.x)
		e.move(n.label, &e.x, &from)
	}
	inPlace, away := y.Buffer == x.Buffer && n.inPlace, e.hosted(y)
	switch {
	case away && y.Buffer == x.Buffer: // overwrite the input
		made = e.x
	case away && n.onto.id != 0:
		e.uploadRows(n.label, &made)
	case away:
		e.close(n.label+" rows", &made)
	case inPlace:
		made.Row, made.Rows = 0, 0
		made.Buffer = e.alloc(n.label+" rows", made.Bytes())
	case e.scattered(&to, e.makes):
		e.close(n.label+" rows", &made)
		if n.onto.id != 0 {
			e.move(n.label, &made, &to)
		}
	}
	n.emit(e, made)
	if away {
		e.downloadRows(&to, &made)
	} else if inPlace {
		e.pendingBands = append(e.pendingBands, pendingBand{made, to})
		e.placeBands(n.label, int64(b.next)*x.RowBytes())
	} else if made.Buffer != to.Buffer {
		e.move(n.label, &to, &made)
	}
	e.releaseBand()
}

// scattered reports whether n frames of x are too far apart for one binding.
func (e *emitter) scattered(x *wgsl.Tensor, n int) bool {
	return min(n, x.T) > 1 && e.beyond(x, n)
}

// move copies the frames of a part of a tensor to another part, in one command if both are
// contiguous.
func (e *emitter) move(label string, to, from *wgsl.Tensor) {
	if gapless(to) && gapless(from) {
		e.batch.Copy(label, allOf(*to), allOf(*from))
		return
	}
	for t := range to.T {
		if t%wgsl.FramesAtOnce == 0 && !e.proceed() {
			return
		}
		e.batch.Copy(label, frameOf(to, t), frameOf(from, t))
	}
}

// gapless reports whether x has whole, contiguous frames.
func gapless(x *wgsl.Tensor) bool { return x.Rows == 0 || x.Rows == x.H }

// boundRows returns how many rows of a result can be bound at once.
func (p *Plan) boundRows(x wgsl.Tensor) int {
	return min(x.H, int(max(1, (p.job.Adapter.Limits.MaxBinding-bindAlign)/x.RowBytes())))
}

// Bound calls do for each part of a result that can be bound, which starts at row y0.
func (p *Plan) Bound(x wgsl.Tensor, do func(x wgsl.Tensor, y0 int) error) error {
	for y0, n := 0, p.boundRows(x); y0 < x.H; y0 += n {
		if err := do(x.Part(y0, min(n, x.H-y0)), y0); err != nil {
			return err
		}
	}
	return nil
}

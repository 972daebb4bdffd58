package engine

import (
	"cmp"
	"math"

	"tessera/wgsl"
)

// Bands: rows of a layer's output that are made by themselves, where all rows can't be
// bound, or where their causal memory or what they write over asks for it. bands.go says
// what a band is, this file cuts outputs into bands, and bands_in_place.go has convolutions
// write over what they read.
//
// The planner decides only whether convolutions may write over what they read (Plan.InPlace,
// one of the savings); whether a layer is made in bands follows from the limits of the
// adapter and the size of its frames.
//
// A recording asks each node which rows it reads (reach), and has it record its commands
// once for each band. Frames that a command needs close together are copied.
//
// The runner does nothing for it: commands of a band are commands. Results leave in bands
// that can be bound, too (Plan.Bound).

// rows are those that are read for rows y0 to y1-1 of the output.
func (r reach) rows(y0, y1 int) (lo, hi int) { return r.row(r.by*y0 + r.from), r.row(r.by*y1 + r.to) }

// row is that which row y is part of, taken as higher.
func (r reach) row(y int) int {
	if y < 0 {
		y -= r.per - 1
	}
	return y / r.per
}

// bands cuts a node's output of so many rows into as few as can be of h at most.
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

// high is how many rows are read for h of the output, at most.
func (r reach) high(h int) int {
	lo, hi := r.rows(0, h)
	return hi - lo + min(1, r.per-1)
}

// cut makes a node's output y of x in bands that can be bound.
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

// part makes a band of y, of x. Frames of them that one command reads or makes
// together lie close to each other, if need be in copies.
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
	case away && y.Buffer == x.Buffer: // over what it reads
		made = e.x
	case away && n.onto.id != 0:
		e.uploadRows(n.label, &made)
	case away:
		e.close(n.label+" rows", &made)
	case inPlace:
		made.Row, made.Rows = 0, 0
		made.Buffer = e.take(n.label+" rows", made.Bytes())
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

// scattered says whether n frames of x are too far apart for a binding.
func (e *emitter) scattered(x *wgsl.Tensor, n int) bool {
	return min(n, x.T) > 1 && e.beyond(x, n)
}

// move copies all frames of a part of a tensor to another's, those that lie one right
// behind the other in both at once.
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

// gapless is whether x has whole frames, one right behind the other.
func gapless(x *wgsl.Tensor) bool { return x.Rows == 0 || x.Rows == x.H }

// boundRows is how many rows of a result can be bound at once.
func (p *Plan) boundRows(x wgsl.Tensor) int {
	return min(x.H, int(max(1, (p.job.Adapter.Limits.MaxBinding-bindAlign)/x.RowBytes())))
}

// Bound does something with each part of a result that can be bound, from row y0 on.
func (p *Plan) Bound(x wgsl.Tensor, do func(x wgsl.Tensor, y0 int) error) error {
	for y0, n := 0, p.boundRows(x); y0 < x.H; y0 += n {
		if err := do(x.Part(y0, min(n, x.H-y0)), y0); err != nil {
			return err
		}
	}
	return nil
}

package engine

import (
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Causal memory may be kept in 8 bits: a frame is quantised as it is kept, and a
// layer's memory dequantised right before the layer reads it, in bands of rows like
// what comes from the host. A row has scales of its own, so that its bytes are the
// same whichever rows are quantised with it.

// remember has n frames of the layer's memory, as it reads them.
func (e *emitter) remember(l *timeline, layer string, n int) {
	x := e.x
	if e.bank.eight {
		x = x.Quantised()
	}
	l.memory = e.bank.of(layer, n, x, e.b.of, e.b.lo)
	e.off(l, layer)
	e.fetch(l, layer)
	if !e.bank.eight {
		return
	}
	l.packed = l.memory
	if !l.at.later() {
		return
	}
	l.memory = nil
	for i := range l.packed {
		m := e.x
		m.T = 1
		e.close(layer+" memory", &m)
		e.inRows(&m, m.H, func(y, h int) {
			e.set.Dequantise(e.batch, layer+" memory", wgsl.Quantise{X: m.Part(y, h), Y: l.packed[i].Part(y, h)})
		})
		l.memory = append(l.memory, m)
		if l.away != nil {
			e.done(l.packed[i].Buffer)
		}
	}
}

// done gives back what a band has close, before its end.
func (e *emitter) done(b *gpu.Buffer) {
	e.arena.give(b)
	e.copies = slices.DeleteFunc(e.copies, func(other *gpu.Buffer) bool { return other == b })
}

// inRows does something with as many of the first rows of x at once as can be bound.
func (e *emitter) inRows(x *wgsl.Tensor, rows int, do func(y, h int)) {
	most := max(1, int((e.limits.MaxBinding-bindAlign)/x.RowBytes()))
	for y := 0; y < rows; y += most {
		do(y, min(most, rows-y))
	}
}

// quantise records a tap's rows that are kept, in 8 bits.
func (l *timeline) quantise(e *emitter, label string, tap wgsl.Tap, to *wgsl.Tensor) {
	e.inRows(&tap.X, l.rows, func(y, h int) {
		e.set.Quantise(e.batch, label, wgsl.Quantise{X: tap.X.Part(y, h), XT: tap.T, Y: to.Part(y, h)})
	})
}

// bytes of a frame's rows that are kept.
func (l *timeline) bytes() int64 {
	if l.packed != nil {
		return int64(l.rows) * l.packed[0].RowBytes()
	}
	return int64(l.rows) * l.x.RowBytes()
}

// sendToHost takes a tap's rows that are kept out, to a slot.
func (l *timeline) sendToHost(e *emitter, label string, slot int, tap wgsl.Tap) {
	if l.packed == nil || l.rows == 0 {
		e.goes(l, slot, gpu.View{Buffer: tap.X.Buffer, Offset: tap.X.At(tap.T), Size: l.bytes()})
		return
	}
	to := tap.X.Part(0, l.rows)
	to = to.Quantised()
	to.T = 1
	e.close(label, &to)
	l.quantise(e, label, tap, &to)
	e.goes(l, slot, allOf(to))
	e.done(to.Buffer)
}

// stays records that the last frames of what came so far are kept in 8 bits. Of those
// that are kept already the bytes are.
func (l *timeline) stays(e *emitter, label string) {
	if l.rows == 0 {
		return
	}
	for i := range l.packed {
		m := &l.packed[i]
		to := gpu.View{Buffer: m.Buffer, Offset: m.At(0), Size: l.bytes()}
		f := l.x.T - len(l.packed) + i
		tap, ok := l.frame(f)
		switch {
		case !ok:
			e.batch.Clear(label, to)
		case f < 0 && l.at.later():
			from := &l.packed[len(l.packed)+f]
			e.batch.Copy(label, to, gpu.View{Buffer: from.Buffer, Offset: from.At(0), Size: l.bytes()})
		default:
			l.quantise(e, label, tap, m)
		}
	}
}

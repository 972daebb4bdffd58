package engine

import (
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Causal memory in 8 bits: a frame is quantised when it is stored, and a layer's memory
// dequantised right before the layer reads it, in bands of rows like offloaded memory. Each
// row has its own scales, so that its bytes do not depend on the rows that are quantised
// with it.

// loadMemory makes n frames of the layer's memory ready to be read.
func (e *emitter) loadMemory(l *timeline, layer string, n int) {
	x := e.x
	if e.bank.i8 {
		x = x.Quantised()
	}
	l.memory = e.bank.of(layer, n, x, e.b.of, e.b.lo)
	e.useHost(l, layer)
	e.fetch(l, layer)
	if !e.bank.i8 {
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
		e.eachBindable(&m, m.H, func(y, h int) {
			e.set.Dequantise(e.batch, layer+" memory", wgsl.Quantise{X: m.Part(y, h), Y: l.packed[i].Part(y, h)})
		})
		l.memory = append(l.memory, m)
		if l.away != nil {
			e.releaseEarly(l.packed[i].Buffer)
		}
	}
}

// releaseEarly frees a band's memory before the band ends.
func (e *emitter) releaseEarly(b *gpu.Buffer) {
	e.arena.free(b)
	e.copies = slices.DeleteFunc(e.copies, func(other *gpu.Buffer) bool { return other == b })
}

// eachBindable calls do for as many of the first rows of x at a time as can be bound.
func (e *emitter) eachBindable(x *wgsl.Tensor, rows int, do func(y, h int)) {
	most := max(1, int((e.limits.MaxBinding-bindAlign)/x.RowBytes()))
	for y := 0; y < rows; y += most {
		do(y, min(most, rows-y))
	}
}

// quantise records the quantisation of a tap's rows that are kept.
func (l *timeline) quantise(e *emitter, label string, tap wgsl.Tap, to *wgsl.Tensor) {
	e.eachBindable(&tap.X, l.rows, func(y, h int) {
		e.set.Quantise(e.batch, label, wgsl.Quantise{X: tap.X.Part(y, h), XT: tap.T, Y: to.Part(y, h)})
	})
}

// bytes returns the size of a frame's rows that are kept.
func (l *timeline) bytes() int64 {
	if l.packed != nil {
		return int64(l.rows) * l.packed[0].RowBytes()
	}
	return int64(l.rows) * l.x.RowBytes()
}

// sendToHost downloads a tap's rows to a slot.
func (l *timeline) sendToHost(e *emitter, label string, slot int, tap wgsl.Tap) {
	if l.packed == nil || l.rows == 0 {
		e.downloadSlot(l, slot, gpu.View{Buffer: tap.X.Buffer, Offset: tap.X.At(tap.T), Size: l.bytes()})
		return
	}
	to := tap.X.Part(0, l.rows)
	to = to.Quantised()
	to.T = 1
	e.close(label, &to)
	l.quantise(e, label, tap, &to)
	e.downloadSlot(l, slot, allOf(to))
	e.releaseEarly(to.Buffer)
}

// keepQuantised stores the last frames so far in 8 bits. It copies the bytes of those that
// are quantised already.
func (l *timeline) keepQuantised(e *emitter, label string) {
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

package vae

import (
	"slices"

	"tessera/engine"
	"tessera/wgsl"
)

// view maps the index of a tensor's element in a layer to its index in the checkpoint's
// tensor.
type view func(i int) int

// viewed reads tensors in the layers' order.
type viewed struct {
	engine.Tensors
	views map[string]view

	wide []float32
	half []uint16
}

// Float32s appends a tensor.
func (v *viewed) Float32s(dst []float32, name string) (_ []float32, err error) {
	if v.views[name] == nil {
		return v.Tensors.Float32s(dst, name)
	}
	if v.wide, err = v.Tensors.Float32s(v.wide[:0], name); err != nil {
		return dst, err
	}
	return seenBy(v.views[name], dst, v.wide), nil
}

// Float16s appends a tensor as halves.
func (v *viewed) Float16s(dst []uint16, name string) (_ []uint16, err error) {
	if v.views[name] == nil {
		return v.Tensors.Float16s(dst, name)
	}
	if v.half, err = v.Tensors.Float16s(v.half[:0], name); err != nil {
		return dst, err
	}
	return seenBy(v.views[name], dst, v.half), nil
}

// seenBy appends the elements of a tensor in a view's order.
func seenBy[E any](v view, dst, from []E) []E {
	dst = slices.Grow(dst, len(from))
	for i := range from {
		dst = append(dst, from[v(i)])
	}
	return dst
}

// frames makes weights [cout, taps*cin, pixels] a layer's [cout, cin, taps, pixels]: the
// file stores a layer that reads several frames as if their channels were those of one
// frame. With latestFirst the first of its channels belong to the last tap.
func (l *loader) frames(name string, cin, taps, pixels int, latestFirst bool) {
	l.views[name+".weight"] = func(i int) int {
		p, k, c, o := i%pixels, i/pixels%taps, i/(pixels*taps)%cin, i/(pixels*taps*cin)
		if latestFirst {
			k = taps - 1 - k
		}
		return ((o*taps+k)*cin+c)*pixels + p
	}
}

// twoFrames is the temporal side of layers that read a frame and the one before it.
var twoFrames = engine.Causal{Kernel: 2, Past: engine.Zeros}

// pastConv builds a 3x3 convolution of a frame, followed by the one before it: a weight
// [cout, 2*cin, 3, 3].
func (l *loader) pastConv(name string, cin, cout int) *engine.Conv {
	l.product(name, cout, 2*cin, 3, 3)
	l.frames(name, cin, 2, 9, true)
	w := l.weights.Conv(name, wgsl.Shape{O: cout, I: cin, KT: 2, KS: 3}, 1)
	return &engine.Conv{Name: name, Weights: w, Out: cout, Time: twoFrames, Stride: 1}
}

// pastPointwise builds a pointwise layer of a frame, followed by the one before it: a
// weight [cout, 2*cin, 1, 1].
func (l *loader) pastPointwise(name string, cin, cout int) *engine.TimeConv {
	l.product(name, cout, 2*cin, 1, 1)
	l.frames(name, cin, 2, 1, true)
	return l.overTime(name, cin, cout, 2, 1, twoFrames)
}

// joinFrames builds a layer that makes one frame of the given number: a weight [c,
// frames*c, 1, 1], earlier frames first.
func (l *loader) joinFrames(name string, c, frames int) engine.Module {
	l.product(name, c, frames*c, 1, 1)
	l.frames(name, c, frames, 1, false)
	return l.overTime(name, c, c, frames, 1, engine.Causal{Kernel: frames, Step: frames, Past: engine.Zeros})
}

// splitFrames builds a layer that makes the given number of frames of each: a weight
// [frames*c, c, 1, 1].
func (l *loader) splitFrames(name string, c, frames int) *engine.TimeConv {
	l.product(name, frames*c, c, 1, 1)
	return l.overTime(name, c, c, 1, frames, engine.Causal{Kernel: 1})
}

// overTime builds a pointwise layer over several frames.
func (l *loader) overTime(name string, cin, cout, taps, phases int, time engine.Causal) *engine.TimeConv {
	w := l.weights.Product(name, []string{name}, wgsl.Shape{O: phases * wgsl.Pad4(cout), I: cin, KT: taps, KS: 1}, padded(cout))
	return &engine.TimeConv{Name: name, Weights: w, Out: cout, Time: time, Phases: phases}
}

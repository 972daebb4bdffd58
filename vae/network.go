package vae

import "tessera/wgsl"

// module is a part of a network. Forward records it on x, which it consumes.
type module interface {
	Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor
}

// series are modules one after another.
type series []module

// Forward consumes x.
func (s series) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	for _, m := range s {
		x = m.Forward(r, x)
	}
	return x
}

// network is one direction of a model. Where outer and inner are set they are
// all's parts, for exact tiles: outer can be cut where inner can't.
type network struct {
	half  string // "encoder" or "decoder"
	all   module
	outer *wanOuter
	inner *wanInner
	width int // channels between inner and outer
}

package engine

import "tessera/wgsl"

// The page's program, which is small, has no bands.

func (e *emitter) cut(n *node, x wgsl.Tensor, y *wgsl.Tensor) {
	if e.err = unbound(n.label, &x, max(n.joint, 1)*x.H, e.room(&x)); e.err == nil {
		e.err = unbound(n.label, y, max(n.makes, 1)*y.H, e.room(y))
	}
}

func (p *Plan) boundRows(x wgsl.Tensor) int { return x.H }

func (p *Plan) bound(x wgsl.Tensor, do func(x wgsl.Tensor, y0 int) error) error { return do(x, 0) }

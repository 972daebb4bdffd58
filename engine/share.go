package engine

import "tessera/gpu"

// Helper is a plan of the same job, in the same tiles, for another device. It
// takes tiles of the plan that it helps, each when it is free.
type Helper struct {
	Plan    *Plan
	Adapter gpu.Info
	Tiles   int // that it made, in all runs
}

// Share has helpers take tiles, of a job in several that may be put together in
// any order; others they leave alone.
func (p *Plan) Share(helpers []*Helper) {
	if _, ordered := p.Work.Joiner.(*LinearCanvas); ordered || p.Tiles.Whole() || len(helpers) == 0 {
		return
	}
	foreign := &gpu.Buffer{Label: "tile of another device"}
	p.Helpers, p.Work.Foreign = helpers, foreign
	for _, w := range p.Work.Passes {
		for _, all := range w.Recorded {
			for _, r := range all {
				if r != nil && len(w.Tiles) > 1 {
					foreign.Size = max(foreign.Size, r.Out.FrameBytes())
				}
			}
		}
	}
	p.Transfer += foreign.Size
}

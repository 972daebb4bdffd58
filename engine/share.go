package engine

import "tessera/gpu"

// Helper is a plan of the same job, in the same tiles, for another device. That device takes
// tiles from the work queue.
type Helper struct {
	Plan    *Plan
	Adapter gpu.Info
	Tiles   int // computed in all runs
}

// Share lets helpers compute tiles, if the plan has several and can combine them in any
// order.
func (p *Plan) Share(helpers []*Helper) {
	if _, ordered := p.Work.Joiner.(*LinearCanvas); ordered || p.Tiles.Whole() || len(helpers) == 0 {
		return
	}
	foreign := &gpu.Buffer{Label: "tile of another device"}
	p.Helpers, p.Work.FromHelper = helpers, foreign
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

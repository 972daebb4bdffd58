package engine

// A plan with longer slices uses at most one part in budgetParts of the budget, and has at
// most maxChunk latent frames in a slice: more were measured to gain nothing.
const (
	budgetParts = 4
	maxChunk    = 4
)

// longerSlices is a plan like l with longer slices, if they leave most of the budget free.
func (p *planner) longerSlices(l *Plan) *Plan {
	if l.frugal() || p.o.Internals.Least || l.CausalI8 || p.Independent || p.fixedSlices() || l.Slices == 1 || l.Bytes() > p.budget/budgetParts {
		return l
	}
	p.o.Tiling = l.Tiling
	for p.o.Chunk = maxChunk; p.o.Chunk > 1; p.o.Chunk /= 2 {
		m, err := p.try(l.Tile)
		if err == nil && !m.frugal() && m.Bytes() <= p.budget/budgetParts {
			m.Shrunk = l.Shrunk
			return m
		}
	}
	return l
}

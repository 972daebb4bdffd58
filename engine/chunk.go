package engine

// A plan in longer slices takes a part of the budget at most, one in `room`, and has
// mostChunk latent frames in them at most: more was measured to gain no more.
const (
	room      = 4
	mostChunk = 4
)

// longer is a plan like l in slices as long as the budget has plenty of room for.
func (p *planner) longer(l *Plan) *Plan {
	if l.frugal() || p.o.Internals.Least || l.Eight || p.Independent || p.bound() || l.Slices == 1 || l.Bytes() > p.budget/room {
		return l
	}
	p.o.Tiling = l.Tiling
	for p.o.Chunk = mostChunk; p.o.Chunk > 1; p.o.Chunk /= 2 {
		m, err := p.try(l.Tile)
		if err == nil && !m.frugal() && m.Bytes() <= p.budget/room {
			m.Shrunk = l.Shrunk
			return m
		}
	}
	return l
}

package engine

import "tessera/wgsl"

// Temporal cuts a clip of more than Most frames into temporal tiles, which the network
// sees as separate clips: one starts every Step frames and has Length frames, or the
// rest. Zero: the clip is not cut, and slices pass causal memory on.
type Temporal struct{ Most, Length, Step int }

// Pixels converts c to pixel frames, of which a latent frame after the first has factor.
func (c Temporal) Pixels(factor int) Temporal {
	return Temporal{c.Most * factor, max(0, c.Length-1)*factor + 1, c.Step * factor}
}

// slices returns the tiles of a clip. A last tile of one frame would add nothing, because
// its first frame is dropped.
func (c *Temporal) slices(frames int) []Slice {
	if frames <= c.Most {
		return []Slice{{N: frames, at: Whole}}
	}
	all := []Slice{{N: min(c.Length, frames), at: First}}
	kinds := map[int]int{} // by number of frames
	for t := c.Step; t+1 < frames; t += c.Step {
		n := min(c.Length, frames-t)
		if kinds[n] == 0 {
			kinds[n] = len(kinds) + 1
		}
		all = append(all, Slice{T: t, N: n, at: Steady, Kind: kinds[n]})
	}
	return all
}

// Faded is a network that runs on temporal tiles, whose frames fade into those of the
// next tile. The first frame of a later tile is dropped, the first Extent of the others
// are blended with the last frames of the previous tile, and the first Keep are its
// result. The first tile has one frame more.
type Faded struct {
	Name         string
	Network      Module
	Keep, Extent int // in frames of its output
}

// Forward returns the frames that the tile adds to the clip.
func (f *Faded) Forward(g *Graph, x Value) Value {
	at := g.at
	g.at = Whole
	y := f.Network.Forward(g, x)
	if g.at = at; at == Whole {
		return y
	}
	dropped, frames := 0, min(f.Keep+1, y.T)
	if at.later() {
		dropped, frames = 1, min(f.Keep, y.T-1)
	}
	return g.record(node{
		label: f.Name, kind: "fade", reads: []Value{y}, out: Value{T: frames, H: y.H, W: y.W, C: y.C}, reach: each, keeps: f.Extent,
		emit: func(e *emitter, out wgsl.Tensor) {
			l := e.time(f.Name, Causal{Kernel: f.Extent + 1})
			for t := range frames {
				if before, ok := l.frame(t - f.Extent); ok && t < f.Extent && at.later() {
					e.set.Fade(e.batch, f.Name, wgsl.Fade{
						A: before, B: wgsl.Tap{X: l.x, T: dropped + t}, Y: wgsl.Tap{X: out, T: t}, Weight: float32(t) / float32(f.Extent),
					})
					continue
				}
				e.batch.Copy(f.Name, frameOf(&out, t), frameOf(&l.x, dropped+t))
			}
			l.keep(e, f.Name)
		},
	})
}

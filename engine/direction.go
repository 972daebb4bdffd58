package engine

import (
	"fmt"

	"tessera/tiling"
)

// Direction is one way through a model, and owns its scales: what becomes of
// frames and sizes on the way. Samples are pixels on one side and latent cells
// on the other.
type Direction struct {
	Name string // "encode" or "decode"

	In, Out             int // samples along a latent cell's side: 8 and 1 to encode, 1 and 8 to decode
	InFrames, OutFrames int // frames for a latent frame after the clip's first: 4 and 1 to encode, 1 and 4 to decode
	InPatch, OutPatch   int // samples along the side of what the network has as one pixel
	Picture             int // frames of the input that a picture by itself is repeated for; 0 is 1
	InChannels          int // of the network's input
	OutChannels         int // of what comes out: moments, their means alone, or a pixel's

	// First is how many frames the first slice of a clip has where the others
	// have step.
	First func(step int) int
	// Temporal are tiles of its frames in place of slices.
	Temporal Temporal
	// ByPixels: tiles of the Diffusers kind are counted and blended by pixels, not by
	// what the network has as one.
	ByPixels bool
}

// Frames is how many frames so many become. Independent ones are pictures by
// themselves.
func (d Direction) Frames(n int, independent bool) int {
	if independent {
		return n / max(d.Picture, 1)
	}
	return (n-1)/d.InFrames*d.OutFrames + 1
}

// Size is what becomes of a frame of h x w samples. A part of a cell becomes one, too.
func (d Direction) Size(h, w int) (height, width int) {
	return (h + d.In - 1) / d.In * d.Out, (w + d.In - 1) / d.In * d.Out
}

// factor is how many pixels a latent cell has along its side.
func (d *Direction) factor() int { return max(d.In, d.Out) }

// shrinks says that pixels become cells.
func (d *Direction) shrinks() bool { return d.In > d.Out }

// slices divide so many frames into slices of step.
func (d *Direction) slices(frames, step int, independent bool) []Slice {
	if independent {
		return pictures(frames, max(d.Picture, 1))
	}
	if d.Temporal.Step > 0 {
		return d.Temporal.slices(frames)
	}
	return sliced(frames, d.First(step), step)
}

// tiles cut a frame of the input, which ends within the last cells of some networks.
func (d *Direction) tiles(height, width int, how Tiling, o tiling.Options) (tiling.Linear, error) {
	o.Factor = d.factor()
	var l tiling.Linear
	var err error
	h, w := (height+d.In-1)/d.In*d.In, (width+d.In-1)/d.In*d.In
	in, out := d.InPatch, d.OutPatch
	if d.ByPixels {
		in, out = 1, 1
	}
	switch {
	case how == Diffusers && d.shrinks():
		l, err = tiling.LinearEncode(h, w, in, o)
	case how == Diffusers:
		l, err = tiling.LinearDecode(h, w, out, o)
	case d.shrinks():
		l.Plan, err = tiling.Encode(h, w, o)
	default:
		l.Plan, err = tiling.Decode(h, w, o)
	}
	for i := range l.Tiles {
		in := &l.Tiles[i].In
		in.Y1, in.X1 = min(in.Y1, height), min(in.X1, width)
	}
	return l, err
}

// check panics on what can't be a direction: models are our own.
func (d *Direction) check() {
	if min(d.In, d.Out, d.InFrames, d.OutFrames, d.InPatch, d.OutPatch, d.InChannels, d.OutChannels) < 1 || d.First == nil {
		panic(fmt.Sprintf("engine: direction %+v", d))
	}
}

package engine

import (
	"fmt"

	"tessera/tiling"
)

// Direction is encoding or decoding with a model, with its scales of frames and
// sizes. Samples are pixels on one side and latent cells on the other.
type Direction struct {
	Name string // "encode" or "decode"

	In, Out             int // samples along a latent cell's side: 8 and 1 to encode, 1 and 8 to decode
	InFrames, OutFrames int // frames per latent frame after the clip's first: 4 and 1 to encode, 1 and 4 to decode
	InPatch, OutPatch   int // samples along the side of one pixel of the network
	InChannels          int // of the network's input
	OutChannels         int // of the output: moments, their means alone, or a pixel's

	// Groups means that every output frame, the clip's first included, is made from
	// InFrames, so the network reads more frames than the clip has, and InFrames for a
	// single picture.
	Groups bool
	// Cycle is the number of latent frames that form a separate clip within the clip; the
	// first of them stands for one frame, and an encoder forgets the past. 0: none.
	Cycle int

	// Batch is the number of input frames in a slice, whatever the plan's chunk, if norms
	// see the whole slice; the first slice also has the remainder. 0: none.
	Batch int
	// Full is the divisor of the input frames of clips in which the first latent frame
	// stands for as many frames as the others, not for one. 0: no clip.
	Full int

	// First is the number of frames in the first slice of a clip, for slices of step
	// frames.
	First func(step int) int
	// Temporal are temporal tiles, which replace slices.
	Temporal Temporal
	// ByPixels means that Diffusers tiles are counted and blended in pixels, not in the
	// network's patches.
	ByPixels bool
}

// Frames returns the number of output frames. Independent frames are separate pictures.
func (d Direction) Frames(n int, independent bool) int {
	if independent || n < 1 {
		return n
	}
	if d.Cycle > 0 {
		whole := (d.Cycle-1)*d.InFrames + 1
		if cycles := (n - 1) / whole; cycles > 0 {
			return cycles*((d.Cycle-1)*d.OutFrames+1) + d.Frames(n-cycles*whole, false)
		}
	}
	if d.full(n, false) {
		return n / d.InFrames * d.OutFrames
	}
	return (n-1)/d.InFrames*d.OutFrames + 1
}

// full reports whether every latent frame of a clip of n input frames stands for several
// frames.
func (d *Direction) full(n int, independent bool) bool {
	return d.Full > 0 && n%d.Full == 0 && !independent
}

// fixedSlices reports whether norms see a slice as a whole, so plans cannot choose other
// slices or parts of them.
func (d *Direction) fixedSlices() bool { return d.Batch > 0 || d.Temporal.Step > 0 }

// chunk returns the latent frames of a slice after the first, for the requested number.
func (d *Direction) chunk(asked int) int {
	if d.Batch > 0 {
		return d.Batch / d.InFrames
	}
	return asked
}

// fed returns how many frames the network reads for the first latent frame of a clip.
func (d *Direction) fed() int {
	if d.Groups {
		return d.InFrames
	}
	return 1
}

// Size returns the output size of a frame of h x w samples. A partial cell counts as one.
func (d Direction) Size(h, w int) (height, width int) {
	return (h + d.In - 1) / d.In * d.Out, (w + d.In - 1) / d.In * d.Out
}

// factor returns the pixels along a latent cell's side.
func (d *Direction) factor() int { return max(d.In, d.Out) }

// shrinks reports whether pixels become cells.
func (d *Direction) shrinks() bool { return d.In > d.Out }

// slices divides frames into slices of step.
func (d *Direction) slices(frames, step int, independent bool) []Slice {
	if independent {
		return singleFrames(frames, d.fed())
	}
	if d.Temporal.Step > 0 {
		return d.Temporal.slices(frames)
	}
	if d.Batch > 0 {
		return sliced(frames, d.Batch+frames%d.Batch, d.Batch)
	}
	if d.Groups {
		frames = d.Frames(frames, false) * d.InFrames
	}
	if d.Cycle == 0 {
		return sliced(frames, d.First(step), step)
	}
	var all []Slice
	cycle := d.Cycle
	if d.Groups {
		cycle *= d.InFrames
	}
	for t := 0; t < frames; t += cycle {
		for i, s := range sliced(min(cycle, frames-t), d.First(step), step) {
			s.T += t
			if s.begins = t > 0 && i == 0; !d.shrinks() { // a decoder continues
				s.at = Steady
				if s.T == 0 {
					s.at = First
				}
			}
			all = append(all, s)
		}
	}
	if len(all) == 1 {
		all[0].at = Whole
	}
	return numbered(all)
}

// numbered numbers the kinds of slices in the order of their first appearance.
func numbered(all []Slice) []Slice {
	type kind struct {
		n      int
		at     Position
		begins bool
	}
	numbers := map[kind]int{}
	for i, s := range all {
		k := kind{s.N, s.at, s.begins}
		if _, ok := numbers[k]; !ok {
			numbers[k] = len(numbers)
		}
		all[i].Kind = numbers[k]
	}
	return all
}

// tiles cuts a frame of the input. For some networks the frame may end within the last
// cells.
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

// check panics on an invalid direction, because directions are written in the program.
func (d *Direction) check() {
	if min(d.In, d.Out, d.InFrames, d.OutFrames, d.InPatch, d.OutPatch, d.InChannels, d.OutChannels) < 1 || d.First == nil {
		panic(fmt.Sprintf("engine: direction %+v", d))
	}
}

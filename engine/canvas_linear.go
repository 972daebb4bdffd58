package engine

import (
	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// LinearCanvas blends tiles as diffusers does, on the host, for comparisons, not for
// speed. Spools hold the frames of the result, the last rows of the tiles above and the
// last columns of the previous tile.
type LinearCanvas struct {
	Tiles  tiling.Linear
	C      int         // floats per pixel
	Widest tiling.Size // largest tile

	Result, Above, Before *Spooled

	y wgsl.Tensor // a band of a frame during download
}

// newLinearCanvas declares a canvas with the given number of frames.
func newLinearCanvas(j *Job, l tiling.Linear, frames int) *LinearCanvas {
	v := &LinearCanvas{Tiles: l, C: wgsl.Pad4(j.OutChannels)}
	for _, t := range l.Tiles {
		v.Widest.H, v.Widest.W = max(v.Widest.H, t.Out.Size().H), max(v.Widest.W, t.Out.Size().W)
	}
	v.y = wgsl.Tensor{Elem: wgsl.F32, T: 1, H: bandRows(l.Out, j.OutChannels, j.Adapter.Limits), W: l.Out.W, C: j.OutChannels}
	v.y.Buffer = &gpu.Buffer{Label: "blended", Size: v.y.Bytes()}
	pixel, e := int64(4*v.C*frames), l.Extent
	v.Result = &Spooled{pixel * int64(l.Out.H) * int64(l.Out.W)}
	v.Above = &Spooled{pixel * int64(e.H) * int64(v.Widest.W) * int64(l.Cols)}
	v.Before = &Spooled{pixel * int64(v.Widest.H) * int64(e.W)}
	return v
}

func (v *LinearCanvas) buffers() []*gpu.Buffer { return []*gpu.Buffer{v.y.Buffer} }
func (v *LinearCanvas) bands() wgsl.Tensor     { return v.y }

// Spools returns its three spools.
func (v *LinearCanvas) Spools() []*Spooled { return []*Spooled{v.Result, v.Above, v.Before} }

// Add downloads a tile.
func (v *LinearCanvas) Add(out TileFrame, _ bool) []Step {
	return []Step{&Download{Now: true, From: out.View(), To: &LinearTile{out}}}
}

// Band uploads rows of the result.
func (v *LinearCanvas) Band(frame, y0 int, _ bool) ([]Step, wgsl.Tensor) {
	y, out := v.y, v.Tiles.Out
	y.H = min(y.H, out.H-y0)
	return []Step{&Upload{allOf(y), v.Rectangle(frame, tiling.Rect{Y0: y0, Y1: y0 + y.H, X1: out.W})}}, y
}

// Rectangle returns a part of a frame of the result.
func (v *LinearCanvas) Rectangle(frame int, part tiling.Rect) *Rectangle {
	return &Rectangle{v.Result, 4 * v.C, v.Tiles.Out, frame, part}
}

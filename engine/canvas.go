package engine

import (
	"fmt"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// bandBytes limits the rows of a spooled frame that are on the device at once.
const bandBytes = 64 << 20

// Joiner declares the buffers and steps that combine the tiles of a clip.
type Joiner interface {
	// Spools returns the spools that it keeps outside of the device.
	Spools() []*Spooled
	// Add returns the steps that add a tile's output. With weights they first upload the
	// tile's weights, because the previous frame belonged to another tile.
	Add(out TileFrame, weights bool) []Step
	// Band returns the steps that compute rows y0 on of a complete frame, and the tensor
	// that then holds them in frame 0. With first they also upload what all frames need.
	Band(frame, y0 int, first bool) ([]Step, wgsl.Tensor)

	// buffers returns its buffers on the device.
	buffers() []*gpu.Buffer
	// bands returns the shape of the largest band.
	bands() wgsl.Tensor
}

// spooled returns how many bytes a joiner keeps outside of the device.
func spooled(j Joiner) (bytes int64) {
	for _, s := range j.Spools() {
		bytes += s.Bytes
	}
	return bytes
}

// canvas adds the weighted tiles of a clip in f32. Its frames are on the device if the
// budget allows it; otherwise they are in a spool, and one tile's part of one frame at a
// time is on the device. The same kernels add in both cases.
type canvas struct {
	kernels Kernels
	tiles   tiling.Plan

	frames []wgsl.Tensor // on the device, nil when spooled
	spool  *Spooled      // [frame, H, W, C padded], nil on the device
	limits gpu.Limits
	part   wgsl.Tensor // if spooled: a tile's part of a frame, or a band of the part or of the frame
	y      wgsl.Tensor // a normalised frame, or a band of it
	count  *gpu.Buffer // sums of weights, as many rows as y

	wy, wx *gpu.Buffer // weights of a tile's rows and columns
	all    []*gpu.Buffer
}

// newCanvas declares a canvas with the given number of frames.
func newCanvas(j *Job, tiles tiling.Plan, frames int, spooled bool) *canvas {
	v := &canvas{kernels: j.Kernels, tiles: tiles, limits: j.Adapter.Limits}
	out, c := tiles.Out, j.OutChannels
	rows := out.H
	if spooled {
		rows = bandRows(out, c, j.Adapter.Limits)
		v.part = v.tensor("spooled part", rows, out.W, c)
		v.part.Buffer.Size = max(v.part.Buffer.Size, v.partBytes(c))
	} else {
		for t := range frames {
			v.frames = append(v.frames, v.tensor(fmt.Sprintf("canvas %d", t), out.H, out.W, c))
		}
	}
	v.y = v.tensor("blended", rows, out.W, c)
	if spooled {
		v.spool = &Spooled{int64(frames) * int64(out.H) * int64(out.W) * int64(v.pixel())}
	}
	v.count = v.buffer("count", rows*out.W)
	v.wy = v.buffer("feather rows", out.H)
	v.wx = v.buffer("feather columns", out.W)
	return v
}

// bandRows returns how many rows of a spooled frame are handled at once.
func bandRows(out tiling.Size, c int, limits gpu.Limits) int {
	row := int64(out.W) * int64(wgsl.Pad4(c)) * 4
	return min(out.H, int(max(1, min(bandBytes, limits.MaxBinding)/row)))
}

// partBytes returns the size of the largest tile's part of a frame, or of a band of it.
func (v *canvas) partBytes(c int) int64 {
	var most int64
	for _, t := range v.tiles.Tiles {
		size := t.Out.Size()
		most = max(most, int64(tileRows(size, c, v.limits))*int64(size.W)*int64(wgsl.Pad4(c))*4)
	}
	return most
}

// tileRows returns how many rows of a tile of c channels are added to a frame at once:
// all, if they can be bound.
func tileRows(tile tiling.Size, c int, limits gpu.Limits) int {
	row := int64(tile.W) * int64(wgsl.Pad4(c)) * 4
	return min(tile.H, int(max(1, (limits.MaxBinding-bindAlign)/row)))
}

func (v *canvas) tensor(label string, h, w, c int) wgsl.Tensor {
	x := wgsl.Tensor{Elem: wgsl.F32, T: 1, H: h, W: w, C: c}
	x.Buffer = v.buffer(label, h*w*wgsl.Pad4(c))
	return x
}

// buffer declares a buffer of n floats.
func (v *canvas) buffer(label string, n int) *gpu.Buffer {
	b := &gpu.Buffer{Label: label, Size: 4 * int64(n)}
	v.all = append(v.all, b)
	return b
}

func (v *canvas) buffers() []*gpu.Buffer { return v.all }

// Spools returns the frames' spool, if they are not on the device.
func (v *canvas) Spools() []*Spooled {
	if v.spool == nil {
		return nil
	}
	return []*Spooled{v.spool}
}

// pixel returns the bytes of a pixel.
func (v *canvas) pixel() int { return 4 * wgsl.Pad4(v.y.C) }

func (v *canvas) bands() wgsl.Tensor { return v.y }

// feather returns a tile's place and weights and, if wanted, the steps that upload the
// weights.
func (v *canvas) feather(tile int, wanted bool) (f wgsl.FeatherBlend, steps []Step) {
	at := v.tiles.Tiles[tile]
	f = wgsl.FeatherBlend{
		Y0: at.Out.Y0, X0: at.Out.X0,
		Wy: gpu.View{Buffer: v.wy, Size: 4 * int64(len(at.WY))}, Wx: gpu.View{Buffer: v.wx, Size: 4 * int64(len(at.WX))},
	}
	if wanted {
		steps = []Step{&Upload{f.Wx, Numbers(at.WX)}}
		if v.spool == nil {
			steps = append(steps, &Upload{f.Wy, Numbers(at.WY)})
		}
	}
	return f, steps
}

// Add adds a weighted tile.
func (v *canvas) Add(out TileFrame, weights bool) []Step {
	at := v.tiles.Tiles[out.Tile].Out
	f, steps := v.feather(out.Tile, weights)
	f.Tile, f.TileT, f.N = out.X, out.T, 1
	if v.spool == nil {
		f.Canvas = v.frames[out.Frame]
		return append(steps, v.blend(f))
	}
	f.Y0, f.X0 = 0, 0
	f.Canvas = v.part
	f.Canvas.W = at.Size().W
	all, n := f.Tile, tileRows(tiling.Size{H: at.Size().H, W: out.X.W}, v.y.C, v.limits)
	for y0 := 0; y0 < at.Size().H; y0 += n {
		h := min(n, at.Size().H-y0)
		f.Canvas.H, f.Tile, f.Wy.Size = h, all.Part(y0, h), 4*int64(h)
		spooled := v.rectangle(out.Frame, tiling.Rect{Y0: at.Y0 + y0, Y1: at.Y0 + y0 + h, X0: at.X0, X1: at.X1})
		steps = append(steps, &Upload{f.Wy, Numbers(v.tiles.Tiles[out.Tile].WY[y0:][:h])},
			&Upload{allOf(f.Canvas), spooled}, v.blend(f), &Download{From: allOf(f.Canvas), To: spooled})
	}
	return steps
}

// blend returns the step that adds a tile, or a band of it.
func (v *canvas) blend(f wgsl.FeatherBlend) Step {
	batch := &gpu.Batch{Label: "blend"}
	v.kernels.of(f.Tile.Elem).FeatherBlend(batch, "blend", f)
	return &RunBatch{batch}
}

func (v *canvas) rectangle(frame int, part tiling.Rect) *Rectangle {
	return &Rectangle{v.spool, v.pixel(), v.tiles.Out, frame, part}
}

// Band divides rows of a frame by the sums of the weights.
func (v *canvas) Band(frame, y0 int, first bool) ([]Step, wgsl.Tensor) {
	out := v.tiles.Out
	from, y := v.part, v.y
	y.H = min(y.H, out.H-y0)
	var steps []Step
	if v.spool == nil {
		from = v.frames[frame]
	} else {
		from.H, from.W = y.H, out.W
		steps = []Step{&Upload{allOf(from), v.rectangle(frame, tiling.Rect{Y0: y0, Y1: y0 + y.H, X1: out.W})}}
	}
	if first || v.spool != nil { // otherwise the sums of all rows are there
		steps = append(steps, &Upload{gpu.View{Buffer: v.count, Size: 4 * int64(y.H*out.W)}, &Counts{&v.tiles, y0, y.H}})
	}
	batch := &gpu.Batch{Label: "normalise"}
	v.kernels.Plain.FeatherNormalise(batch, "normalise", wgsl.FeatherNormalise{Canvas: from, Count: v.count, Y: y, N: 1})
	return append(steps, &RunBatch{batch}), y
}

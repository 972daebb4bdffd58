package engine

import (
	"fmt"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// bandBytes bounds the rows of a spooled frame that are on the device at once.
const bandBytes = 64 << 20

// output is frame t of x: what tile made of a frame of the result. It is valid
// until the next one.
type TileFrame struct {
	X           wgsl.Tensor
	T           int
	Tile, Frame int
}

// joiner puts the tiles of a clip together.
type joiner interface {
	// buffers are those on the device, spooled the bytes outside of it.
	buffers() []*gpu.Buffer
	spooled() int64
	// bands is like what band makes, at most.
	bands() wgsl.Tensor
	// open makes the spools, close discards them.
	open(o Options) error
	close()
	// add are the steps that take a tile's output.
	add(out TileFrame) []Step
	// band are the steps that make rows y0 on of a frame that has all its tiles,
	// and where they are then: in frame 0 of a tensor.
	band(frame, y0 int) ([]Step, wgsl.Tensor)
}

// canvas adds up the weighted tiles of a clip, in f32. Its frames are on the
// device where the budget allows, else in a spool, of which one tile's part of
// one frame at a time is on the device to be added to. The same kernels add in
// both cases.
type canvas struct {
	kernels Kernels
	tiles   tiling.Plan
	n       int // frames

	frames []wgsl.Tensor // on the device, nil when spooled
	spool  Spool         // [frame, H, W, C padded], when open
	limits gpu.Limits
	part   wgsl.Tensor // spooled: a tile's part of a frame, or a band of it or of the frame
	y      wgsl.Tensor // a normalised frame, or a band of it
	count  *gpu.Buffer // sums of weights, of as many rows as y
	counts []float32   // what is in it, for all rows: where nothing is spooled

	wy, wx *gpu.Buffer // weights of a tile's rows and columns
	tile   int         // whose weights these are, -1 for none
	all    []*gpu.Buffer
}

// newCanvas declares one for so many frames.
func newCanvas(j *Job, tiles tiling.Plan, frames int, spooled bool) *canvas {
	v := &canvas{kernels: j.Kernels, tiles: tiles, n: frames, limits: j.Adapter.Limits}
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
	v.count = v.buffer("count", rows*out.W)
	v.wy = v.buffer("feather rows", out.H)
	v.wx = v.buffer("feather columns", out.W)
	return v
}

// bandRows is how many rows of a spooled frame are handled at once.
func bandRows(out tiling.Size, c int, limits gpu.Limits) int {
	row := int64(out.W) * int64(wgsl.Pad4(c)) * 4
	return min(out.H, int(max(1, min(bandBytes, limits.MaxBinding)/row)))
}

// partBytes is the largest tile's part of a frame, or band of that.
func (v *canvas) partBytes(c int) int64 {
	var most int64
	for _, t := range v.tiles.Tiles {
		size := t.Out.Size()
		most = max(most, int64(tileRows(size, c, v.limits))*int64(size.W)*int64(wgsl.Pad4(c))*4)
	}
	return most
}

// tileRows is how many rows of a tile of c channels are put into a frame at once: all,
// where they can be bound.
func tileRows(tile tiling.Size, c int, limits gpu.Limits) int {
	row := int64(tile.W) * int64(wgsl.Pad4(c)) * 4
	return min(tile.H, int(max(1, (limits.MaxBinding-bindAlign)/row)))
}

func (v *canvas) tensor(label string, h, w, c int) wgsl.Tensor {
	x := wgsl.Tensor{Elem: wgsl.F32, T: 1, H: h, W: w, C: c}
	x.Buffer = v.buffer(label, h*w*wgsl.Pad4(c))
	return x
}

// buffer declares so many floats.
func (v *canvas) buffer(label string, n int) *gpu.Buffer {
	b := &gpu.Buffer{Label: label, Size: 4 * int64(n)}
	v.all = append(v.all, b)
	return b
}

func (v *canvas) buffers() []*gpu.Buffer { return v.all }

func (v *canvas) spooled() int64 {
	if v.frames != nil {
		return 0
	}
	return int64(v.n) * int64(v.tiles.Out.H) * int64(v.tiles.Out.W) * int64(v.pixel())
}

// pixel is the bytes of a pixel.
func (v *canvas) pixel() int { return 4 * wgsl.Pad4(v.y.C) }

func (v *canvas) bands() wgsl.Tensor { return v.y }

func (v *canvas) open(o Options) (err error) {
	v.tile, v.counts = -1, nil
	if n := v.spooled(); n > 0 {
		v.spool, err = o.spool(n)
	}
	return err
}

func (v *canvas) close() {
	if v.spool != nil {
		v.spool.Close()
		v.spool = nil
	}
}

// feather is where a tile goes, with its weights, and the steps that put those
// on the device.
func (v *canvas) feather(tile int) (f wgsl.FeatherBlend, steps []Step) {
	at := v.tiles.Tiles[tile]
	f = wgsl.FeatherBlend{
		Y0: at.Out.Y0, X0: at.Out.X0,
		Wy: gpu.View{Buffer: v.wy, Size: 4 * int64(len(at.WY))}, Wx: gpu.View{Buffer: v.wx, Size: 4 * int64(len(at.WX))},
	}
	if v.tile != tile {
		v.tile = tile
		steps = []Step{&bringIn{f.Wx, &values{at.WX}}}
		if v.frames != nil {
			steps = append(steps, &bringIn{f.Wy, &values{at.WY}})
		}
	}
	return f, steps
}

func (v *canvas) add(out TileFrame) []Step {
	at := v.tiles.Tiles[out.Tile].Out
	f, steps := v.feather(out.Tile)
	f.Tile, f.TileT, f.N = out.X, out.T, 1
	if v.frames != nil {
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
		steps = append(steps, &bringIn{f.Wy, &values{v.tiles.Tiles[out.Tile].WY[y0:][:h]}},
			&bringIn{allOf(f.Canvas), spooled}, v.blend(f), &takeOut{from: allOf(f.Canvas), to: spooled})
	}
	return steps
}

// blend is the step that adds a tile, or a band of it.
func (v *canvas) blend(f wgsl.FeatherBlend) Step {
	batch := &gpu.Batch{Label: "blend"}
	v.kernels.of(f.Tile.Elem).FeatherBlend(batch, "blend", f)
	return &runBatch{batch}
}

func (v *canvas) rectangle(frame int, part tiling.Rect) *rectangle {
	return &rectangle{v.spool, v.pixel(), v.tiles.Out, frame, part}
}

func (v *canvas) band(frame, y0 int) ([]Step, wgsl.Tensor) {
	out := v.tiles.Out
	from, y := v.part, v.y
	y.H = min(y.H, out.H-y0)
	var steps []Step
	if v.frames != nil {
		from = v.frames[frame]
	} else {
		from.H, from.W = y.H, out.W
		steps = []Step{&bringIn{allOf(from), v.rectangle(frame, tiling.Rect{Y0: y0, Y1: y0 + y.H, X1: out.W})}}
	}
	if v.counts == nil || v.frames == nil {
		v.counts = v.sums(y0, y.H)
		steps = append(steps, &bringIn{gpu.View{Buffer: v.count, Size: 4 * int64(len(v.counts))}, &values{v.counts}})
	}
	batch := &gpu.Batch{Label: "normalise"}
	v.kernels.Plain.FeatherNormalise(batch, "normalise", wgsl.FeatherNormalise{Canvas: from, Count: v.count, Y: y, N: 1})
	return append(steps, &runBatch{batch}), y
}

// sums are those of the weights of n rows from y0 on.
func (v *canvas) sums(y0, n int) []float32 {
	w := v.tiles.Out.W
	sums := make([]float32, n*w)
	for y := range n {
		v.tiles.CountRow(y0+y, sums[y*w:][:w])
	}
	return sums
}

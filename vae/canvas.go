package vae

import (
	"context"
	"fmt"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// bandBytes bounds the rows of a spooled frame that are on the device at once.
const bandBytes = 64 << 20

// blender puts the tiles of a clip together.
type blender interface {
	// blend takes frame xT of a tile's output, which is of frame t.
	blend(ctx context.Context, tile int, x wgsl.Tensor, xT, t int) error
	// finish hands frame t to take in bands of rows, the first of which is row
	// y0 of the frame.
	finish(ctx context.Context, t int, take func(x wgsl.Tensor, xT, y0 int) error) error
	close()
}

// canvas adds up the weighted tiles of a clip, in f32. Its frames are on the
// device where the budget allows, else in a spool, of which one tile's part of
// one frame at a time is on the device to be added to. The same kernels add in
// both cases.
type canvas struct {
	dev   *gpu.Device
	set   *wgsl.Set // of the tiles' storage
	plain *wgsl.Set // f32
	tiles tiling.Plan
	c     int

	frames []wgsl.Tensor // on the device, nil when spooled
	spool  Spool         // [frame, H, W, C padded], nil when not
	part   wgsl.Tensor   // spooled: a tile's part of a frame, or a band of it
	y      wgsl.Tensor   // a normalised frame, or a band of it
	count  *gpu.Buffer   // of as many rows as y
	rows   int           // of y

	wy, wx *gpu.Buffer // weights of a tile's rows and columns
	tile   int         // whose weights these are, -1 for none
	made   []*gpu.Buffer
}

// planCanvas says in l what blending takes: nothing for one tile.
func planCanvas(l *Layout, limits gpu.Limits) {
	if len(l.last().tiles) == 1 {
		return
	}
	c, frames := l.out.c, l.out.frames
	row := int64(l.Tiles.Out.W) * int64(wgsl.Pad4(c)) * 4
	frame := row * int64(l.Tiles.Out.H)
	weights := 4 * int64(l.Tiles.Out.H+l.Tiles.Out.W)
	rest := frame + int64(l.Tiles.Out.H)*int64(l.Tiles.Out.W)*4 + weights // y and count
	resident := frame*int64(frames) + rest
	if frame <= limits.MaxBinding && l.Bytes()+resident <= l.Budget {
		l.Canvas = resident
		return
	}
	band := row * int64(bandRows(l.Tiles, c, limits))
	l.Spool += frame * int64(frames)
	l.spooled = true
	l.Canvas = 2*max(band, partBytes(l.Tiles, c)) + band + weights
}

// bandRows is how many rows of a spooled frame are handled at once.
func bandRows(p tiling.Plan, c int, limits gpu.Limits) int {
	row := int64(p.Out.W) * int64(wgsl.Pad4(c)) * 4
	return min(p.Out.H, int(max(1, min(bandBytes, limits.MaxBinding)/row)))
}

// partBytes is the largest tile's part of a frame.
func partBytes(p tiling.Plan, c int) int64 {
	var most int64
	for _, t := range p.Tiles {
		most = max(most, int64(t.Out.Y1-t.Out.Y0)*int64(t.Out.X1-t.Out.X0)*int64(wgsl.Pad4(c))*4)
	}
	return most
}

// newCanvas allocates what planCanvas planned, zeroed.
func newCanvas(m *Model, l *Layout, o Options) (*canvas, error) {
	dev, c, frames := m.dev, l.out.c, l.out.frames
	v := &canvas{dev: dev, set: m.set, plain: m.plain, tiles: l.Tiles, c: c, tile: -1}
	out := l.Tiles.Out
	v.rows = out.H
	if l.spooled {
		v.rows = bandRows(l.Tiles, c, dev.Limits())
		var err error
		if v.spool, err = o.spool(int64(frames) * int64(out.H) * int64(out.W) * int64(wgsl.Pad4(c)) * 4); err != nil {
			return nil, err
		}
		v.part = v.tensor("spooled part", v.rows, out.W)
		v.part.Buffer.Size = max(v.part.Buffer.Size, partBytes(l.Tiles, c))
	} else {
		for t := range frames {
			v.frames = append(v.frames, v.tensor(fmt.Sprintf("canvas %d", t), out.H, out.W))
		}
	}
	v.y = v.tensor("blended", v.rows, out.W)
	v.count = &gpu.Buffer{Label: "count", Size: 4 * int64(v.rows) * int64(out.W)}
	v.wy = &gpu.Buffer{Label: "feather rows", Size: 4 * int64(out.H)}
	v.wx = &gpu.Buffer{Label: "feather columns", Size: 4 * int64(out.W)}
	v.made = append(v.made, v.count, v.wy, v.wx)
	if err := dev.Alloc(v.made...); err != nil {
		v.close()
		return nil, fmt.Errorf("vae: canvas: %w", err)
	}
	if v.spool == nil {
		return v, v.writeCount(0)
	}
	return v, nil
}

func (v *canvas) tensor(label string, h, w int) wgsl.Tensor {
	x := wgsl.Tensor{Elem: wgsl.F32, T: 1, H: h, W: w, C: v.c, Buffer: &gpu.Buffer{Label: label}}
	x.Buffer.Size = x.Bytes()
	v.made = append(v.made, x.Buffer)
	return x
}

// writeCount puts the sums of weights of v.rows rows from y0 on into count.
func (v *canvas) writeCount(y0 int) error {
	w := v.tiles.Out.W
	rows := min(v.rows, v.tiles.Out.H-y0)
	sums := make([]float32, rows*w)
	for y := range rows {
		v.tiles.CountRow(y0+y, sums[y*w:][:w])
	}
	return v.dev.Write(v.count.All(), bytes32(sums))
}

// feather puts a tile's weights on the device.
func (v *canvas) feather(tile int) (wgsl.Feather, error) {
	at := v.tiles.Tiles[tile]
	f := wgsl.Feather{
		Y0: at.Out.Y0, X0: at.Out.X0,
		Wy: gpu.View{Buffer: v.wy, Size: 4 * int64(len(at.WY))}, Wx: gpu.View{Buffer: v.wx, Size: 4 * int64(len(at.WX))},
	}
	if v.tile == tile {
		return f, nil
	}
	v.tile = tile
	if err := v.dev.Write(f.Wy, bytes32(at.WY)); err != nil {
		return f, err
	}
	return f, v.dev.Write(f.Wx, bytes32(at.WX))
}

// blend adds frame xT of a tile's output to frame t.
func (v *canvas) blend(ctx context.Context, tile int, x wgsl.Tensor, xT, t int) error {
	at := v.tiles.Tiles[tile]
	f, err := v.feather(tile)
	if err != nil {
		return err
	}
	batch := &gpu.Batch{Label: "blend"}
	if v.spool == nil {
		v.set.FeatherBlend(batch, "blend", f, x, xT, v.frames[t], 0, 1)
		return v.dev.Submit(ctx, batch)
	}
	f.Y0, f.X0 = 0, 0
	part := v.part
	part.H, part.W = at.Out.Y1-at.Out.Y0, at.Out.X1-at.Out.X0
	data := make([]byte, part.Bytes())
	if err := v.spooled(data, t, at.Out, v.spool.ReadAt); err != nil {
		return err
	}
	if err := v.dev.Write(part.Buffer.All(), data); err != nil {
		return err
	}
	v.set.FeatherBlend(batch, "blend", f, x, xT, part, 0, 1)
	if err := v.dev.Submit(ctx, batch); err != nil {
		return err
	}
	if err := v.dev.Read(ctx, data, part.Buffer.All()); err != nil {
		return err
	}
	return v.spooled(data, t, at.Out, v.spool.WriteAt)
}

// spooled moves a rectangle of frame t between data and the spool.
func (v *canvas) spooled(data []byte, t int, r tiling.Rect, move moveFunc) error {
	return moveRows(data, wgsl.Pad4(v.c)*4, v.tiles.Out, t, r, move)
}

// finish normalises frame t.
func (v *canvas) finish(ctx context.Context, t int, take func(x wgsl.Tensor, xT, y0 int) error) error {
	out := v.tiles.Out
	for y0 := 0; y0 < out.H; y0 += v.rows {
		from, y, count := wgsl.Tensor{}, v.y, v.count
		y.H = min(v.rows, out.H-y0)
		if v.spool == nil {
			from = v.frames[t]
		} else {
			from = v.part
			from.H, from.W = y.H, out.W
			data := make([]byte, from.Bytes())
			if err := v.spooled(data, t, tiling.Rect{Y0: y0, Y1: y0 + y.H, X0: 0, X1: out.W}, v.spool.ReadAt); err != nil {
				return err
			}
			if err := v.dev.Write(from.Buffer.All(), data); err != nil {
				return err
			}
			if err := v.writeCount(y0); err != nil {
				return err
			}
		}
		batch := &gpu.Batch{Label: "normalise"}
		v.plain.FeatherNormalise(batch, "normalise", from, 0, count, y, 0, 1)
		if err := v.dev.Submit(ctx, batch); err != nil {
			return err
		}
		if err := take(y, 0, y0); err != nil {
			return err
		}
	}
	return nil
}

// close frees the canvas and removes its spool.
func (v *canvas) close() {
	v.dev.Free(v.made...)
	if v.spool != nil {
		v.spool.Close()
	}
}

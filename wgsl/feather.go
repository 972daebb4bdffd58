package wgsl

import "tessera/gpu"

type featherBlendParams struct {
	First                       gpu.First
	C4, H_tile, W_tile, Columns uint32
	H, W, Y0, X0                uint32
	Tile_at, Canvas_at          uint32
}

type featherNormaliseParams struct {
	First           gpu.First
	P, C4           uint32
	Canvas_at, Y_at uint32
}

// FeatherBlend adds a tile to a canvas, weighted by row and column. A canvas is always
// f32.
type FeatherBlend struct {
	Y0, X0         int      // position of the tile's first pixel on the canvas
	Wy, Wx         gpu.View // f32 weights of its rows and columns; their number crops the tile
	Tile, Canvas   Tensor
	TileT, CanvasT int // the first frame of each
	N              int // frames
}

// FeatherBlend records canvas += wy*wx*tile.
func (s *Set) FeatherBlend(b *gpu.Batch, label string, f FeatherBlend) {
	tile, canvas, n := f.Tile, f.Canvas, f.N
	rows, columns := int(f.Wy.Bytes()/4), int(f.Wx.Bytes()/4)
	if tile.C != canvas.C || rows > tile.H || columns > tile.W || f.Y0+rows > canvas.H || f.X0+columns > canvas.W {
		panic(badNumbers(label, "HxW of a tile of HxW at Y0, X0 of a canvas of HxW, channels", rows, columns, tile.H, tile.W, f.Y0, f.X0, canvas.H, canvas.W, tile.C, canvas.C))
	}
	tile.alone(n)
	in, inAt := tile.Frames(f.TileT, n)
	out, outAt := canvas.Frames(f.CanvasT, n)
	const R = gpu.Read
	h := s.shader(label, "feather_blend", nil)
	p := s.program(h, nil, R, R, R, gpu.ReadWrite)
	pixels := int64(n) * int64(rows*columns)
	b.Dispatch(label, p, h.cover(extent{rows, columns, tile.C4(), n}), featherBlendParams{
		C4: uint32(tile.C4()), H_tile: uint32(tile.H), W_tile: uint32(tile.W), Columns: uint32(columns),
		H: uint32(canvas.H), W: uint32(canvas.W), Y0: uint32(f.Y0), X0: uint32(f.X0), Tile_at: inAt, Canvas_at: outAt,
	}, gpu.Cost{
		FLOPs: 2 * pixels * int64(tile.C),
		Bytes: pixels * int64(tile.C4()) * int64(4*tile.Elem.Bytes()+2*4*canvas.Elem.Bytes()),
	}, in, f.Wy, f.Wx, out)
}

// FeatherNormalise divides a canvas by the sum of its tiles' weights.
type FeatherNormalise struct {
	Canvas, Y   Tensor      // of equal size, f32
	CanvasT, YT int         // the first frame of each
	Count       *gpu.Buffer // sums of weights, f32 [H, W] or more rows
	N           int         // frames
}

// FeatherNormalise records y = canvas/max(count, 1e-6).
func (s *Set) FeatherNormalise(b *gpu.Batch, label string, f FeatherNormalise) {
	canvas, count, y, n := f.Canvas, f.Count, f.Y, f.N
	if canvas.Stride() != y.Stride() || count.Size < int64(4*canvas.H*canvas.W) {
		panic(badNumbers(label, "canvas of HxWxC, count of bytes, y of HxWxC", canvas.H, canvas.W, canvas.C, int(count.Size), y.H, y.W, y.C))
	}
	in, inAt := canvas.Frames(f.CanvasT, n)
	out, outAt := y.Frames(f.YT, n)
	const R = gpu.Read
	h := s.shader(label, "feather_normalise", nil)
	p := s.program(h, nil, R, R, gpu.ReadWrite)
	b.Dispatch(label, p, h.cover(extent{canvas.H, canvas.W, canvas.C4(), n}), featherNormaliseParams{
		P: uint32(canvas.H * canvas.W), C4: uint32(canvas.C4()), Canvas_at: inAt, Y_at: outAt,
	}, gpu.Cost{
		FLOPs: int64(n) * int64(canvas.H*canvas.W*canvas.C),
		Bytes: int64(n)*(canvas.FrameBytes()+y.FrameBytes()) + count.Size,
	}, in, gpu.View{Buffer: count, Size: int64(4 * canvas.H * canvas.W)}, out)
}

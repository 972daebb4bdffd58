package vae

import (
	"context"
	"fmt"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// Preview is one frame of one tile by itself, at row Y and column X of the
// result.
type Preview struct {
	Tile, Frame         int
	Y, X, Height, Width int
	RGBA                []byte // [H, W, 4], valid until Options.Preview returns
}

// previewer takes tiles off the device as pictures.
type previewer struct {
	m      *Model
	ctx    context.Context
	give   func(Preview) error
	tiles  []tiling.Tile
	frames int // of the result, trimmed
	h, w   int
	by     *gpu.Buffer
	rgba   []byte
}

// show gives frame xT of x, which is a tile's part of a frame of the result.
func (p *previewer) show(tile int, x wgsl.Tensor, xT, frame int) error {
	at := p.tiles[tile].Out
	h, w := min(at.Y1, p.h)-at.Y0, min(at.X1, p.w)-at.X0
	if frame >= p.frames || h <= 0 || w <= 0 {
		return nil
	}
	n := 4 * h * w
	if p.by == nil || p.by.Size < int64(n) {
		p.close()
		p.by, p.rgba = &gpu.Buffer{Label: "preview", Size: int64(n)}, make([]byte, n)
		if err := p.m.dev.Alloc(p.by); err != nil {
			return fmt.Errorf("vae: %w", err)
		}
	}
	if err := p.m.readRGBA(p.ctx, x, xT, wgsl.Crop{H: h, W: w}, p.by, p.rgba[:n]); err != nil {
		return err
	}
	return p.give(Preview{Tile: tile, Frame: frame, Y: at.Y0, X: at.X0, Height: h, Width: w, RGBA: p.rgba[:n]})
}

func (p *previewer) close() {
	if p.by != nil {
		p.m.dev.Free(p.by)
	}
}

package engine

import (
	"errors"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// ErrOverflow: a result has a NaN or an infinity in it. Of Plan.Run.
var ErrOverflow = errors.New("the result is not finite")

// outlet takes results off the device, in the form that is wanted.
type outlet struct {
	Output
	kernels Kernels
	size    tiling.Size // of a frame of the result, untrimmed
	rgba    *gpu.Buffer // of RGBA8
	latent  wgsl.Tensor // of Draws: as many frames as the moments
	noise   wgsl.Tensor // of Draws

	floats []float32
	pixels []byte
}

// newOutlet declares what results like `from`, at most, need.
func newOutlet(j *Job, o Output, size tiling.Size, from wgsl.Tensor) *outlet {
	v := &outlet{Output: o, kernels: j.Kernels, size: size}
	switch o.Form {
	case RGBA8:
		v.rgba = &gpu.Buffer{Label: "rgba8", Size: int64(4 * min(from.H, o.Height) * o.Width)}
	case Draws:
		v.latent = wgsl.Tensor{Elem: wgsl.F32, T: from.T, H: from.H, W: from.W, C: from.C / 2}
		v.latent.Buffer = &gpu.Buffer{Label: "latent", Size: v.latent.Bytes()}
		v.noise = v.latent
		v.noise.Buffer = &gpu.Buffer{Label: "noise", Size: v.noise.Bytes()}
	}
	return v
}

func (v *outlet) buffers() []*gpu.Buffer {
	switch v.Form {
	case RGBA8:
		return []*gpu.Buffer{v.rgba}
	case Draws:
		return []*gpu.Buffer{v.latent.Buffer, v.noise.Buffer}
	}
	return nil
}

// take are the steps that give a band with rows y0 on of a frame, which frame t
// of x holds.
func (v *outlet) take(x wgsl.Tensor, t, frame, y0 int, give func(Band) error) []Step {
	rows := min(x.H, v.Height-y0)
	b := Band{Frame: frame, Y: y0, Rows: rows, Last: y0+rows == v.Height, Width: x.W}
	batch := &gpu.Batch{Label: "result"}
	switch v.Form {
	case RGBA8:
		v.kernels.of(x.Elem).ToRGBA8(batch, "to_rgba8", wgsl.ToRGBA8{X: x, T: t, N: 1, Crop: wgsl.Crop{H: rows, W: v.Width}, Y: v.rgba.All()})
		return []Step{&runBatch{batch}, &takeOut{from: gpu.View{Buffer: v.rgba, Size: int64(4 * rows * v.Width)}, to: into(func(data []byte) error {
			if err := opaque(data); err != nil {
				return err
			}
			v.pixels = append(v.pixels[:0], data...)
			b.RGBA = v.pixels
			return give(b)
		})}}
	case Draws:
		z, noise := v.latent, v.noise
		z.T, z.H = x.T, x.H
		noise.T, noise.H = x.T, x.H
		v.kernels.of(x.Elem).Sample(batch, "sample", wgsl.Sample{Moments: x, Noise: noise, Z: z, T: t, N: 1})
		return []Step{&bringIn{frameOf(&noise, t), &values{v.noiseOf(noise, frame, y0)}}, &runBatch{batch}, v.read(z, t, b, give)}
	}
	return []Step{v.read(x, t, b, give)}
}

// read takes frame t of x out as floats.
func (v *outlet) read(x wgsl.Tensor, t int, b Band, give func(Band) error) Step {
	c := 4 * x.C4()
	at := frameOf(&x, t)
	at.Size = int64(b.Rows*x.W*c) * int64(x.Elem.Bytes())
	return &takeOut{from: at, to: into(func(data []byte) error {
		if n := b.Rows * x.W * c; cap(v.floats) < n {
			v.floats = make([]float32, n)
		}
		b.Floats = v.floats[:b.Rows*x.W*c]
		decode(b.Floats, data, x.Elem)
		for _, f := range b.Floats {
			if f-f != 0 {
				return ErrOverflow
			}
		}
		return give(b)
	})}
}

// noiseOf is the noise of rows y0 on of a frame: sample i of the seed's sequence
// belongs to element i of the latent in [L, h, w, C] order.
func (v *outlet) noiseOf(z wgsl.Tensor, frame, y0 int) []float32 {
	c, pad := z.C, wgsl.Pad4(z.C)
	drawn := make([]float32, z.H*z.W*c)
	wgsl.Noise(drawn, v.Seed, uint64((frame*v.size.H+y0)*v.size.W*c))
	padded := make([]float32, z.H*z.W*pad)
	for i := range z.H * z.W {
		copy(padded[i*pad:][:c], drawn[i*c:])
	}
	return padded
}

// opaque checks 8-bit pixels: one that is not finite has no alpha.
func opaque(pixels []byte) error {
	for i := 3; i < len(pixels); i += 4 {
		if pixels[i] == 0 {
			return ErrOverflow
		}
	}
	return nil
}

// preview takes tiles by themselves off the device as pictures.
type preview struct {
	tiles  []tiling.Tile
	to     Output
	limits gpu.Limits
	bytes  *gpu.Buffer
}

// newPreview declares what the largest of the tiles needs.
func newPreview(tiles []tiling.Tile, o Output, limits gpu.Limits) *preview {
	v := &preview{tiles: tiles, to: o, limits: limits, bytes: &gpu.Buffer{Label: "preview"}}
	for i := range tiles {
		h, w := v.size(i)
		v.bytes.Size = max(v.bytes.Size, int64(4*tileRows(tiling.Size{H: h, W: tiles[i].Out.Size().W}, 4, limits)*w))
	}
	return v
}

// size is that of a tile, trimmed; nothing may be left.
func (v *preview) size(tile int) (h, w int) {
	at := v.tiles[tile].Out
	return max(0, min(at.Y1, v.to.Height)-at.Y0), max(0, min(at.X1, v.to.Width)-at.X0)
}

// take are the steps that hand a tile's frame to give.
func (v *preview) take(k Kernels, out TileFrame, give func(Preview) error) []Step {
	h, w := v.size(out.Tile)
	if out.Frame >= v.to.Frames || h*w == 0 {
		return nil
	}
	at := v.tiles[out.Tile].Out
	var steps []Step
	var pixels []byte // of the rows before
	for y0, n := 0, tileRows(tiling.Size{H: h, W: out.X.W}, out.X.C, v.limits); y0 < h; y0 += n {
		rows := min(n, h-y0)
		batch := &gpu.Batch{Label: "preview"}
		k.of(out.X.Elem).ToRGBA8(batch, "to_rgba8", wgsl.ToRGBA8{X: out.X.Part(y0, rows), T: out.T, N: 1, Crop: wgsl.Crop{H: rows, W: w}, Y: v.bytes.All()})
		steps = append(steps, &runBatch{batch}, &takeOut{from: gpu.View{Buffer: v.bytes, Size: int64(4 * rows * w)}, to: into(func(data []byte) error {
			if err := opaque(data); err != nil {
				return err
			}
			if rows < h {
				pixels = append(pixels, data...)
				data = pixels
			}
			if y0+rows < h {
				return nil
			}
			return give(Preview{Tile: out.Tile, Frame: out.Frame, Y: at.Y0, X: at.X0, Height: h, Width: w, RGBA: data})
		})})
	}
	return steps
}

// output is like what a pass over one tile makes, with as many frames as any of
// its slices.
func (w *Pass) output() (most wgsl.Tensor) {
	for _, r := range w.Recorded[0] {
		if r.Out.T > most.T {
			most = r.Out
		}
	}
	return most
}

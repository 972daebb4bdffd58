package engine

import (
	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// Results declares the buffers that download results in the requested form, and returns
// the steps.
type Results struct {
	Output
	kernels Kernels
	size    tiling.Size // of a frame, untrimmed
	rgba    *gpu.Buffer // for RGBA8
	latent  wgsl.Tensor // for Draws: as many frames as the moments
	noise   wgsl.Tensor // for Draws
}

// newResults declares the buffers for results no larger than `from`.
func newResults(j *Job, o Output, size tiling.Size, from wgsl.Tensor) *Results {
	v := &Results{Output: o, kernels: j.Kernels, size: size}
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

func (v *Results) buffers() []*gpu.Buffer {
	switch v.Form {
	case RGBA8:
		return []*gpu.Buffer{v.rgba}
	case Draws:
		return []*gpu.Buffer{v.latent.Buffer, v.noise.Buffer}
	}
	return nil
}

// Take returns the steps that download rows y0 on of a frame, which frame t of x holds;
// nil if they are trimmed.
func (v *Results) Take(x wgsl.Tensor, t, frame, y0 int) []Step {
	if frame >= v.Frames || y0 >= v.Height {
		return nil
	}
	rows := min(x.H, v.Height-y0)
	to := &ResultRows{Form: v.Form, Elem: x.Elem, Frame: frame, Y: y0, Rows: rows, Last: y0+rows == v.Height, Width: x.W, C: x.C}
	batch := &gpu.Batch{Label: "result"}
	switch v.Form {
	case RGBA8:
		v.kernels.of(x.Elem).ToRGBA8(batch, "to_rgba8", wgsl.ToRGBA8{X: x, T: t, N: 1, Crop: wgsl.Crop{H: rows, W: v.Width}, Y: v.rgba.All()})
		return []Step{&RunBatch{batch}, &Download{From: gpu.View{Buffer: v.rgba, Size: int64(4 * rows * v.Width)}, To: to}}
	case Draws:
		z, noise := v.latent, v.noise
		z.T, z.H = x.T, x.H
		noise.T, noise.H = x.T, x.H
		v.kernels.of(x.Elem).Sample(batch, "sample", wgsl.Sample{Moments: x, Noise: noise, Z: z, T: t, N: 1})
		to.Elem, to.C = z.Elem, z.C
		return []Step{&Upload{frameOf(&noise, t), v.noiseOf(noise, frame, y0)}, &RunBatch{batch}, &Download{From: rowsOf(&z, t, rows), To: to}}
	}
	return []Step{&Download{From: rowsOf(&x, t, rows), To: to}}
}

// rowsOf returns a view of the first rows of frame t of a tensor.
func rowsOf(x *wgsl.Tensor, t, rows int) gpu.View {
	at := frameOf(x, t)
	at.Size = int64(rows*x.W*4*x.C4()) * int64(x.Elem.Bytes())
	return at
}

// noiseOf returns the noise of rows y0 on of a frame: sample i of the seed's sequence
// belongs to element i of the latent in [L, h, w, C] order.
func (v *Results) noiseOf(z wgsl.Tensor, frame, y0 int) *Noise {
	return &Noise{Seed: v.Seed, First: uint64((frame*v.size.H + y0) * v.size.W * z.C), H: z.H, W: z.W, C: z.C}
}

// Previews downloads single tiles as pictures.
type Previews struct {
	tiles   []tiling.Tile
	to      Output
	kernels Kernels
	limits  gpu.Limits
	bytes   *gpu.Buffer
}

// newPreviews declares the buffers for the largest tile.
func newPreviews(j *Job, tiles []tiling.Tile, o Output) *Previews {
	v := &Previews{tiles: tiles, to: o, kernels: j.Kernels, limits: j.Adapter.Limits, bytes: &gpu.Buffer{Label: "preview"}}
	for i := range tiles {
		h, w := v.size(i)
		v.bytes.Size = max(v.bytes.Size, int64(4*tileRows(tiling.Size{H: h, W: tiles[i].Out.Size().W}, 4, v.limits)*w))
	}
	return v
}

// size returns the size of a tile after trimming, which may be 0.
func (v *Previews) size(tile int) (h, w int) {
	at := v.tiles[tile].Out
	return max(0, min(at.Y1, v.to.Height)-at.Y0), max(0, min(at.X1, v.to.Width)-at.X0)
}

// Take returns the steps that download a tile's frame; nil if it is trimmed.
func (v *Previews) Take(out TileFrame) []Step {
	h, w := v.size(out.Tile)
	if out.Frame >= v.to.Frames || h*w == 0 {
		return nil
	}
	at := v.tiles[out.Tile].Out
	var steps []Step
	for y0, n := 0, tileRows(tiling.Size{H: h, W: out.X.W}, out.X.C, v.limits); y0 < h; y0 += n {
		rows := min(n, h-y0)
		batch := &gpu.Batch{Label: "preview"}
		v.kernels.of(out.X.Elem).ToRGBA8(batch, "to_rgba8", wgsl.ToRGBA8{X: out.X.Part(y0, rows), T: out.T, N: 1, Crop: wgsl.Crop{H: rows, W: w}, Y: v.bytes.All()})
		to := &PreviewRows{Tile: out.Tile, Frame: out.Frame, Y: at.Y0, X: at.X0, Height: h, Width: w, From: y0, Rows: rows}
		steps = append(steps, &RunBatch{batch}, &Download{From: gpu.View{Buffer: v.bytes, Size: int64(4 * rows * w)}, To: to})
	}
	return steps
}

// Limits of the staging buffers: bytes of all, unless one copy is larger, and their
// number.
const (
	stagingBytes = 64 << 20
	mostStaging  = 64
)

// Stagings declares the staging buffers of a run: one per frame of a slice, if these are
// few, so that all may be on their way while the device computes the next slice.
func Stagings(most int64, frames int) (all []*gpu.Buffer) {
	for range max(1, min(frames, mostStaging, int(stagingBytes/most))) {
		all = append(all, &gpu.Buffer{Label: "staging", Size: most, Readback: true})
	}
	return all
}

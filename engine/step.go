package engine

import (
	"math"

	"github.com/x448/float16"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// Step is one action of a plan, as data: a *RunBatch, a *Upload, a *Download, a *Clear or
// a *Rotate. Package runner executes steps in order. All transfers between device and
// host are steps.
type Step interface{ step() }

// RunBatch submits a batch to the device.
type RunBatch struct{ Batch *gpu.Batch }

// Upload copies bytes to the device.
type Upload struct {
	To   gpu.View
	From Source
}

// Download copies bytes from the device. The sink receives them while the device executes
// the following steps, or at once if Now is set.
type Download struct {
	From gpu.View
	To   Sink
	Now  bool
}

// Clear zeroes bytes of a frame on the host.
type Clear struct{ Of HostRows }

// Rotate moves the N oldest slots behind the others: they now hold the latest frames.
type Rotate struct {
	Of *HostMemory
	N  int
}

func (*RunBatch) step() {}
func (*Upload) step()   {}
func (*Download) step() {}
func (*Clear) step()    {}
func (*Rotate) step()   {}

// Source says where bytes come from: the Clip, Intermediate for a slice, Numbers, a *Noise,
// *Counts, a *Rectangle, *HostRows or a HostWeight.
type Source interface{ source() }

// Clip is the job's input for the current slice and tile.
type Clip struct{}

// Numbers are f32 values.
type Numbers []float32

// Noise is the noise of H x W pixels of C channels, padded to 4: the samples of the
// seed's sequence from number First on.
type Noise struct {
	Seed, First uint64
	H, W, C     int
}

// Counts are the sums of the tiles' weights in rows Y to Y+Rows-1 of a frame.
type Counts struct {
	Tiles   *tiling.Plan
	Y, Rows int
}

// HostWeight is the content of a weight buffer that lives on the host.
type HostWeight struct{ Of *gpu.Buffer }

func (Clip) source()          {}
func (*Intermediate) source() {}
func (Numbers) source()       {}
func (*Noise) source()        {}
func (*Counts) source()       {}
func (*Rectangle) source()    {}
func (*HostRows) source()     {}
func (HostWeight) source()    {}

// Values returns the numbers.
func (n Numbers) Values() []float32 { return n }

// Values draws the noise.
func (n *Noise) Values() []float32 {
	drawn, pad := make([]float32, n.H*n.W*n.C), wgsl.Pad4(n.C)
	wgsl.Noise(drawn, n.Seed, n.First)
	padded := make([]float32, n.H*n.W*pad)
	for i := range n.H * n.W {
		copy(padded[i*pad:][:n.C], drawn[i*n.C:])
	}
	return padded
}

// Values sums the weights.
func (c *Counts) Values() []float32 {
	w := c.Tiles.Out.W
	sums := make([]float32, c.Rows*w)
	for y := range c.Rows {
		c.Tiles.CountRow(c.Y+y, sums[y*w:][:w])
	}
	return sums
}

// Sink says where bytes go: a *Rectangle, a *Crop, *HostRows, *ResultRows, *PreviewRows or
// a *LinearTile.
type Sink interface{ sink() }

// Rectangle is a part of frame T of a spool. The frames have the given size in pixels of
// Pixel bytes.
type Rectangle struct {
	Spool *Spooled
	Pixel int
	Size  tiling.Size
	T     int
	Part  tiling.Rect
}

// Crop is a part of a frame that is Width pixels wide, for a rectangle.
type Crop struct {
	To    *Rectangle
	Width int
	Part  tiling.Rect
}

// ResultRows are rows Y to Y+Rows-1 of a frame of the result: Width pixels of C channels
// padded to 4, or Output.Width pixels of 4 bytes for RGBA8.
type ResultRows struct {
	Form           Form
	Elem           wgsl.Elem
	Frame, Y, Rows int
	Last           bool // last rows of the frame
	Width, C       int
}

// PreviewRows are Rows of a tile's frame in 8 bits, from the tile's row From on. The tile
// covers Height x Width pixels of the result, at row Y and column X.
type PreviewRows struct {
	Tile, Frame         int
	Y, X, Height, Width int
	From, Rows          int
}

// LinearTile is a tile's frame, which fades in as in diffusers.
type LinearTile struct{ Of TileFrame }

func (*Rectangle) sink()   {}
func (*Crop) sink()        {}
func (*HostRows) sink()    {}
func (*ResultRows) sink()  {}
func (*PreviewRows) sink() {}
func (*LinearTile) sink()  {}

// TileFrame is frame T of X: a tile's output for a frame of the result. It is valid until
// the tile's next frame.
type TileFrame struct {
	X           wgsl.Tensor
	T           int
	Tile, Frame int
}

// View returns a view of the frame.
func (f *TileFrame) View() gpu.View { return frameOf(&f.X, f.T) }

// frameOf returns a view of frame t of a tensor.
func frameOf(x *wgsl.Tensor, t int) gpu.View {
	return gpu.View{Buffer: x.Buffer, Offset: x.At(t), Size: x.FrameBytes()}
}

// allOf returns a view of a tensor, which may be smaller than its buffer.
func allOf(x wgsl.Tensor) gpu.View { return gpu.View{Buffer: x.Buffer, Size: x.Bytes()} }

// Encode stores values as elem. It writes bytes one by one, which the compiler merges
// into one store. Calls in this package are not inlined in the page's engine, and these
// are its only loops over pixels.
func Encode(dst []byte, v []float32, elem wgsl.Elem) {
	if elem == wgsl.F32 {
		for i, x := range v {
			b, at := math.Float32bits(x), dst[4*i:][:4]
			at[0], at[1], at[2], at[3] = byte(b), byte(b>>8), byte(b>>16), byte(b>>24)
		}
		return
	}
	for i, x := range v {
		b, at := float16.Fromfloat32(x).Bits(), dst[2*i:][:2]
		at[0], at[1] = byte(b), byte(b>>8)
	}
}

// Decode is the inverse of Encode.
func Decode(dst []float32, b []byte, elem wgsl.Elem) {
	if elem == wgsl.F32 {
		for i := range dst {
			at := b[4*i:][:4]
			dst[i] = math.Float32frombits(uint32(at[0]) | uint32(at[1])<<8 | uint32(at[2])<<16 | uint32(at[3])<<24)
		}
		return
	}
	for i := range dst {
		at := b[2*i:][:2]
		dst[i] = float16.Frombits(uint16(at[0]) | uint16(at[1])<<8).Float32()
	}
}

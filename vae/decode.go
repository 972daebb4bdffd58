package vae

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"github.com/x448/float16"

	"tessera/gpu"
	"tessera/latent"
	"tessera/tiling"
	"tessera/wgsl"
)

// Latent is what is decoded, and what encoding makes.
type Latent = latent.Latent

// DecodeOptions choose what comes out.
type DecodeOptions struct {
	Options
	RGBA8 bool // 8-bit frames, with the model's alpha or opaque; else floats
	// Frames, Height and Width trim the clip to what it was before it was
	// padded for encoding; 0 keeps all.
	Frames, Height, Width int
}

// Frame is one decoded frame. Its pixels are valid until the next one.
type Frame struct {
	Index         int
	Height, Width int
	Pixels        []float32 // [H, W, Config.Channels]
	RGBA          []byte    // [H, W, 4], where RGBA8 was asked for
}

// PlanDecode lays a decode out without running it.
func (m *Model) PlanDecode(frames, height, width int, o Options) (*Layout, error) {
	if frames < 1 || height < 1 || width < 1 {
		return nil, fmt.Errorf("vae: latent of %d frames of %dx%d cells, expected at least one of each", frames, height, width)
	}
	return m.layout("decoder", inputShape{frames, height, width, m.Config.Latent}, o)
}

// Decode runs the decoder and yields the clip's frames in order, each as soon
// as no later tile can touch it. It ends at the first error; leaving the loop
// early stops the work.
func (m *Model) Decode(ctx context.Context, z Latent, o DecodeOptions) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		if err := m.decode(ctx, z, o, yield); err != nil && err != errStopped {
			yield(Frame{}, err)
		}
	}
}

func (m *Model) decode(ctx context.Context, z Latent, o DecodeOptions, yield func(Frame, error) bool) error {
	if z.Channels != m.Config.Latent {
		return fmt.Errorf("vae: latent has %d channels, %s has %d", z.Channels, m.file.Name(), m.Config.Latent)
	}
	l, err := m.PlanDecode(z.Frames, z.Height, z.Width, o.Options)
	if err != nil {
		return err
	}
	if err := m.load(ctx, "decoder", o.Loading); err != nil {
		return err
	}
	s := m.Config.Spatial
	e := &exit{
		m: m, ctx: ctx, yield: yield, rgba: o.RGBA8, c: m.Config.Channels, clamp: !o.Unscaled && m.Config.Family != SeedVR2,
		frames: trimmed(o.Frames, l.out.frames), h: trimmed(o.Height, z.Height*s), w: trimmed(o.Width, z.Width*s),
	}
	if err := e.open(); err != nil {
		return err
	}
	defer e.close()
	feed := func(tile tiling.Tile, at slice, p *plan) error { return m.feedLatent(z, tile, at, p, o.Unscaled) }
	show := func(int, wgsl.Tensor, int, int) error { return nil }
	if o.Preview != nil {
		p := &previewer{m: m, ctx: ctx, give: o.Preview, tiles: l.Tiles.Tiles, frames: e.frames, h: e.h, w: e.w}
		defer p.close()
		show = p.show
	}
	return m.blend(ctx, l, o.Options, feed, show, e.take)
}

// trimmed is n where it is set and no more than all.
func trimmed(n, all int) int {
	if n <= 0 || n > all {
		return all
	}
	return n
}

// feedLatent fills a plan's input with a tile's cells of a slice.
func (m *Model) feedLatent(z Latent, tile tiling.Tile, s slice, p *plan, unscaled bool) error {
	pad := wgsl.Pad4(z.Channels)
	h, w := tile.In.Y1-tile.In.Y0, tile.In.X1-tile.In.X0
	x := make([]float32, s.n*h*w*pad)
	for c := range z.Channels {
		scale, mean := 1.0, 0.0
		if !unscaled {
			scale, mean = m.Config.scale(c)
		}
		for t := range s.n {
			for r := range h {
				row := z.Data[((c*z.Frames+s.t+t)*z.Height+tile.In.Y0+r)*z.Width+tile.In.X0:]
				for q := range w {
					x[((t*h+r)*w+q)*pad+c] = float32(float64(row[q])/scale + mean)
				}
			}
		}
	}
	return m.dev.Write(p.in.Buffer.All(), pack(x, m.Elem))
}

// pack stores values as elem.
func pack(v []float32, elem wgsl.Elem) []byte {
	if elem == wgsl.F32 {
		return bytes32(v)
	}
	half := make([]uint16, len(v))
	for i, x := range v {
		half[i] = float16.Fromfloat32(x).Bits()
	}
	return bytes16(half)
}

// unpack is pack's inverse.
func unpack(dst []float32, b []byte, elem wgsl.Elem) {
	for i := range dst {
		if elem == wgsl.F32 {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		} else {
			dst[i] = float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32()
		}
	}
}

// exit takes frames off the device and yields them.
type exit struct {
	m      *Model
	ctx    context.Context
	yield  func(Frame, error) bool
	rgba   bool
	clamp  bool // floats to [-1, 1]
	c      int  // channels of a pixel
	frames int  // to yield
	h, w   int  // pixels of a frame, cropped
	frame  Frame
	bytes  *gpu.Buffer // 8-bit rows
	row    []byte      // scratch
}

func (e *exit) open() error {
	e.frame = Frame{Height: e.h, Width: e.w}
	if e.rgba {
		e.frame.RGBA = make([]byte, 4*e.h*e.w)
	}
	if !e.rgba || e.c == 4 { // the device makes opaque pixels only
		e.frame.Pixels = make([]float32, e.c*e.h*e.w)
		return nil
	}
	e.bytes = &gpu.Buffer{Label: "rgba8", Size: int64(4 * e.h * e.w)}
	if err := e.m.dev.Alloc(e.bytes); err != nil {
		return fmt.Errorf("vae: %w", err)
	}
	return nil
}

func (e *exit) close() {
	if e.bytes != nil {
		e.m.dev.Free(e.bytes)
	}
}

// take reads frame xT of x, rows from y0 on, and yields a complete frame.
func (e *exit) take(x wgsl.Tensor, xT, frame, y0 int) error {
	if frame >= e.frames {
		return nil
	}
	rows := min(x.H, e.h-y0)
	if rows > 0 {
		read := e.readFloats
		if e.bytes != nil {
			read = e.readRGBA
		}
		if err := read(x, xT, y0, rows); err != nil {
			return err
		}
	}
	if y0+x.H < e.h {
		return nil
	}
	e.frame.Index = frame
	if !e.yield(e.frame, nil) {
		return errStopped
	}
	return nil
}

func (e *exit) readRGBA(x wgsl.Tensor, xT, y0, rows int) error {
	return e.m.readRGBA(e.ctx, x, xT, wgsl.Crop{H: rows, W: e.w}, e.bytes, e.frame.RGBA[4*y0*e.w:][:4*rows*e.w])
}

// readRGBA takes a part of frame t of x off the device as 8-bit pixels, by way
// of a buffer.
func (m *Model) readRGBA(ctx context.Context, x wgsl.Tensor, t int, c wgsl.Crop, by *gpu.Buffer, pixels []byte) error {
	batch := &gpu.Batch{Label: "to rgba8"}
	m.kernels(x.Elem).ToRGBA8(batch, "to_rgba8", x, t, 1, c, by.All())
	if err := m.dev.Submit(ctx, batch); err != nil {
		return err
	}
	if err := m.dev.Read(ctx, pixels, by.All()); err != nil {
		return err
	}
	for i := 3; i < len(pixels); i += 4 {
		if pixels[i] == 0 {
			return m.overflow()
		}
	}
	return nil
}

func (e *exit) readFloats(x wgsl.Tensor, xT, y0, rows int) error {
	v, err := e.m.read(e.ctx, x, xT, &e.row)
	if err != nil {
		return err
	}
	for r := range rows {
		for q := range e.w {
			at := (y0+r)*e.w + q
			pixel := e.frame.Pixels[e.c*at:][:e.c]
			copy(pixel, v[(r*x.W+q)*4:])
			var sum float32
			for i, p := range pixel {
				sum += p
				if e.clamp || e.rgba {
					pixel[i] = min(max(p, -1), 1)
				}
			}
			if sum-sum != 0 {
				return e.m.overflow()
			}
			if e.rgba {
				for i, p := range pixel {
					e.frame.RGBA[4*at+i] = byte((p+1)*127.5 + 0.5)
				}
			}
		}
	}
	return nil
}

// overflow says that a result is not finite.
func (m *Model) overflow() error {
	if m.Elem == wgsl.F32 {
		return fmt.Errorf("vae: %w", ErrOverflow)
	}
	return fmt.Errorf("vae: %w: activations left the range of f16; precision f32 has room", ErrOverflow)
}

// read takes frame t of x off the device, [H, W, C padded]. scratch is kept for
// the next call.
func (m *Model) read(ctx context.Context, x wgsl.Tensor, t int, scratch *[]byte) ([]float32, error) {
	if n := int(x.FrameBytes()); cap(*scratch) < n {
		*scratch = make([]byte, n)
	}
	raw := (*scratch)[:x.FrameBytes()]
	if err := m.dev.Read(ctx, raw, gpu.View{Buffer: x.Buffer, Offset: int64(t) * x.FrameBytes()}); err != nil {
		return nil, err
	}
	v := make([]float32, 4*x.Stride())
	unpack(v, raw, x.Elem)
	return v, nil
}

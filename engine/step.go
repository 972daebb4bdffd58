package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/x448/float16"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// Step is one thing that a plan does: run a batch, bring bytes in, take bytes
// out. What moves between device and host moves in steps, so that any other
// thing that is to live outside of the device is a step more in the list.
type Step interface {
	do(ctx context.Context, r *run) error
}

// runBatch has the device work.
type runBatch struct{ batch *gpu.Batch }

func (s *runBatch) do(ctx context.Context, r *run) error { return r.dev.Submit(ctx, s.batch) }

// bound adds the buffers that commands bind.
func (s *runBatch) bound(to map[*gpu.Buffer]bool) {
	for i := range s.batch.Commands {
		for _, v := range s.batch.Commands[i].Bindings {
			to[v.Buffer] = true
		}
	}
}

// bringIn moves bytes to the device.
type bringIn struct {
	to   gpu.View
	from source
}

func (s *bringIn) do(ctx context.Context, r *run) error {
	if of, ok := s.from.(*rectangle); ok {
		if err := r.written(ctx, of); err != nil {
			return err
		}
	}
	data := r.bytes(s.to.Bytes())
	if err := s.from.get(r, data); err != nil {
		return cmp.Or(r.settle(ctx, 0), err) // what is done comes first
	}
	return r.dev.Write(s.to, data)
}

// takeOut moves bytes off the device. They come to the sink while the device
// does what follows; at once where that is wanted, or there is no room.
type takeOut struct {
	from gpu.View
	to   sink
	now  bool
}

func (s *takeOut) do(ctx context.Context, r *run) error {
	if !s.now && len(r.staging) > 0 && s.from.Bytes() <= r.staging[0].Size {
		return r.leave(ctx, s)
	}
	if err := r.settle(ctx, 0); err != nil {
		return err
	}
	data := r.bytes(s.from.Bytes())
	if err := r.dev.Read(ctx, data, s.from); err != nil {
		return err
	}
	return s.to.put(r, data)
}

// source is where bytes come from; data is all zeros.
type source interface {
	get(r *run, data []byte) error
}

// sink is where bytes go. data is the sink's until put returns.
type sink interface {
	put(r *run, data []byte) error
}

// feed is the job's input, for the slice that is being worked on.
type feed struct{}

func (*feed) get(r *run, data []byte) error {
	w, s := r.at.pass, r.at.slice
	in := w.Tiles[r.at.tile].In
	elem := w.recordings.set.Elem
	v := make([]float32, len(data)/elem.Bytes())
	if err := r.input.Fill(v, s.T, s.N, in); err != nil {
		return err
	}
	encode(data, v, elem)
	return nil
}

// values are a source of floats.
type values struct{ v []float32 }

func (v *values) get(_ *run, data []byte) error {
	encode(data, v.v, wgsl.F32)
	return nil
}

// into is a sink that is a function.
type into func(data []byte) error

func (f into) put(_ *run, data []byte) error { return f(data) }

// rectangle is a part of frame t of a spool of frames of a size, whose pixels
// have so many bytes.
type rectangle struct {
	spool interface {
		io.ReaderAt
		io.WriterAt
	}
	pixel int
	size  tiling.Size
	t     int
	part  tiling.Rect
}

func (r *rectangle) get(_ *run, data []byte) error {
	return r.rows(data, func(b []byte, at int64) error {
		if n, err := r.spool.ReadAt(b, at); n < len(b) && err != nil && err != io.EOF { // nothing was written there yet
			return err
		}
		return nil
	})
}

func (r *rectangle) put(_ *run, data []byte) error {
	return r.rows(data, func(b []byte, at int64) error {
		n, err := r.spool.WriteAt(b, at)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite
		}
		return err
	})
}

// rows moves the rectangle a row at a time.
func (r *rectangle) rows(data []byte, move func(b []byte, at int64) error) error {
	row := (r.part.X1 - r.part.X0) * r.pixel
	for y := r.part.Y0; y < r.part.Y1; y++ {
		at := (int64(r.t)*int64(r.size.H)+int64(y))*int64(r.size.W) + int64(r.part.X0)
		if err := move(data[(y-r.part.Y0)*row:][:row], at*int64(r.pixel)); err != nil {
			return fmt.Errorf("engine: spool: %w", err)
		}
	}
	return nil
}

// frameOf views frame t of a tensor.
func frameOf(x *wgsl.Tensor, t int) gpu.View {
	return gpu.View{Buffer: x.Buffer, Offset: x.At(t), Size: x.FrameBytes()}
}

// allOf views a tensor, which may be smaller than its buffer.
func allOf(x wgsl.Tensor) gpu.View { return gpu.View{Buffer: x.Buffer, Size: x.Bytes()} }

// encode stores values as elem. Bytes are put one by one, which the compiler
// makes one store of: in the page's engine calls in this package are not inlined,
// and these are its only loops over pixels.
func encode(dst []byte, v []float32, elem wgsl.Elem) {
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

// decode is encode's inverse.
func decode(dst []float32, b []byte, elem wgsl.Elem) {
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

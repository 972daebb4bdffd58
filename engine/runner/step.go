package runner

import (
	"cmp"
	"context"
	"fmt"

	"tessera/engine"
	"tessera/gpu"
	"tessera/wgsl"
)

// do executes steps in order.
func (r *run) do(ctx context.Context, steps ...engine.Step) error {
	for _, s := range steps {
		if err := r.step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// step executes one step.
func (r *run) step(ctx context.Context, s engine.Step) error {
	switch s := s.(type) {
	case *engine.RunBatch:
		return r.dev.Submit(ctx, s.Batch)
	case *engine.Upload:
		return r.upload(ctx, s)
	case *engine.Download:
		return r.download(ctx, s.From, r.sink(s.To), s.Now)
	case *engine.Clear:
		return r.clearHost(ctx, &s.Of)
	case *engine.Rotate:
		r.host.rotate(s.Of, s.N)
		return nil
	}
	panic(fmt.Sprintf("runner: step %T", s))
}

// upload copies bytes to the device, after the readbacks to their source have arrived.
func (r *run) upload(ctx context.Context, s *engine.Upload) error {
	switch from := s.From.(type) {
	case engine.HostWeight:
		return r.dev.Write(s.To, r.on.host[from.Of])
	case *engine.HostRows:
		data, err := r.hostBytes(ctx, from)
		if err != nil {
			return err
		}
		return r.dev.Write(s.To, data)
	case *engine.Rectangle:
		if err := r.settleSpool(ctx, from); err != nil {
			return err
		}
	}
	data := r.bytes(s.To.Bytes())
	if err := r.get(s.From, data); err != nil {
		return cmp.Or(r.settle(ctx, 0), err) // an earlier error comes first
	}
	return r.dev.Write(s.To, data)
}

// get fills data, which is all zeros, from a source.
func (r *run) get(from engine.Source, data []byte) error {
	switch from := from.(type) {
	case engine.Clip:
		return r.feed(data)
	case *engine.Intermediate:
		return r.between(from, data)
	case *engine.Rectangle:
		return read(r.spools[from.Spool], from, data)
	case interface{ Values() []float32 }:
		engine.Encode(data, from.Values(), wgsl.F32)
		return nil
	}
	panic(fmt.Sprintf("runner: source %T", from))
}

// feed reads the job's input for the current slice.
func (r *run) feed(data []byte) error {
	w, s := r.at.pass, r.at.slice
	elem := w.At(r.at.tile, s).In.Elem
	v := make([]float32, len(data)/elem.Bytes())
	if err := r.input.Fill(v, s.T, s.N, w.Tiles[r.at.tile].In); err != nil {
		return err
	}
	engine.Encode(data, v, elem)
	return nil
}

// between reads the slice's part of the first pass's frames.
func (r *run) between(b *engine.Intermediate, data []byte) error {
	part := r.at.pass.Tiles[r.at.tile].In
	frame := part.Size().H * part.Size().W * b.Pixel
	for t := range r.at.slice.N {
		if err := read(r.spools[b.Spool], b.Rectangle(r.at.slice.T+t, part), data[t*frame:][:frame]); err != nil {
			return err
		}
	}
	return nil
}

// download copies bytes from the device. The sink receives them while the device executes
// the following steps, or at once if now is set or the staging buffers are too small.
func (r *run) download(ctx context.Context, from gpu.View, to sink, now bool) error {
	if !now && len(r.staging) > 0 && from.Bytes() <= r.staging[0].Size {
		return r.readback(ctx, from, to)
	}
	if err := r.settle(ctx, 0); err != nil {
		return err
	}
	data := r.bytes(from.Bytes())
	if err := r.dev.Read(ctx, data, from); err != nil {
		return err
	}
	return to.put(data)
}

// bytes returns scratch of n zeros.
func (r *run) bytes(n int64) []byte {
	if int64(cap(r.scratch)) < n {
		r.scratch = make([]byte, n)
		return r.scratch
	}
	r.scratch = r.scratch[:n]
	clear(r.scratch)
	return r.scratch
}

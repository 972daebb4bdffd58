//go:build js

package browser

import (
	"context"
	"encoding/binary"
	"fmt"
	"syscall/js"

	"tessera/gpu/internal/driver"
)

// fence completes when a submission is done.
type fence struct {
	label string
	scope scope // of recording and submitting; nil once reported
	done  *promise
}

// Submit records the commands into one command buffer and submits it. Wait returns the
// browser's errors.
func (d *device) Submit(label string, commands []driver.Command, w driver.Stopwatch) (driver.Fence, error) {
	with, _ := w.(*stopwatch)
	s, err := d.submit(label, commands, with)
	if err != nil {
		return nil, err
	}
	return &fence{label: label, scope: s, done: watch(d.bound.onSubmittedWorkDone.Invoke())}, nil
}

func (d *device) submit(label string, commands []driver.Command, w *stopwatch) (scope, error) {
	if err := d.failure(); err != nil {
		return nil, err
	}
	s, err := d.scoped(func() {
		e := &encoder{bound: &d.bound, offsets: d.offsets(commands)}
		e.handle = d.bound.createCommandEncoder.Invoke(map[string]any{"label": label})
		if w != nil {
			e.queries = w.set
		}
		driver.Record(e, commands, w != nil)
		if w != nil {
			w.resolve(e.handle, len(commands))
		}
		d.bound.submit.Invoke([]any{d.bound.finish.Invoke(e.handle)})
	}, "validation")
	d.staging.Submitted()
	if err != nil {
		return nil, fmt.Errorf("browser: submit %s: %w", label, err)
	}
	return s, nil
}

// encoder is a GPUCommandEncoder with its open pass.
type encoder struct {
	bound        *methods
	handle, pass js.Value
	pipeline     *pipeline // set in the pass
	offsets      js.Value
	queries      js.Value // GPUQuerySet of the stopwatch
}

func (e *encoder) BeginPass(begin, end int) {
	if begin == driver.NoQuery && end == driver.NoQuery {
		e.pass = e.bound.beginComputePass.Invoke(e.handle)
		return
	}
	writes := map[string]any{"querySet": e.queries}
	if begin != driver.NoQuery {
		writes["beginningOfPassWriteIndex"] = begin
	}
	if end != driver.NoQuery {
		writes["endOfPassWriteIndex"] = end
	}
	e.pass = e.bound.beginComputePass.Invoke(e.handle, map[string]any{"timestampWrites": writes})
}

func (e *encoder) EndPass() {
	e.bound.end.Invoke(e.pass)
	e.pipeline = nil
}

func (e *encoder) Dispatch(i int, c *driver.Command) {
	if p := c.Pipeline.(*pipeline); p != e.pipeline {
		e.bound.setPipeline.Invoke(e.pass, p.handle)
		e.pipeline = p
	}
	e.bound.setBindGroup.Invoke(e.pass, 0, c.Group.(*bindGroup).handle, e.offsets, i, 1)
	e.bound.dispatchWorkgroups.Invoke(e.pass, c.Groups[0], c.Groups[1], c.Groups[2])
}

func (e *encoder) Move(c *driver.Command) {
	dst := c.Dst.Buffer.(*buffer).handle
	if c.Src.Buffer == nil {
		e.bound.clearBuffer.Invoke(e.handle, dst, c.Dst.Offset, c.Dst.Size)
		return
	}
	e.bound.copyBufferToBuffer.Invoke(e.handle, c.Src.Buffer.(*buffer).handle, c.Src.Offset, dst, c.Dst.Offset, c.Dst.Size)
}

// offsets returns a Uint32Array with the dynamic offset of each command.
func (d *device) offsets(commands []driver.Command) js.Value {
	raw := make([]byte, 0, 4*len(commands))
	for i := range commands {
		raw = binary.LittleEndian.AppendUint32(raw, commands[i].UniformOffset)
	}
	d.scratch.copy(raw)
	return d.scratch.words
}

// Wait blocks until the submission is done. It returns an error of its commands once.
func (d *device) Wait(ctx context.Context, submitted driver.Fence) error {
	f := submitted.(*fence)
	if err := d.failure(); err != nil {
		return err
	}
	if err := d.wait(ctx, f.done); err != nil {
		return err
	}
	s := f.scope
	f.scope = nil
	if err := d.first(ctx, s); err != nil {
		return fmt.Errorf("browser: submit %s: %w", f.label, err)
	}
	return d.failure()
}

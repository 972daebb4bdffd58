//go:build !js

package dawn

import (
	"context"
	"fmt"
	"unsafe"

	"tessera/gpu/internal/driver"
)

// Submit records the commands into one command buffer and submits it.
func (d *device) Submit(label string, commands []driver.Command, w driver.Stopwatch) (driver.Fence, error) {
	watch, _ := w.(*stopwatch)
	if err := d.submit(label, commands, watch); err != nil {
		return nil, err
	}
	return d.fence(), nil
}

func (d *device) submit(label string, commands []driver.Command, w *stopwatch) error {
	if err := d.failure(); err != nil {
		return err
	}
	d.scratch.descriptor.label = view(label)
	e := &d.scratch.encoder
	*e = encoder{device: d, handle: call(d.DeviceCreateCommandEncoder, d.handle, uintptr(unsafe.Pointer(&d.scratch.descriptor)))}
	if w != nil {
		e.queries = w.set
	}
	driver.Record(e, commands, w != nil)
	if w != nil {
		w.resolve(e.handle, len(commands))
	}
	d.scratch.command = call(d.CommandEncoderFinish, e.handle, 0)
	call(d.QueueSubmit, d.queue, 1, uintptr(unsafe.Pointer(&d.scratch.command)))
	call(d.CommandBufferRelease, d.scratch.command)
	call(d.CommandEncoderRelease, e.handle)
	d.staging.Submitted()
	if err := d.poll(); err != nil {
		return fmt.Errorf("dawn: submit %s: %w", label, err)
	}
	return nil
}

// encoder is a WGPUCommandEncoder with its open pass.
type encoder struct {
	*device
	handle, pass uintptr
	pipeline     uintptr // set in the pass
	queries      uintptr // WGPUQuerySet of the stopwatch
}

func (e *encoder) BeginPass(begin, end int) {
	if begin == driver.NoQuery && end == driver.NoQuery {
		e.pass = call(e.CommandEncoderBeginComputePass, e.handle, 0)
		return
	}
	e.pass = call(e.CommandEncoderBeginComputePass, e.handle, uintptr(unsafe.Pointer(&computePassDescriptor{
		timestampWrites: unsafe.Pointer(&passTimestampWrites{
			querySet: e.queries, beginningOfPassWriteIndex: query(begin), endOfPassWriteIndex: query(end),
		}),
	})))
}

// query converts a query number for C.
func query(n int) uint32 {
	if n == driver.NoQuery {
		return queryUndefined
	}
	return uint32(n)
}

func (e *encoder) EndPass() {
	call(e.ComputePassEncoderEnd, e.pass)
	call(e.ComputePassEncoderRelease, e.pass)
	e.pass, e.pipeline = 0, 0
}

func (e *encoder) Dispatch(_ int, c *driver.Command) {
	if p := c.Pipeline.(*pipeline).handle; p != e.pipeline {
		call(e.ComputePassEncoderSetPipeline, e.pass, p)
		e.pipeline = p
	}
	e.scratch.offset = c.UniformOffset
	call(e.ComputePassEncoderSetBindGroup, e.pass, 0, c.Group.(*bindGroup).handle, 1, uintptr(unsafe.Pointer(&e.scratch.offset)))
	call(e.ComputePassEncoderDispatchWorkgroups, e.pass, uintptr(c.Groups[0]), uintptr(c.Groups[1]), uintptr(c.Groups[2]))
}

func (e *encoder) Move(c *driver.Command) {
	dst := c.Dst.Buffer.(*buffer).handle
	if c.Src.Buffer == nil {
		call(e.CommandEncoderClearBuffer, e.handle, dst, uintptr(c.Dst.Offset), uintptr(c.Dst.Size))
		return
	}
	call(e.CommandEncoderCopyBufferToBuffer, e.handle,
		c.Src.Buffer.(*buffer).handle, uintptr(c.Src.Offset), dst, uintptr(c.Dst.Offset), uintptr(c.Dst.Size))
}

// fence completes when everything submitted so far is done.
func (d *device) fence() *future {
	return d.request(d.callbacks.message, func(info *callbackInfo) uintptr {
		return callInfo(d.QueueOnSubmittedWorkDone, info, d.queue)
	})
}

// Wait blocks until the submission is done.
func (d *device) Wait(ctx context.Context, fence driver.Fence) error {
	f := fence.(*future)
	if err := d.failure(); err != nil {
		return err
	}
	if err := d.wait(ctx, f, d.poll); err != nil {
		return err
	}
	if err := d.poll(); err != nil {
		return err
	}
	if f.reply.status != statusSuccess {
		return fmt.Errorf("dawn: the queue failed with status %d: %s", f.reply.status, oneLine(f.reply.message))
	}
	return nil
}

//go:build !js

package dawn

import (
	"context"
	"fmt"
	"unsafe"

	"tessera/gpu/internal/driver"
)

// Submit records the commands into one command buffer and submits it.
// Consecutive dispatches share a compute pass; WebGPU orders them by the
// buffers they write.
func (d *device) Submit(label string, commands []driver.Command) (driver.Fence, error) {
	if err := d.submit(label, commands); err != nil {
		return nil, err
	}
	return d.fence(), nil
}

func (d *device) submit(label string, commands []driver.Command) error {
	if err := d.failure(); err != nil {
		return err
	}
	d.scratch.encoder.label = view(label)
	encoder := call(d.DeviceCreateCommandEncoder, d.handle, uintptr(unsafe.Pointer(&d.scratch.encoder)))
	d.record(encoder, commands)
	d.scratch.command = call(d.CommandEncoderFinish, encoder, 0)
	call(d.QueueSubmit, d.queue, 1, uintptr(unsafe.Pointer(&d.scratch.command)))
	call(d.CommandBufferRelease, d.scratch.command)
	call(d.CommandEncoderRelease, encoder)
	d.unsent = 0
	if err := d.poll(); err != nil {
		return fmt.Errorf("dawn: submit %s: %w", label, err)
	}
	return nil
}

func (d *device) record(encoder uintptr, commands []driver.Command) {
	var pass, pipelineSet uintptr
	end := func() {
		if pass != 0 {
			call(d.ComputePassEncoderEnd, pass)
			call(d.ComputePassEncoderRelease, pass)
			pass, pipelineSet = 0, 0
		}
	}
	for i := range commands {
		c := &commands[i]
		if c.Pipeline == nil {
			end()
			dst := c.Dst.Buffer.(*buffer).handle
			if c.Src.Buffer == nil {
				call(d.CommandEncoderClearBuffer, encoder, dst, uintptr(c.Dst.Offset), uintptr(c.Dst.Size))
				continue
			}
			call(d.CommandEncoderCopyBufferToBuffer, encoder,
				c.Src.Buffer.(*buffer).handle, uintptr(c.Src.Offset), dst, uintptr(c.Dst.Offset), uintptr(c.Dst.Size))
			continue
		}
		if pass == 0 {
			pass = call(d.CommandEncoderBeginComputePass, encoder, 0)
		}
		if p := c.Pipeline.(*pipeline).handle; p != pipelineSet {
			call(d.ComputePassEncoderSetPipeline, pass, p)
			pipelineSet = p
		}
		d.scratch.offset = c.UniformOffset
		call(d.ComputePassEncoderSetBindGroup, pass, 0, c.Group.(*bindGroup).handle, 1, uintptr(unsafe.Pointer(&d.scratch.offset)))
		call(d.ComputePassEncoderDispatchWorkgroups, pass, uintptr(c.Groups[0]), uintptr(c.Groups[1]), uintptr(c.Groups[2]))
	}
	end()
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

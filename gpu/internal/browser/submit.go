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

// Submit records the commands into one command buffer and submits it.
// Consecutive dispatches share a compute pass; WebGPU orders them by the
// buffers they write. What the browser objects to, Wait tells.
func (d *device) Submit(label string, commands []driver.Command) (driver.Fence, error) {
	s, err := d.submit(label, commands)
	if err != nil {
		return nil, err
	}
	return &fence{label: label, scope: s, done: watch(d.bound.onSubmittedWorkDone.Invoke())}, nil
}

func (d *device) submit(label string, commands []driver.Command) (scope, error) {
	if err := d.failure(); err != nil {
		return nil, err
	}
	s, err := d.scoped(func() {
		encoder := d.bound.createCommandEncoder.Invoke(map[string]any{"label": label})
		d.record(encoder, commands)
		d.bound.submit.Invoke([]any{d.bound.finish.Invoke(encoder)})
	}, "validation")
	d.unsent = 0
	if err != nil {
		return nil, fmt.Errorf("browser: submit %s: %w", label, err)
	}
	return s, nil
}

func (d *device) record(encoder js.Value, commands []driver.Command) {
	offsets := d.offsets(commands)
	var pass js.Value
	var pipelineSet *pipeline
	end := func() {
		if pipelineSet != nil {
			d.bound.end.Invoke(pass)
			pipelineSet = nil
		}
	}
	for i := range commands {
		c := &commands[i]
		if c.Pipeline == nil {
			end()
			dst := c.Dst.Buffer.(*buffer).handle
			if c.Src.Buffer == nil {
				d.bound.clearBuffer.Invoke(encoder, dst, c.Dst.Offset, c.Dst.Size)
				continue
			}
			d.bound.copyBufferToBuffer.Invoke(encoder, c.Src.Buffer.(*buffer).handle, c.Src.Offset, dst, c.Dst.Offset, c.Dst.Size)
			continue
		}
		if pipelineSet == nil {
			pass = d.bound.beginComputePass.Invoke(encoder)
		}
		if p := c.Pipeline.(*pipeline); p != pipelineSet {
			d.bound.setPipeline.Invoke(pass, p.handle)
			pipelineSet = p
		}
		d.bound.setBindGroup.Invoke(pass, 0, c.Group.(*bindGroup).handle, offsets, i, 1)
		d.bound.dispatchWorkgroups.Invoke(pass, c.Groups[0], c.Groups[1], c.Groups[2])
	}
	end()
}

// offsets is a Uint32Array with the dynamic offset of each command.
func (d *device) offsets(commands []driver.Command) js.Value {
	raw := make([]byte, 0, 4*len(commands))
	for i := range commands {
		raw = binary.LittleEndian.AppendUint32(raw, commands[i].UniformOffset)
	}
	d.scratch.copy(raw)
	return d.scratch.words
}

// Wait blocks until the submission is done. An error of its commands comes
// once.
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

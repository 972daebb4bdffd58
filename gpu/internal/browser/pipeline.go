//go:build js

package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall/js"

	"tessera/gpu/internal/driver"
)

// pipeline is a GPUComputePipeline with the layout of its bind group 0.
type pipeline struct {
	label       string
	handle      js.Value
	layout      js.Value // GPUBindGroupLayout
	uniformSize int64
	storage     []driver.Access
}

// Release leaves the pipeline to the garbage collector, the only way to free one.
func (p *pipeline) Release() { p.handle, p.layout = js.Undefined(), js.Undefined() }

// bindGroup is a GPUBindGroup.
type bindGroup struct{ handle js.Value }

// Release leaves the bind group to the garbage collector.
func (g *bindGroup) Release() { g.handle = js.Undefined() }

// NewPipeline compiles a shader.
func (d *device) NewPipeline(p driver.PipelineDescriptor) driver.Compiling {
	made := &pipeline{label: p.Label, uniformSize: p.UniformSize, storage: slices.Clone(p.Storage)}
	compiled, err := d.beginPipeline(made, p)
	return func(ctx context.Context) (driver.Pipeline, error) {
		if err == nil {
			if err = d.settled(ctx, compiled); err == nil {
				made.handle, err = compiled.value, compiled.err
			}
		}
		if err != nil && exceeds(err.Error()) {
			err = fmt.Errorf("%w: %w", driver.ErrTooLarge, err)
		}
		if err != nil {
			return nil, fmt.Errorf("browser: %s: %w", p.Label, err)
		}
		return made, nil
	}
}

// beginPipeline checks the shader and starts to compile it.
func (d *device) beginPipeline(made *pipeline, p driver.PipelineDescriptor) (*promise, error) {
	if n, most := len(p.Storage), d.info.Limits.MaxStorageBuffers; n > most {
		return nil, fmt.Errorf("%w: %d storage bindings, device allows %d", driver.ErrTooLarge, n, most)
	}
	var notes, compiled *promise
	err := d.guarded(func() {
		module := d.bound.createShaderModule.Invoke(map[string]any{"label": p.Label, "code": p.Source})
		notes = watch(module.Call("getCompilationInfo"))
		made.layout = d.bindGroupLayout(p)
		compiled = watch(d.bound.createComputePipelineAsync.Invoke(d.computePipeline(p, module, made.layout)))
	})
	if notes != nil {
		if compileErr := d.compileError(p.Source, notes); compileErr != nil {
			err = compileErr
		}
	}
	return compiled, err
}

// exceeds reports whether a pipeline was refused for its size. The browser says so only
// in the message.
func exceeds(message string) bool {
	return strings.Contains(message, "maximum allowed") || strings.Contains(message, "exceeds")
}

// compileError returns the compiler's messages that are errors, if there are any.
func (d *device) compileError(source string, info *promise) error {
	if err := d.wait(context.Background(), info); err != nil {
		return nil // the error scope has it
	}
	var notes []driver.Note
	messages := info.value.Get("messages")
	for i := range messages.Length() {
		if m := messages.Index(i); text(m, "type") == "error" {
			notes = append(notes, driver.Note{Line: int(number(m, "lineNum")), Column: int(number(m, "linePos")), Text: text(m, "message")})
		}
	}
	if len(notes) == 0 {
		return nil
	}
	return driver.ShaderError(source, notes)
}

// bindGroupLayout declares binding 0 as a uniform with a dynamic offset, and binding
// i+1 as storage buffer i.
func (d *device) bindGroupLayout(p driver.PipelineDescriptor) js.Value {
	const stageCompute = 4
	entries := []any{map[string]any{
		"binding": 0, "visibility": stageCompute,
		"buffer": map[string]any{"type": "uniform", "hasDynamicOffset": true, "minBindingSize": p.UniformSize},
	}}
	for i, access := range p.Storage {
		kind := "read-only-storage"
		if access == driver.ReadWrite {
			kind = "storage"
		}
		entries = append(entries, map[string]any{
			"binding": i + 1, "visibility": stageCompute, "buffer": map[string]any{"type": kind},
		})
	}
	return d.bound.createBindGroupLayout.Invoke(map[string]any{"label": p.Label, "entries": entries})
}

// computePipeline returns a GPUComputePipelineDescriptor.
func (d *device) computePipeline(p driver.PipelineDescriptor, module, group js.Value) map[string]any {
	constants := map[string]any{}
	for name, value := range p.Constants {
		constants[name] = value
	}
	return map[string]any{
		"label": p.Label,
		"layout": d.bound.createPipelineLayout.Invoke(map[string]any{
			"label": p.Label, "bindGroupLayouts": []any{group},
		}),
		"compute": map[string]any{"module": module, "entryPoint": "main", "constants": constants},
	}
}

// NewBindGroup binds uniform at 0 and storage from 1. It checks the bindings in Go,
// because asking the browser takes a millisecond for each of thousands of bind groups.
// Other errors of the browser arrive with the submission.
func (d *device) NewBindGroup(label string, to driver.Pipeline, uniform driver.Buffer, storage []driver.Binding) (driver.BindGroup, error) {
	p := to.(*pipeline)
	if err := d.failure(); err != nil {
		return nil, err
	}
	if len(storage) != len(p.storage) {
		return nil, fmt.Errorf("browser: %s: %d storage bindings, %s declares %d", label, len(storage), p.label, len(p.storage))
	}
	entries := make([]any, 1, 1+len(storage))
	entries[0] = map[string]any{"binding": 0, "resource": map[string]any{"buffer": uniform.(*buffer).handle, "size": p.uniformSize}}
	for i, s := range storage {
		if err := d.checkBinding(s); err != nil {
			return nil, fmt.Errorf("browser: %s: binding %d: %w", label, i+1, err)
		}
		entries = append(entries, map[string]any{"binding": i + 1, "resource": map[string]any{
			"buffer": s.Buffer.(*buffer).handle, "offset": s.Offset, "size": s.Size,
		}})
	}
	g := &bindGroup{}
	err := try(func() {
		g.handle = d.bound.createBindGroup.Invoke(map[string]any{"label": label, "layout": p.layout, "entries": entries})
	})
	if err != nil {
		return nil, fmt.Errorf("browser: %s: %w", label, err)
	}
	return g, nil
}

func (d *device) checkBinding(s driver.Binding) error {
	b, l := s.Buffer.(*buffer), d.info.Limits
	switch {
	case !b.handle.Truthy():
		return errors.New(b.label + " was released")
	case s.Size > l.MaxBinding:
		return fmt.Errorf("%w: %s has %d bytes, device allows %d", driver.ErrTooLarge, b.label, s.Size, l.MaxBinding)
	case s.Offset < 0 || s.Offset%l.StorageAlignment != 0:
		return fmt.Errorf("%s at offset %d: want a multiple of %d", b.label, s.Offset, l.StorageAlignment)
	case s.Size <= 0 || s.Size%4 != 0 || s.Offset+s.Size > b.size:
		return fmt.Errorf("%d bytes of %s at offset %d: want a multiple of 4 within %d bytes", s.Size, b.label, s.Offset, b.size)
	}
	return nil
}

//go:build !js

package dawn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"tessera/gpu/internal/driver"
)

// pipeline is a WGPUComputePipeline with the layout of its bind group 0.
type pipeline struct {
	d           *device
	label       string
	handle      uintptr
	layout      uintptr // WGPUBindGroupLayout
	uniformSize int64
	storage     []driver.Access
}

func (p *pipeline) Release() {
	if p.handle != 0 {
		call(p.d.ComputePipelineRelease, p.handle)
	}
	if p.layout != 0 {
		call(p.d.BindGroupLayoutRelease, p.layout)
	}
	p.handle, p.layout = 0, 0
}

// bindGroup is a WGPUBindGroup.
type bindGroup struct {
	d      *device
	handle uintptr
}

func (g *bindGroup) Release() {
	if g.handle != 0 {
		call(g.d.BindGroupRelease, g.handle)
		g.handle = 0
	}
}

// NewPipeline compiles a shader on one of Dawn's threads.
func (d *device) NewPipeline(p driver.PipelineDescriptor) driver.Compiling {
	made := &pipeline{d: d, label: p.Label, uniformSize: p.UniformSize, storage: slices.Clone(p.Storage)}
	begun, err := d.beginPipeline(made, p)
	return func(ctx context.Context) (driver.Pipeline, error) {
		if err == nil {
			err = d.endPipeline(ctx, made, begun)
		}
		if err != nil && strings.Contains(err.Error(), "maximum allowed") {
			err = fmt.Errorf("%w: %w", driver.ErrTooLarge, err)
		}
		if err != nil {
			made.Release()
			return nil, fmt.Errorf("dawn: %s: %w", p.Label, err)
		}
		return made, nil
	}
}

// beginPipeline checks the shader and starts to compile it.
func (d *device) beginPipeline(made *pipeline, p driver.PipelineDescriptor) (begun *future, err error) {
	if n, most := len(p.Storage), d.info.Limits.MaxStorageBuffers; n > most {
		return nil, fmt.Errorf("%w: %d storage bindings, device allows %d", driver.ErrTooLarge, n, most)
	}
	var notes []driver.Note
	err = d.guarded(func() {
		module := d.shaderModule(p.Label, p.Source)
		defer call(d.ShaderModuleRelease, module)
		if notes = d.compileErrors(module); len(notes) > 0 {
			return
		}
		made.layout = d.bindGroupLayout(p)
		layout := d.pipelineLayout(p.Label, made.layout)
		defer call(d.PipelineLayoutRelease, layout)
		begun = d.computePipeline(p, module, layout)
	})
	if len(notes) > 0 {
		return nil, driver.ShaderError(p.Source, notes)
	}
	return begun, err
}

// endPipeline waits for the compilation.
func (d *device) endPipeline(ctx context.Context, made *pipeline, begun *future) error {
	if err := d.wait(ctx, begun, d.poll); err != nil {
		return err
	}
	if err := d.poll(); err != nil {
		return err
	}
	made.handle = begun.reply.handle
	switch r := begun.reply; {
	case r.status != statusSuccess:
		return errors.New(strings.TrimSpace(r.message))
	case r.handle == 0:
		return errors.New("no pipeline")
	}
	return nil
}

func (d *device) shaderModule(label, source string) uintptr {
	wgsl := &shaderSourceWGSL{chain: chainedStruct{sType: sTypeShaderSourceWGSL}, code: view(source)}
	return call(d.DeviceCreateShaderModule, d.handle, uintptr(unsafe.Pointer(&shaderModuleDescriptor{
		nextInChain: unsafe.Pointer(wgsl), label: view(label),
	})))
}

// compileErrors returns the compiler's messages that are errors.
func (d *device) compileErrors(module uintptr) []driver.Note {
	r, err := d.await(d.request(d.callbacks.compiled, func(info *callbackInfo) uintptr {
		return callInfo(d.ShaderModuleGetCompilationInfo, info, module)
	}))
	if err != nil {
		return nil // the error scope has it
	}
	return r.notes
}

// bindGroupLayout declares binding 0 as a uniform with a dynamic offset, and binding
// i+1 as storage buffer i.
func (d *device) bindGroupLayout(p driver.PipelineDescriptor) uintptr {
	entries := make([]bindGroupLayoutEntry, 1+len(p.Storage))
	entries[0].buffer = bufferBindingLayout{kind: bindingUniform, hasDynamicOffset: 1, minBindingSize: uint64(p.UniformSize)}
	for i, access := range p.Storage {
		entries[i+1].buffer.kind = bindingReadOnly
		if access == driver.ReadWrite {
			entries[i+1].buffer.kind = bindingStorage
		}
	}
	for i := range entries {
		entries[i].binding, entries[i].visibility = uint32(i), stageCompute
	}
	return call(d.DeviceCreateBindGroupLayout, d.handle, uintptr(unsafe.Pointer(&bindGroupLayoutDescriptor{
		label: view(p.Label), entryCount: uintptr(len(entries)), entries: unsafe.Pointer(&entries[0]),
	})))
}

func (d *device) pipelineLayout(label string, group uintptr) uintptr {
	groups := []uintptr{group}
	return call(d.DeviceCreatePipelineLayout, d.handle, uintptr(unsafe.Pointer(&pipelineLayoutDescriptor{
		label: view(label), bindGroupLayoutCount: 1, bindGroupLayouts: unsafe.Pointer(&groups[0]),
	})))
}

func (d *device) computePipeline(p driver.PipelineDescriptor, module, layout uintptr) *future {
	constants := make([]constantEntry, 0, len(p.Constants))
	for _, name := range slices.Sorted(maps.Keys(p.Constants)) {
		constants = append(constants, constantEntry{key: view(name), value: p.Constants[name]})
	}
	descriptor := &computePipelineDescriptor{
		label:  view(p.Label),
		layout: layout,
		compute: computeState{
			module:        module,
			entryPoint:    view("main"),
			constantCount: uintptr(len(constants)),
			constants:     unsafe.Pointer(unsafe.SliceData(constants)),
		},
	}
	return d.request(d.callbacks.handle, func(info *callbackInfo) uintptr {
		return callInfo(d.DeviceCreateComputePipelineAsync, info, d.handle, uintptr(unsafe.Pointer(descriptor)))
	})
}

// NewBindGroup binds uniform at 0 and storage from 1.
func (d *device) NewBindGroup(label string, to driver.Pipeline, uniform driver.Buffer, storage []driver.Binding) (driver.BindGroup, error) {
	p := to.(*pipeline)
	if len(storage) != len(p.storage) {
		return nil, fmt.Errorf("dawn: %s: %d storage bindings, %s declares %d", label, len(storage), p.label, len(p.storage))
	}
	entries := make([]bindGroupEntry, 1, 1+len(storage))
	entries[0] = bindGroupEntry{buffer: uniform.(*buffer).handle, size: uint64(p.uniformSize)}
	for i, s := range storage {
		b := s.Buffer.(*buffer)
		if most := d.info.Limits.MaxBinding; s.Size > most {
			return nil, fmt.Errorf("dawn: %s: %w: binding %d of %s has %d bytes, device allows %d", label, driver.ErrTooLarge, i+1, b.label, s.Size, most)
		}
		entries = append(entries, bindGroupEntry{
			binding: uint32(i + 1), buffer: b.handle, offset: uint64(s.Offset), size: uint64(s.Size),
		})
	}
	g := &bindGroup{d: d}
	err := d.guarded(func() {
		g.handle = call(d.DeviceCreateBindGroup, d.handle, uintptr(unsafe.Pointer(&bindGroupDescriptor{
			label: view(label), layout: p.layout, entryCount: uintptr(len(entries)), entries: unsafe.Pointer(&entries[0]),
		})))
	})
	if err == nil && g.handle == 0 {
		err = errors.New("no bind group")
	}
	if err != nil {
		g.Release()
		return nil, fmt.Errorf("dawn: %s: %w", label, err)
	}
	return g, nil
}

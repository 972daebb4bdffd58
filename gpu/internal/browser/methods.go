//go:build js

package browser

import "syscall/js"

// methods are JS functions looked up once: calling a method by name decodes
// the name and finds it anew each time.
type methods struct {
	// Of the device.
	createBuffer, createBindGroup, createBindGroupLayout, createCommandEncoder,
	createComputePipelineAsync, createPipelineLayout, createQuerySet, createShaderModule,
	pushErrorScope, popErrorScope js.Value

	// Of its queue.
	onSubmittedWorkDone, submit, writeBuffer js.Value

	// Of any encoder or pass, which is the first argument.
	beginComputePass, clearBuffer, copyBufferToBuffer, finish, resolveQuerySet, dispatchWorkgroups, end,
	setBindGroup, setPipeline js.Value
}

func bind(device js.Value) methods {
	of := func(v js.Value) func(name string) js.Value {
		return func(name string) js.Value { return v.Get(name).Call("bind", v) }
	}
	call := js.Global().Get("Function").Get("prototype").Get("call")
	any := func(class string) func(name string) js.Value {
		prototype := js.Global().Get(class).Get("prototype")
		return func(name string) js.Value { return call.Call("bind", prototype.Get(name)) }
	}
	d, queue := of(device), of(device.Get("queue"))
	encoder, pass := any("GPUCommandEncoder"), any("GPUComputePassEncoder")
	return methods{
		createBuffer:               d("createBuffer"),
		createBindGroup:            d("createBindGroup"),
		createBindGroupLayout:      d("createBindGroupLayout"),
		createCommandEncoder:       d("createCommandEncoder"),
		createComputePipelineAsync: d("createComputePipelineAsync"),
		createPipelineLayout:       d("createPipelineLayout"),
		createQuerySet:             d("createQuerySet"),
		createShaderModule:         d("createShaderModule"),
		pushErrorScope:             d("pushErrorScope"),
		popErrorScope:              d("popErrorScope"),
		onSubmittedWorkDone:        queue("onSubmittedWorkDone"),
		submit:                     queue("submit"),
		writeBuffer:                queue("writeBuffer"),
		beginComputePass:           encoder("beginComputePass"),
		clearBuffer:                encoder("clearBuffer"),
		copyBufferToBuffer:         encoder("copyBufferToBuffer"),
		finish:                     encoder("finish"),
		resolveQuerySet:            encoder("resolveQuerySet"),
		dispatchWorkgroups:         pass("dispatchWorkgroups"),
		end:                        pass("end"),
		setBindGroup:               pass("setBindGroup"),
		setPipeline:                pass("setPipeline"),
	}
}

//go:build js

package browser

import "syscall/js"

// methods are JS functions that are looked up once: a call by name decodes the name and
// searches for it each time.
type methods struct {
	// Methods of the device.
	createBuffer, createBindGroup, createBindGroupLayout, createCommandEncoder,
	createComputePipelineAsync, createPipelineLayout, createQuerySet, createShaderModule,
	pushErrorScope, popErrorScope js.Value

	// Methods of its queue.
	onSubmittedWorkDone, submit, writeBuffer js.Value

	// Methods of any encoder or pass, which is the first argument.
	beginComputePass, clearBuffer, copyBufferToBuffer, finish, resolveQuerySet, dispatchWorkgroups, end,
	setBindGroup, setPipeline js.Value
}

// method pairs a method's name with the field for it.
type method struct {
	to   *js.Value
	name string
}

func bind(device js.Value) methods {
	m := &methods{}
	own := func(v js.Value, list ...method) {
		for _, f := range list {
			*f.to = v.Get(f.name).Call("bind", v)
		}
	}
	call := js.Global().Get("Function").Get("prototype").Get("call")
	any := func(class string, list ...method) {
		prototype := js.Global().Get(class).Get("prototype")
		for _, f := range list {
			*f.to = call.Call("bind", prototype.Get(f.name))
		}
	}
	own(device,
		method{&m.createBuffer, "createBuffer"},
		method{&m.createBindGroup, "createBindGroup"},
		method{&m.createBindGroupLayout, "createBindGroupLayout"},
		method{&m.createCommandEncoder, "createCommandEncoder"},
		method{&m.createComputePipelineAsync, "createComputePipelineAsync"},
		method{&m.createPipelineLayout, "createPipelineLayout"},
		method{&m.createQuerySet, "createQuerySet"},
		method{&m.createShaderModule, "createShaderModule"},
		method{&m.pushErrorScope, "pushErrorScope"},
		method{&m.popErrorScope, "popErrorScope"},
	)
	own(device.Get("queue"),
		method{&m.onSubmittedWorkDone, "onSubmittedWorkDone"},
		method{&m.submit, "submit"},
		method{&m.writeBuffer, "writeBuffer"},
	)
	any("GPUCommandEncoder",
		method{&m.beginComputePass, "beginComputePass"},
		method{&m.clearBuffer, "clearBuffer"},
		method{&m.copyBufferToBuffer, "copyBufferToBuffer"},
		method{&m.finish, "finish"},
		method{&m.resolveQuerySet, "resolveQuerySet"},
	)
	any("GPUComputePassEncoder",
		method{&m.dispatchWorkgroups, "dispatchWorkgroups"},
		method{&m.end, "end"},
		method{&m.setBindGroup, "setBindGroup"},
		method{&m.setPipeline, "setPipeline"},
	)
	return *m
}

//go:build !js

package dawn

import (
	"fmt"
	"reflect"
)

// procs are the addresses of the C functions. The name of a function is wgpu followed
// by the field's name.
type procs struct {
	CreateInstance,
	InstanceProcessEvents,
	InstanceRelease,
	InstanceRequestAdapter,
	InstanceWaitAny uintptr

	AdapterGetFeatures,
	AdapterGetInfo,
	AdapterGetLimits,
	AdapterInfoFreeMembers,
	AdapterPropertiesMemoryHeapsFreeMembers,
	AdapterPropertiesSubgroupMatrixConfigsFreeMembers,
	AdapterRelease,
	AdapterRequestDevice,
	SupportedFeaturesFreeMembers uintptr

	DeviceCreateBindGroup,
	DeviceCreateBindGroupLayout,
	DeviceCreateBuffer,
	DeviceCreateCommandEncoder,
	DeviceCreateComputePipelineAsync,
	DeviceCreatePipelineLayout,
	DeviceCreateQuerySet,
	DeviceCreateShaderModule,
	DeviceDestroy,
	DeviceGetLimits,
	DeviceGetQueue,
	DevicePopErrorScope,
	DevicePushErrorScope,
	DeviceRelease uintptr

	QueueOnSubmittedWorkDone,
	QueueRelease,
	QueueSubmit,
	QueueWriteBuffer uintptr

	BufferDestroy,
	BufferGetConstMappedRange,
	BufferMapAsync,
	BufferRelease,
	BufferUnmap uintptr

	BindGroupLayoutRelease,
	BindGroupRelease,
	CommandBufferRelease,
	CommandEncoderBeginComputePass,
	CommandEncoderClearBuffer,
	CommandEncoderCopyBufferToBuffer,
	CommandEncoderFinish,
	CommandEncoderRelease,
	CommandEncoderResolveQuerySet,
	ComputePassEncoderDispatchWorkgroups,
	ComputePassEncoderEnd,
	ComputePassEncoderRelease,
	ComputePassEncoderSetBindGroup,
	ComputePassEncoderSetPipeline,
	ComputePipelineRelease,
	PipelineLayoutRelease,
	QuerySetDestroy,
	QuerySetRelease,
	ShaderModuleGetCompilationInfo,
	ShaderModuleRelease uintptr
}

// find fills in every address with symbol, which returns 0 for a missing function.
func (p *procs) find(symbol func(name string) uintptr) error {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		name := "wgpu" + v.Type().Field(i).Name
		addr := symbol(name)
		if addr == 0 {
			return fmt.Errorf("function %s is missing", name)
		}
		v.Field(i).SetUint(uint64(addr))
	}
	return nil
}

//go:build !js

package dawn

//lint:file-ignore U1000 fields that only C reads or writes hold their places

import "unsafe"

// C structs of webgpu.h on a 64-bit machine, field for field, with explicit padding.
// cstruct_test.go checks every size and offset against testdata/webgpu_abi.json.
//
// Fields that point to Go memory are unsafe.Pointer, so that the garbage collector
// follows them; handles of Dawn's objects are uintptr.

type stringView struct {
	data   *byte
	length uintptr
}

type chainedStruct struct {
	next  unsafe.Pointer
	sType uint32
	_     uint32
}

type futureWaitInfo struct {
	future    uint64
	completed uint32
	_         uint32
}

type instanceDescriptor struct {
	nextInChain          unsafe.Pointer
	requiredFeatureCount uintptr
	requiredFeatures     unsafe.Pointer
	requiredLimits       unsafe.Pointer
}

// instanceDescriptor2025 is WGPUInstanceDescriptor before the API became stable.
type instanceDescriptor2025 struct {
	nextInChain          unsafe.Pointer
	capabilitiesChain    unsafe.Pointer
	timedWaitAnyEnable   uint32
	_                    uint32
	timedWaitAnyMaxCount uintptr
}

// dawnInstanceDescriptor is dawn::native::DawnInstanceDescriptor since August 2026.
type dawnInstanceDescriptor struct {
	chain                             chainedStruct
	additionalRuntimeSearchPaths      unsafe.Pointer // to string views
	additionalRuntimeSearchPathsCount uintptr
	platform                          uintptr
	backendValidationLevel            uint32
	beginCaptureOnStartup             uint32
	loggingCallbackInfo               [4]uintptr
}

type requestAdapterOptions struct {
	nextInChain          unsafe.Pointer
	featureLevel         uint32
	powerPreference      uint32
	forceFallbackAdapter uint32
	backendType          uint32
	compatibleSurface    uintptr
}

// callbackInfo is every WGPU…CallbackInfo except the one for uncaptured errors.
type callbackInfo struct {
	nextInChain uintptr
	mode        uint32
	_           uint32
	callback    uintptr
	userdata1   uintptr
	userdata2   uintptr
}

type uncapturedErrorCallbackInfo struct {
	nextInChain uintptr
	callback    uintptr
	userdata1   uintptr
	userdata2   uintptr
}

type compilationInfo struct {
	nextInChain  unsafe.Pointer
	messageCount uintptr
	messages     *compilationMessage
}

type compilationMessage struct {
	nextInChain unsafe.Pointer
	message     stringView
	kind        uint32 // "type" in C
	_           uint32
	lineNum     uint64
	linePos     uint64
	offset      uint64
	length      uint64
}

type adapterInfo struct {
	nextInChain     unsafe.Pointer
	vendor          stringView
	architecture    stringView
	device          stringView
	description     stringView
	backendType     uint32
	adapterType     uint32
	vendorID        uint32
	deviceID        uint32
	subgroupMinSize uint32
	subgroupMaxSize uint32
}

type limits struct {
	nextInChain                               unsafe.Pointer
	maxTextureDimension1D                     uint32
	maxTextureDimension2D                     uint32
	maxTextureDimension3D                     uint32
	maxTextureArrayLayers                     uint32
	maxBindGroups                             uint32
	maxBindGroupsPlusVertexBuffers            uint32
	maxBindingsPerBindGroup                   uint32
	maxDynamicUniformBuffersPerPipelineLayout uint32
	maxDynamicStorageBuffersPerPipelineLayout uint32
	maxSampledTexturesPerShaderStage          uint32
	maxSamplersPerShaderStage                 uint32
	maxStorageBuffersPerShaderStage           uint32
	maxStorageTexturesPerShaderStage          uint32
	maxUniformBuffersPerShaderStage           uint32
	maxUniformBufferBindingSize               uint64
	maxStorageBufferBindingSize               uint64
	minUniformBufferOffsetAlignment           uint32
	minStorageBufferOffsetAlignment           uint32
	maxVertexBuffers                          uint32
	_                                         uint32
	maxBufferSize                             uint64
	maxVertexAttributes                       uint32
	maxVertexBufferArrayStride                uint32
	maxInterStageShaderVariables              uint32
	maxColorAttachments                       uint32
	maxColorAttachmentBytesPerSample          uint32
	maxComputeWorkgroupStorageSize            uint32
	maxComputeInvocationsPerWorkgroup         uint32
	maxComputeWorkgroupSizeX                  uint32
	maxComputeWorkgroupSizeY                  uint32
	maxComputeWorkgroupSizeZ                  uint32
	maxComputeWorkgroupsPerDimension          uint32
	maxImmediateSize                          uint32
}

// limitsWithTail has room for the limits that Dawn wrote until spring 2025.
type limitsWithTail struct {
	limits
	tail [4]uint32
}

type supportedFeatures struct {
	featureCount uintptr
	features     *uint32
}

type queueDescriptor struct {
	nextInChain unsafe.Pointer
	label       stringView
}

type deviceDescriptor struct {
	nextInChain                 unsafe.Pointer
	label                       stringView
	requiredFeatureCount        uintptr
	requiredFeatures            unsafe.Pointer
	requiredLimits              unsafe.Pointer
	defaultQueue                queueDescriptor
	deviceLostCallbackInfo      callbackInfo
	uncapturedErrorCallbackInfo uncapturedErrorCallbackInfo
}

type bufferDescriptor struct {
	nextInChain      unsafe.Pointer
	label            stringView
	usage            uint64
	size             uint64
	mappedAtCreation uint32
	_                uint32
}

type shaderModuleDescriptor struct {
	nextInChain unsafe.Pointer
	label       stringView
}

type shaderSourceWGSL struct {
	chain chainedStruct
	code  stringView
}

type constantEntry struct {
	nextInChain unsafe.Pointer
	key         stringView
	value       float64
}

type computeState struct {
	nextInChain   unsafe.Pointer
	module        uintptr
	entryPoint    stringView
	constantCount uintptr
	constants     unsafe.Pointer
}

type computePipelineDescriptor struct {
	nextInChain unsafe.Pointer
	label       stringView
	layout      uintptr
	compute     computeState
}

type pipelineLayoutDescriptor struct {
	nextInChain          unsafe.Pointer
	label                stringView
	bindGroupLayoutCount uintptr
	bindGroupLayouts     unsafe.Pointer
	immediateSize        uint32
	_                    uint32
}

type bufferBindingLayout struct {
	nextInChain      unsafe.Pointer
	kind             uint32 // "type" in C
	hasDynamicOffset uint32
	minBindingSize   uint64
}

type bindGroupLayoutEntry struct {
	nextInChain      unsafe.Pointer
	binding          uint32
	_                uint32
	visibility       uint64
	bindingArraySize uint32
	_                uint32
	buffer           bufferBindingLayout
	sampler          [16]byte
	texture          [24]byte
	storageTexture   [24]byte
}

type bindGroupLayoutDescriptor struct {
	nextInChain unsafe.Pointer
	label       stringView
	entryCount  uintptr
	entries     unsafe.Pointer
}

type bindGroupEntry struct {
	nextInChain unsafe.Pointer
	binding     uint32
	_           uint32
	buffer      uintptr
	offset      uint64
	size        uint64
	sampler     uintptr
	textureView uintptr
}

type bindGroupDescriptor struct {
	nextInChain unsafe.Pointer
	label       stringView
	layout      uintptr
	entryCount  uintptr
	entries     unsafe.Pointer
}

// commandEncoderDescriptor is also WGPUCommandBufferDescriptor.
type commandEncoderDescriptor struct {
	nextInChain unsafe.Pointer
	label       stringView
}

type computePassDescriptor struct {
	nextInChain     unsafe.Pointer
	label           stringView
	timestampWrites unsafe.Pointer
}

type passTimestampWrites struct {
	nextInChain               unsafe.Pointer
	querySet                  uintptr
	beginningOfPassWriteIndex uint32
	endOfPassWriteIndex       uint32
}

type querySetDescriptor struct {
	nextInChain unsafe.Pointer
	label       stringView
	kind        uint32 // "type" in C
	count       uint32
}

type togglesDescriptor struct {
	chain               chainedStruct
	enabledToggleCount  uintptr
	enabledToggles      unsafe.Pointer
	disabledToggleCount uintptr
	disabledToggles     unsafe.Pointer
}

type memoryHeaps struct {
	chain     chainedStruct
	heapCount uintptr
	heapInfo  *memoryHeapInfo
}

type memoryHeapInfo struct {
	properties uint64
	size       uint64
}

type subgroupMatrixConfigs struct {
	chain       chainedStruct
	configCount uintptr
	configs     *subgroupMatrixConfig
}

type subgroupMatrixConfig struct {
	componentType       uint32
	resultComponentType uint32
	M, N, K             uint32
}

// cacheDescriptor is WGPUDawnCacheDeviceDescriptor.
type cacheDescriptor struct {
	chain                          chainedStruct
	isolationKey                   stringView
	dawnLoadCacheDataCallbackInfo  cacheCallbackInfo
	dawnStoreCacheDataCallbackInfo cacheCallbackInfo
}

type cacheCallbackInfo struct {
	nextInChain uintptr
	callback    uintptr
	userdata1   uintptr
	userdata2   uintptr
}

// cacheDescriptor2025 is WGPUDawnCacheDeviceDescriptor before the API became stable.
type cacheDescriptor2025 struct {
	chain        chainedStruct
	isolationKey stringView
	load         uintptr
	store        uintptr
	userdata     uintptr
}

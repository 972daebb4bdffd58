//go:build !js

package dawn

// Enum values of webgpu.h, equal in both API versions. apiversion.go has those of
// features and chained structs.
const (
	backendNull   = 1
	backendD3D12  = 4
	backendMetal  = 5
	backendVulkan = 6

	powerLow  = 1
	powerHigh = 2

	featureLevelCore = 2

	adapterDiscrete   = 1
	adapterIntegrated = 2
	adapterCPU        = 3

	statusSuccess = 1 // of every status enum

	waitSuccess  = 1
	waitTimedOut = 2

	modeWaitAnyOnly        = 1
	modeAllowProcessEvents = 2

	filterValidation  = 1
	filterOutOfMemory = 2
	filterInternal    = 3

	errorNone        = 1
	errorValidation  = 2
	errorOutOfMemory = 3
	errorInternal    = 4

	messageError = 1

	bindingUniform  = 2
	bindingStorage  = 3
	bindingReadOnly = 4

	usageMapRead = 0x01
	usageCopySrc = 0x04
	usageCopyDst = 0x08
	usageUniform = 0x40
	usageStorage = 0x80
	usageResolve = 0x200

	queryTimestamp = 2
	queryUndefined = 0xffffffff // WGPU_QUERY_SET_INDEX_UNDEFINED

	mapRead      = 1
	stageCompute = 4

	sTypeShaderSourceWGSL = 2

	instanceTimedWaitAny = 1

	heapDeviceLocal = 1

	vendorNVIDIA = 0x10de // PCI vendor number
)

//go:build !js

package dawn

import (
	"errors"
	"unsafe"
)

// apiVersion is a version of webgpu.h that this package accepts, and its differences.
type apiVersion struct {
	name         string
	capabilities bool // the instance's descriptor contains WGPUInstanceCapabilities

	hidesF16 bool // on NVIDIA's cards through Vulkan, whatever is requested

	featureTimestamps, featureF16, featureSubgroups, featureMemoryHeaps uint32

	featureMatrices     uint32 // subgroup matrices; 0 if unsupported
	featureSubgroupSize uint32 // subgroup size control; 0 if unsupported
}

// apiStable is Dawn since its API became stable; it exports wgpuHasInstanceFeature.
var apiStable = apiVersion{
	name:              "the stable API",
	featureTimestamps: 9, featureF16: 11, featureSubgroups: 18, featureMemoryHeaps: 0x50014,
	featureMatrices: 0x50034, featureSubgroupSize: 23,
}

// api2025 is the API shortly before it became stable; the fallback for Windows has this
// one. It exports wgpuGetInstanceCapabilities instead.
var api2025 = apiVersion{
	name: "the API of 2025", capabilities: true, hidesF16: true,
	featureTimestamps: 3, featureF16: 10, featureSubgroups: 17, featureMemoryHeaps: 0x50015,
}

// Values in both versions.
const (
	sTypeDawnInstance = 0x50006
	sTypeToggles      = 0x5000a
	sTypeLUID         = 0x5000c
	sTypeMemoryHeaps  = 0x50013
	sTypeMatrices     = 0x5003b // if the version has matrices
	sTypeCache        = 0x50007
)

var errTooOld = errors.New("this Dawn is older than summer 2025 and has other structs and numbers: use a newer one")

// tooOld reports whether the library writes limits with the tail that they had until
// spring 2025. Such a library has the exports of api2025, but different feature
// numbers, callbacks and layouts.
func (in *instance) tooOld(adapter uintptr) bool {
	const untouched = 0xabadcafe // no limit has this value
	raw := &limitsWithTail{tail: [4]uint32{untouched}}
	call(in.AdapterGetLimits, adapter, uintptr(unsafe.Pointer(raw)))
	return raw.tail[0] != untouched
}

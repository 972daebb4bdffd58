//go:build !js

package dawn

import "unsafe"

// Toggles of Dawn's. One that a library does not know it passes over.
const (
	// unsafeAPIs brings subgroup matrices, which are an experiment of Dawn's.
	unsafeAPIs = "allow_unsafe_apis"
	// f16OnNVIDIA brings shader-f16, which Dawn hides on all of NVIDIA's cards
	// through Vulkan since some of its conformance tests fail there.
	f16OnNVIDIA = "vulkan_enable_f16_on_nvidia"
	// quantization rounds timestamps to 65 µs, for pages that one does not trust.
	quantization = "timestamp_quantization"
)

// toggles is a descriptor of those to turn on and off.
func toggles(on, off []string) *togglesDescriptor {
	list := func(names []string) unsafe.Pointer {
		pointers := make([]*byte, len(names))
		for i, name := range names {
			pointers[i] = &append([]byte(name), 0)[0]
		}
		return unsafe.Pointer(unsafe.SliceData(pointers))
	}
	return &togglesDescriptor{
		chain:              chainedStruct{sType: sTypeToggles},
		enabledToggleCount: uintptr(len(on)), enabledToggles: list(on),
		disabledToggleCount: uintptr(len(off)), disabledToggles: list(off),
	}
}

// adapterToggles are for asking for an adapter of the backend: what it hides
// then, no device of it has.
func (in *instance) adapterToggles(backendType uint32) *togglesDescriptor {
	var on []string
	if in.featureMatrices != 0 {
		on = append(on, unsafeAPIs)
	}
	if backendType == backendVulkan {
		on = append(on, f16OnNVIDIA)
	}
	return toggles(on, nil)
}

// deviceToggles are for a device of the adapter.
func (a *adapter) deviceToggles() *togglesDescriptor {
	var on []string
	if a.has(a.featureMatrices) {
		on = append(on, unsafeAPIs)
	}
	return toggles(on, []string{quantization})
}

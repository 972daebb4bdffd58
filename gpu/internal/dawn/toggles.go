//go:build !js

package dawn

import "unsafe"

// Toggles of Dawn. A library ignores unknown ones.
const (
	// unsafeAPIs enables subgroup matrices, which are experimental in Dawn.
	unsafeAPIs = "allow_unsafe_apis"
	// f16OnNVIDIA enables shader-f16. Dawn hides it on all NVIDIA cards through Vulkan,
	// because some of its conformance tests fail there.
	f16OnNVIDIA = "vulkan_enable_f16_on_nvidia"
	// noWorkgroupInit leaves workgroup memory as it is. Dawn otherwise clears it at the
	// start of every workgroup; gputest's cases show that kernels write what they read.
	noWorkgroupInit = "disable_workgroup_init"
	// quantization rounds timestamps to 65 µs, for untrusted pages.
	quantization = "timestamp_quantization"
)

// toggles returns a descriptor of the toggles to turn on and off.
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

// adapterToggles returns the toggles for requesting an adapter of the backend. A
// feature hidden at this point is missing from all devices of the adapter.
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

// deviceToggles returns the toggles for a device of the adapter.
func (a *adapter) deviceToggles() *togglesDescriptor {
	on := []string{noWorkgroupInit}
	if a.has(a.featureMatrices) {
		on = append(on, unsafeAPIs)
	}
	return toggles(on, []string{quantization})
}

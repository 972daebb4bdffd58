package dawn

import "unsafe"

// vintage is a state of webgpu.h that is accepted, and what differs in it.
type vintage struct {
	name         string
	capabilities bool // the instance's descriptor holds WGPUInstanceCapabilities
	shortEntry   bool // a bind group layout's entry has no bindingArraySize
	bareWorkDone bool // the work-done callback has no message

	featureTimestamps  uint32
	featureF16         uint32
	featureSubgroups   uint32
	featureMemoryHeaps uint32
	sTypeMemoryHeaps   uint32
}

// stable is Dawn since its API became stable; it exports wgpuHasInstanceFeature.
var stable = vintage{
	name:               "stable API",
	featureTimestamps:  9,
	featureF16:         11,
	featureSubgroups:   18,
	featureMemoryHeaps: 0x50014,
	sTypeMemoryHeaps:   0x50013,
}

// summer2025 is the state a few months before: wgpuGetInstanceCapabilities
// instead, all else stable.
var summer2025 = vintage{
	name:               "API of summer 2025",
	capabilities:       true,
	featureTimestamps:  9,
	featureF16:         11,
	featureSubgroups:   18,
	featureMemoryHeaps: 0x50015,
	sTypeMemoryHeaps:   0x50013,
}

// april2025 is what there is for Windows. It has the exports of summer2025,
// and limits with a tail.
var april2025 = vintage{
	name:               "API of April 2025",
	capabilities:       true,
	shortEntry:         true,
	bareWorkDone:       true,
	featureTimestamps:  3,
	featureF16:         10,
	featureSubgroups:   17,
	featureMemoryHeaps: 0x50016,
	sTypeMemoryHeaps:   0x50014,
}

// tellApart settles which of the two vintages of 2025 the library is, by
// whether it writes the limits' tail.
func (in *instance) tellApart(adapter uintptr) {
	if in.vintage != &april2025 {
		return
	}
	raw := &limits2025{}
	raw.maxStorageBuffersInVertexStage = untouched
	call(in.AdapterGetLimits, adapter, uintptr(unsafe.Pointer(raw)))
	if raw.maxStorageBuffersInVertexStage == untouched {
		in.vintage = &summer2025
	}
}

// untouched is no value that a limit has.
const untouched = 0xabadcafe

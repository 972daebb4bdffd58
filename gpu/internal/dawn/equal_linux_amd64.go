package dawn

import (
	"slices"
	"unsafe"
)

// enumerateAdapters is InstanceBase::EnumerateAdapters(const RequestAdapterOptions*) in
// dawn::native. webgpu.h has nothing that lists adapters, but the pinned builds export
// this function, in both API versions with the same arguments and result. A library
// without it returns one of several equal cards.
const enumerateAdapters = "_ZN4dawn6native12InstanceBase17EnumerateAdaptersEPKNS0_21RequestAdapterOptionsE"

// everyAdapter returns all adapters of o's backend, each card once, or nil if the library
// can't list them.
func (in *instance) everyAdapter(o requestAdapterOptions) []*adapter {
	return onePerCard(in.enumerate(o), vulkanCards)
}

// enumerate returns all adapters that the library lists.
func (in *instance) enumerate(o requestAdapterOptions) []*adapter {
	library, err := openLibrary(in.path) // again, for its exports
	if err != nil {
		return nil
	}
	defer closeLibrary(library)
	enumerate := symbol(library, enumerateAdapters)
	if enumerate == 0 {
		return nil
	}
	o.nextInChain = unsafe.Pointer(in.adapterToggles(o.backendType))
	var found struct{ begin, end, room uintptr } // a vector of references, whose memory is not freed
	call(enumerate, uintptr(unsafe.Pointer(&found)), in.handle, uintptr(unsafe.Pointer(&o)))
	var list []*adapter
	for _, handle := range unsafe.Slice((*uintptr)(pointer(found.begin)), (found.end-found.begin)/unsafe.Sizeof(found.end)) {
		if a := in.adapterOf(handle, o.backendType); a != nil {
			list = append(list, a)
		}
	}
	return list
}

// adapterOf describes an adapter that Dawn returned. It returns nil if the adapter is of
// another backend or does not describe itself.
func (in *instance) adapterOf(handle uintptr, backendType uint32) *adapter {
	a := &adapter{instance: in, handle: handle}
	a.features = a.listFeatures()
	if t, err := a.describe(); err != nil || t != backendType {
		a.release()
		return nil
	}
	return a
}

// onePerCard releases adapters that are the same card again, as when two files name one
// driver. If adapters have the same id, cards tells the numbers of their cards; without
// them onePerCard keeps the first.
func onePerCard(list []*adapter, cards func() []vulkanCard) []*adapter {
	count := map[string]int{}
	for _, a := range list {
		count[a.id]++
	}
	if len(count) == len(list) {
		return list
	}
	all, at, seen := cards(), map[string]int{}, map[[16]byte]bool{}
	return slices.DeleteFunc(list, func(a *adapter) bool {
		n := at[a.id]
		at[a.id]++
		same := slices.DeleteFunc(slices.Clone(all), func(c vulkanCard) bool {
			return c.id != a.info.DeviceID || c.name != a.info.Name
		})
		again := n > 0
		if len(same) == count[a.id] {
			again = seen[same[n].uuid]
			seen[same[n].uuid] = true
		}
		if again {
			a.release()
		}
		return again
	})
}

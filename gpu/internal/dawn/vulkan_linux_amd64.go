package dawn

import (
	"unsafe"
)

// vulkanCard is a physical device of Vulkan.
type vulkanCard struct {
	id   string // as in driver.Info
	name string
	uuid [16]byte // of the card: two equal ones differ
}

// Vulkan's structs, as far as vulkanCards reads or writes them.
type (
	vkApplicationInfo struct {
		sType      uint32
		_          [10]uint32 // names and versions of the program and its engine
		apiVersion uint32
	}
	vkInstanceCreateInfo struct {
		sType       uint32
		next        unsafe.Pointer
		flags       uint32
		application *vkApplicationInfo
		layers      uint32
		layerNames  unsafe.Pointer
		extensions  uint32
		names       unsafe.Pointer
	}
	vkPhysicalDeviceIDProperties struct {
		sType      uint32
		_          [3]uint32
		deviceUUID [16]byte
		_          [32]byte // of the driver, LUID
	}
	vkPhysicalDeviceProperties2 struct {
		sType                     uint32
		next                      *vkPhysicalDeviceIDProperties
		apiVersion, driverVersion uint32
		vendorID, deviceID, kind  uint32
		deviceName                [256]byte
		rest                      [1024]byte // limits, which are shorter
	}
)

// Values of VkStructureType, and Vulkan 1.1, which has the properties of IDs.
const (
	vkApplicationInfoType    = 0
	vkInstanceCreateInfoType = 1
	vkProperties2Type        = 1000059001
	vkPhysicalDeviceIDsType  = 1000071004
	vulkan11                 = 1<<22 | 1<<12
)

// vulkanCards asks the system's Vulkan loader for its devices, in the order in which Dawn
// lists them. It returns nil if the loader or one of its functions is missing.
func vulkanCards() []vulkanCard {
	handle, err := openLibrary("libvulkan.so.1")
	if err != nil {
		return nil
	}
	defer closeLibrary(handle)
	var p struct{ create, destroy, enumerate, properties uintptr }
	for name, to := range map[string]*uintptr{
		"vkCreateInstance": &p.create, "vkDestroyInstance": &p.destroy,
		"vkEnumeratePhysicalDevices": &p.enumerate, "vkGetPhysicalDeviceProperties2": &p.properties,
	} {
		if *to = symbol(handle, name); *to == 0 {
			return nil
		}
	}
	info := &vkInstanceCreateInfo{sType: vkInstanceCreateInfoType, application: &vkApplicationInfo{sType: vkApplicationInfoType, apiVersion: vulkan11}}
	var instance uintptr
	if int32(call(p.create, uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(&instance)))) != 0 {
		return nil
	}
	defer call(p.destroy, instance, 0)
	var devices [64]uintptr
	count := uint32(len(devices))
	if int32(call(p.enumerate, instance, uintptr(unsafe.Pointer(&count)), uintptr(unsafe.Pointer(&devices)))) < 0 {
		return nil
	}
	list := make([]vulkanCard, count)
	for i := range list {
		ids := &vkPhysicalDeviceIDProperties{sType: vkPhysicalDeviceIDsType}
		of := &vkPhysicalDeviceProperties2{sType: vkProperties2Type, next: ids}
		call(p.properties, devices[i], uintptr(unsafe.Pointer(of)))
		name := stringView{&of.deviceName[0], zeroTerminated}
		list[i] = vulkanCard{deviceID(of.vendorID, of.deviceID), name.String(), ids.deviceUUID}
	}
	return list
}

//go:build !js && (!windows || arm64)

package dawn

// A WGPUStringView passed by value arrives in two registers. Enums are 32 bits wide;
// the upper half of their register is undefined.

func onHandle(status, handle uintptr, data *byte, length, key, _ uintptr) uintptr {
	deliver(key, reply{status: uint32(status), handle: handle, message: stringView{data, length}.String()})
	return 0
}

func onMessage(status uintptr, data *byte, length, key, _ uintptr) uintptr {
	deliver(key, reply{status: uint32(status), message: stringView{data, length}.String()})
	return 0
}

func onScope(status, kind uintptr, data *byte, length, key, _ uintptr) uintptr {
	deliver(key, reply{status: uint32(status), kind: uint32(kind), message: stringView{data, length}.String()})
	return 0
}

func onLost(_, reason uintptr, data *byte, length, key, _ uintptr) uintptr {
	deliver(key, reply{status: uint32(reason), message: stringView{data, length}.String()})
	return 0
}

func onUncaptured(_, kind uintptr, data *byte, length, key, _ uintptr) uintptr {
	deliver(key, reply{kind: uint32(kind), message: stringView{data, length}.String()})
	return 0
}

//go:build !js

package dawn

// A WGPUStringView passed by value arrives as a pointer to a copy. Enums are 32 bits
// wide; the upper half of their register is undefined.

func onHandle(status, handle uintptr, message *stringView, key, _ uintptr) uintptr {
	deliver(key, reply{status: uint32(status), handle: handle, message: message.String()})
	return 0
}

func onMessage(status uintptr, message *stringView, key, _ uintptr) uintptr {
	deliver(key, reply{status: uint32(status), message: message.String()})
	return 0
}

func onScope(status, kind uintptr, message *stringView, key, _ uintptr) uintptr {
	deliver(key, reply{status: uint32(status), kind: uint32(kind), message: message.String()})
	return 0
}

func onLost(_, reason uintptr, message *stringView, key, _ uintptr) uintptr {
	deliver(key, reply{status: uint32(reason), message: message.String()})
	return 0
}

func onUncaptured(_, kind uintptr, message *stringView, key, _ uintptr) uintptr {
	deliver(key, reply{kind: uint32(kind), message: message.String()})
	return 0
}

//go:build !js && (arm64 || windows)

package dawn

import (
	"runtime"
	"unsafe"
)

// arm64 and Windows: a struct over 16 bytes is passed by a pointer to a copy. A struct
// of 16 bytes goes into two registers on arm64 and by pointer on Windows amd64.

// callInfo calls fn(a, b, …, info) with info passed by value.
//
//go:uintptrescapes
func callInfo(fn uintptr, info *callbackInfo, args ...uintptr) uintptr {
	all := make([]uintptr, 0, 8)
	all = append(all, args...)
	r := call(fn, append(all, uintptr(unsafe.Pointer(info)))...)
	runtime.KeepAlive(info)
	return r
}

// callStruct calls fn(s) with the struct of size bytes at s passed by value.
func callStruct(fn uintptr, s unsafe.Pointer, size uintptr) uintptr {
	if size <= 16 && runtime.GOARCH == "arm64" {
		return call(fn, unsafe.Slice((*uintptr)(s), size/8)...)
	}
	return call(fn, uintptr(s))
}

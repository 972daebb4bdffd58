//go:build !js && amd64 && !windows

package dawn

import "unsafe"

// System V amd64: a struct over 16 bytes goes by value onto the stack, behind six
// integer registers; a struct of 16 bytes goes into two registers.

// callInfo calls fn(a, b, …, info) with info passed by value.
//
//go:uintptrescapes
func callInfo(fn uintptr, info *callbackInfo, args ...uintptr) uintptr {
	var all [11]uintptr
	copy(all[:6], args)
	w := info.words()
	copy(all[6:], w[:])
	return call(fn, all[:]...)
}

// callStruct calls fn(s) with the struct of size bytes at s passed by value.
func callStruct(fn uintptr, s unsafe.Pointer, size uintptr) uintptr {
	words := unsafe.Slice((*uintptr)(s), size/8)
	if size <= 16 {
		return call(fn, words...)
	}
	return call(fn, append(make([]uintptr, 6, 6+len(words)), words...)...)
}

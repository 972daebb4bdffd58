//go:build !js

package dawn

import (
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// call calls the C function fn. It moves arguments that the caller converts from
// unsafe.Pointer to the heap and keeps them alive until it returns; their pointer
// fields keep what they point to.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// words returns the info in its layout on the stack.
func (c *callbackInfo) words() [5]uintptr {
	return [5]uintptr{c.nextInChain, uintptr(c.mode), c.callback, c.userdata1, c.userdata2}
}

// view makes a string visible to C; it lives as long as s. The empty string becomes
// WebGPU's null string, which is no label.
func view(s string) stringView {
	return stringView{unsafe.StringData(s), uintptr(len(s))}
}

const zeroTerminated = ^uintptr(0)

// String copies C's text.
func (v stringView) String() string {
	if v.data == nil {
		return ""
	}
	n := v.length
	if n == zeroTerminated {
		for n = 0; *(*byte)(unsafe.Add(unsafe.Pointer(v.data), n)) != 0; n++ {
		}
	}
	return strings.Clone(unsafe.String(v.data, n))
}

// pointer converts an address that C returned into a pointer. The memory belongs to C,
// so the garbage collector neither moves nor frees it.
func pointer(addr uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

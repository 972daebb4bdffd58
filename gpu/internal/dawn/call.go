//go:build !js

package dawn

import (
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// call calls the C function fn. Arguments converted from unsafe.Pointer in the
// call are moved to the heap and kept alive until it returns; what they point
// to in turn is kept by its pointer fields.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// words is the info as it lies on the stack.
func (c *callbackInfo) words() [5]uintptr {
	return [5]uintptr{c.nextInChain, uintptr(c.mode), c.callback, c.userdata1, c.userdata2}
}

// view makes a string visible to C; it lives as long as s. The empty string is
// WebGPU's null string: no label.
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

// pointer turns an address that C returned into a pointer. The memory is C's,
// so the collector neither moves nor frees it.
func pointer(addr uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

package memory

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var globalMemoryStatusEx = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// memoryStatusEx is MEMORYSTATUSEX.
type memoryStatusEx struct {
	length, load                     uint32
	totalPhysical, availablePhysical uint64
	totalPageFile, availablePageFile uint64 // bytes that the system would commit to this process
	totalVirtual, availableVirtual   uint64
	availableExtendedVirtual         uint64
}

// Free returns how many bytes can be allocated without swapping: the machine's free
// memory, limited to what Windows would still commit.
func Free() (bytes int64, known bool) {
	var s memoryStatusEx
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := globalMemoryStatusEx.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0, false
	}
	return int64(min(s.availablePhysical, s.availablePageFile)), true
}

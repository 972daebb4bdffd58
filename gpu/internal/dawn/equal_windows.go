//go:build !js

package dawn

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// everyAdapter returns the graphics cards that Direct3D 12 has, or nil. Dawn takes a
// card's LUID with a request for D3D12 alone; through Vulkan it returns one of several
// equal cards.
func (in *instance) everyAdapter(o requestAdapterOptions) []*adapter {
	if o.backendType != backendD3D12 {
		return nil
	}
	var list []*adapter
	for _, luid := range dxgiCards() {
		o.nextInChain = unsafe.Pointer(&requestAdapterOptionsLUID{chain: chainedStruct{sType: sTypeLUID}, luid: luid})
		if a, err := in.requestAdapter(o); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// requestAdapterOptionsLUID is RequestAdapterOptionsLUID of Dawn's D3DBackend.h.
type requestAdapterOptionsLUID struct {
	chain chainedStruct
	luid  windows.LUID
}

// iidFactory is the GUID of IDXGIFactory1, whose functions follow below by their places.
var iidFactory = windows.GUID{Data1: 0x770aae78, Data2: 0xf26f, Data3: 0x4dba, Data4: [8]byte{0xa8, 0x29, 0x25, 0x3c, 0x83, 0xd1, 0xb3, 0x87}}

const (
	comRelease       = 2
	factoryEnumerate = 12 // EnumAdapters1
	adapterDescribe  = 10 // GetDesc1
	dxgiSoftware     = 2  // DXGI_ADAPTER_FLAG_SOFTWARE: Microsoft's renderer on the processor
)

// dxgiDescription is DXGI_ADAPTER_DESC1.
type dxgiDescription struct {
	name                               [128]uint16
	vendor, device, subsystem, version uint32
	memory                             [3]uintptr
	luid                               windows.LUID
	flags                              uint32
}

// dxgiCards returns the LUIDs of the graphics cards, in the system's order. It returns
// nil if DXGI is not there.
func dxgiCards() []windows.LUID {
	create := windows.NewLazySystemDLL("dxgi.dll").NewProc("CreateDXGIFactory1")
	if create.Find() != nil {
		return nil
	}
	var factory comObject
	if r, _, _ := create.Call(uintptr(unsafe.Pointer(&iidFactory)), uintptr(unsafe.Pointer(&factory))); int32(r) < 0 {
		return nil
	}
	defer factory.call(comRelease)
	var list []windows.LUID
	for i := uintptr(0); ; i++ {
		var card comObject
		if factory.call(factoryEnumerate, i, uintptr(unsafe.Pointer(&card))) < 0 {
			return list
		}
		var about dxgiDescription
		if card.call(adapterDescribe, uintptr(unsafe.Pointer(&about))) >= 0 && about.flags&dxgiSoftware == 0 {
			list = append(list, about.luid)
		}
		card.call(comRelease)
	}
}

// comObject is a pointer to a COM object, which begins with a pointer to its functions.
type comObject uintptr

// call calls the n-th function and returns its HRESULT.
//
//go:uintptrescapes
func (o comObject) call(n uintptr, args ...uintptr) int32 {
	functions := *(*unsafe.Pointer)(pointer(uintptr(o)))
	fn := *(*uintptr)(unsafe.Add(functions, n*unsafe.Sizeof(n)))
	r, _, _ := syscall.SyscallN(fn, append([]uintptr{uintptr(o)}, args...)...)
	return int32(r)
}

// Package gpu runs compute programs on a WebGPU device: through Dawn natively, through
// navigator.gpu in a browser. It handles buffers and programs; tensors belong to
// packages wgsl and engine.
//
// To run a program, declare its buffers, record it in a Batch, open a device, and
// submit:
//
//	b := &gpu.Batch{Label: "example"}
//	b.Dispatch("double", program, groups, params, cost, x.All(), y.All())
//	dev, err := gpu.Open(gpu.Options{Adapter: -1})
//	…
//	err = dev.Alloc(x, y)
//	err = dev.Write(x.All(), input)
//	err = dev.Submit(ctx, b)
//	err = dev.Read(ctx, output, y.All())
//
// The package example is complete.
//
// Buffers, programs and batches are plain data and need no device: a batch can be
// recorded, printed and counted without one. The device creates pipelines and bind
// groups at the first submission and reuses them whenever the batch is submitted again.
//
// Sizes and offsets are bytes. Mistakes of the caller panic with the values: a size
// that is not a multiple of 4, a buffer without memory, a range outside of a view.
// Errors are what the machine or a shader's compiler refuses.
//
// A Device is not safe for concurrent use: one goroutine drives it.
package gpu

import (
	"tessera/gpu/internal/driver"
)

// Errors that a caller may test with errors.Is. They come wrapped with the label and
// the numbers.
var (
	// ErrNoLibrary: no Dawn library with a known API was found; in a browser,
	// navigator.gpu is missing. Returned by Open and Adapters.
	ErrNoLibrary = driver.ErrNoLibrary
	// ErrNoAdapter: the GPU, its driver or the requested adapter is missing. Returned
	// by Open and Adapters.
	ErrNoAdapter = driver.ErrNoAdapter
	// ErrDeviceLost: the driver gave up on the device and its memory is gone. Every
	// later call returns this error. Open a new device.
	ErrDeviceLost = driver.ErrDeviceLost
	// ErrTooLarge: a buffer, a binding, the number of bindings or a workgroup exceeds
	// the device's Limits. The device stays usable.
	ErrTooLarge = driver.ErrTooLarge
	// ErrOutOfMemory: the device is out of memory; a smaller allocation may fit. The
	// device stays usable.
	ErrOutOfMemory = driver.ErrOutOfMemory
)

type (
	// Limits of a device: the adapter's own, at least DefaultLimits.
	Limits = driver.Limits
	// Info describes an adapter, with its limits.
	Info = driver.Info
	// Matrix is one kind of subgroup matrix that an adapter supports.
	Matrix = driver.Matrix
	// Options select an adapter. The zero value selects the first one; Adapter -1
	// selects the best.
	Options = driver.Options
	// Access is Read or ReadWrite: how a program declares a storage binding. A dispatch
	// must not read and write parts of one buffer through two bindings.
	Access = driver.Access
)

const (
	Read      = driver.Read      // var<storage, read>
	ReadWrite = driver.ReadWrite // var<storage, read_write>
)

// DefaultLimits are WebGPU's default limits, which every adapter meets.
var DefaultLimits = Limits{
	MaxBuffer:          256 << 20,
	MaxBinding:         128 << 20,
	MaxStorageBuffers:  8,
	MaxWorkgroupMemory: 16 << 10,
	MaxInvocations:     256,
	MaxWorkgroupSize:   [3]int{256, 256, 64},
	MaxGroups:          65535,
	StorageAlignment:   256,
	UniformAlignment:   256,
}

// Buffer declares a range of device memory. Its pointer is its identity. Device.Alloc
// gives it memory; Size may change until then.
type Buffer struct {
	Label string // for errors and Batch.String
	Size  int64  // bytes, a positive multiple of 4, at most Limits.MaxBuffer

	// Readback declares a buffer that commands only copy to. Read then waits only for
	// those copies.
	Readback bool
}

// View is a part of a buffer, in bytes: Offset is a multiple of
// Limits.StorageAlignment when bound, of 4 when copied, cleared, read or
// written. Size is a multiple of 4, at most Limits.MaxBinding when bound; 0
// means up to the buffer's end.
type View struct {
	Buffer       *Buffer
	Offset, Size int64
}

// All views the whole buffer.
func (b *Buffer) All() View { return View{Buffer: b} }

// Bytes returns the view's length and resolves a Size of 0.
func (v View) Bytes() int64 {
	if v.Size == 0 {
		return v.Buffer.Size - v.Offset
	}
	return v.Size
}

// Program is a compute shader and its interface: entry point main, uniform Params at
// binding 0, storage binding i at i+1. A batch identifies it by its pointer, the
// device's pipeline cache by its content.
//
// Params begins with `first: vec4<u32>`, which the device fills in: add xyz to
// workgroup_id; w is the number of workgroups along x of the whole dispatch. With it a
// device can cut one dispatch into many.
type Program struct {
	Label     string             // for errors, Batch.String and Stats.Programs; two programs may share one
	Source    string             // complete WGSL; results must not depend on the order of workgroups
	Constants map[string]float64 // values for its overrides; missing ones keep their defaults
	Storage   []Access           // by binding number, from 1; at most Limits.MaxStorageBuffers
}

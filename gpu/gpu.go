// Package gpu runs compute programs on a WebGPU device: through Dawn natively,
// through navigator.gpu in a browser. It knows buffers and programs, not
// tensors. Start at Open, Batch and Device.Submit.
//
// Buffers, programs and batches are plain data that need no device, so a batch
// can be recorded, printed, counted and kept; the device makes pipelines and
// bind groups of them once and reuses them whenever the batch is submitted
// again.
//
// Sizes and offsets are bytes. What a caller's own code does wrong (a size that
// is no multiple of 4, a buffer that was not allocated, a range outside of a
// view) panics with the values; what the machine or a shader refuses is an
// error.
//
// A Device is not safe for concurrent use: one goroutine drives it.
package gpu

import (
	"tessera/gpu/internal/driver"
)

// Errors a caller may branch on by errors.Is; they come wrapped with the label
// and the numbers.
var (
	// ErrNoLibrary: no Dawn library was found, or none that speaks a known API;
	// in a browser, there is no navigator.gpu. Of Open and Adapters.
	ErrNoLibrary = driver.ErrNoLibrary
	// ErrNoAdapter: there is no GPU, no driver for it, or not the one asked for.
	// Of Open and Adapters.
	ErrNoAdapter = driver.ErrNoAdapter
	// ErrDeviceLost: the driver gave up on the device. Every call on it returns
	// that from then on, and its memory is gone. Open a new one.
	ErrDeviceLost = driver.ErrDeviceLost
	// ErrTooLarge: a buffer, a binding, the bindings' number or a workgroup is
	// beyond the device's Limits. The device works on.
	ErrTooLarge = driver.ErrTooLarge
	// ErrOutOfMemory: the device has no room; less may still fit. The device
	// works on.
	ErrOutOfMemory = driver.ErrOutOfMemory
)

type (
	// Limits of a device: the adapter's own, which are DefaultLimits or better.
	Limits = driver.Limits
	// Info describes an adapter, with its limits.
	Info = driver.Info
	// Matrix is one kind of subgroup matrices that an adapter has.
	Matrix = driver.Matrix
	// Options choose an adapter. The zero value takes the first one; with
	// Adapter -1 it is the best.
	Options = driver.Options
	// Access is Read or ReadWrite: how a program declares a storage binding. A
	// dispatch may not read and write parts of one buffer by two bindings.
	Access = driver.Access
)

const (
	Read      = driver.Read      // var<storage, read>
	ReadWrite = driver.ReadWrite // var<storage, read_write>
)

// DefaultLimits are WebGPU's own, which every adapter meets.
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

// Buffer declares a range of device memory. Identity is the pointer. Memory
// comes with Device.Alloc, until when Size may still change.
type Buffer struct {
	Label string // for errors and Batch.String
	Size  int64  // bytes, a positive multiple of 4, at most Limits.MaxBuffer

	// Readback is for one that commands copy to, and do nothing else with: Read
	// then waits for no more than those copies.
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

// Bytes is the view's length, with a Size of 0 resolved.
func (v View) Bytes() int64 {
	if v.Size == 0 {
		return v.Buffer.Size - v.Offset
	}
	return v.Size
}

// Program is a compute shader and the interface it declares: entry point main,
// uniform Params at binding 0, storage binding i at i+1. Identity is the
// pointer for a batch, the content for the device's pipeline cache.
//
// Params begins with `first: vec4<u32>`, which belongs to the device: xyz is
// added to workgroup_id, w is the number of workgroups along x of the whole
// dispatch. That is what lets a device cut one dispatch into many.
type Program struct {
	Label     string             // for errors, Batch.String and Stats.Programs; two may share one
	Source    string             // complete WGSL; its results may not depend on the order of workgroups
	Constants map[string]float64 // values for its overrides; those not here keep their default
	Storage   []Access           // by binding number, from 1; at most Limits.MaxStorageBuffers
}

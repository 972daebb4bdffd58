// Package driver is the narrow interface between gpu and its two WebGPU
// implementations: Dawn (internal/dawn) and the browser (internal/browser). It handles
// handles and bytes; package gpu does the caching, the bookkeeping and the splitting of
// long work.
//
// A new driver implements Device and passes drivertest.Run:
//
//	drivertest.Run(t, drivertest.Subject{Name: "dawn", Open: open, …})
//
// Staging, Record and ShaderError contain what all drivers share. One goroutine uses a
// Device.
package driver

import (
	"context"
	"errors"
)

// Errors that a driver returns, wrapped with detail; package gpu re-exports them.
var (
	ErrNoLibrary   = errors.New("no usable WebGPU library")
	ErrNoAdapter   = errors.New("no usable adapter")
	ErrDeviceLost  = errors.New("device lost")
	ErrTooLarge    = errors.New("too large for the device")
	ErrOutOfMemory = errors.New("out of device memory")
)

// Access says how a program uses one storage binding.
type Access uint8

const (
	Read Access = iota
	ReadWrite
)

// Limits of the device, which are the adapter's own.
type Limits struct {
	MaxBuffer          int64  // bytes in one buffer
	MaxBinding         int64  // bytes in one storage binding
	MaxStorageBuffers  int    // storage bindings in one program
	MaxWorkgroupMemory int    // bytes
	MaxInvocations     int    // in one workgroup
	MaxWorkgroupSize   [3]int // invocations along x, y, z
	MaxGroups          uint32 // workgroups along one dimension of a dispatch
	StorageAlignment   int64  // of a storage binding's offset, bytes
	UniformAlignment   int64  // of a uniform binding's dynamic offset, bytes
}

// Info describes an adapter.
type Info struct {
	Index        int    // among the adapters of this machine; the argument of --adapter
	Name         string // "llvmpipe (LLVM 15.0.6, 256 bits)"
	Vendor       string
	DeviceID     string // of PCI, "10de:2206": the model, through each graphics API; "" when unknown
	Architecture string
	Driver       string // the driver's own description
	Backend      string // "vulkan", "d3d12", "metal", "webgpu"
	Type         string // "discrete", "integrated", "cpu", "unknown"
	F16          bool   // shader-f16
	NoF16        string // why F16 is missing; "" if it is not, or if the reason is unknown
	UnprovenF16  bool   // this WebGPU hides F16 by default, so the results of shaders need a test
	Subgroups    bool
	SubgroupMin  int // invocations, 0 when unknown
	SubgroupMax  int
	SubgroupSize bool     // subgroup-size-control: a shader may set its subgroup size, a power of two from SubgroupMin to SubgroupMax
	Matrices     []Matrix // subgroup matrices, which also need Subgroups, and those of halves F16
	Timestamps   bool     // timestamp-query, which Device.Time needs
	Memory       int64    // bytes of the largest device-local heap, 0 when unknown
	Library      string
	Passed       string // libraries, backends and adapters that were passed over, and why, one per line
	Limits       Limits
}

// Matrix is a product that a subgroup computes as a whole: M×K times K×N of In, added
// to M×N of Out. Types are f32, f16, i32, u32, i8 and u8.
type Matrix struct {
	M, N, K int
	In, Out string
}

// Buffer, Pipeline, BindGroup, Stopwatch and Fence are a driver's own handles.
// Release is idempotent.
type (
	Buffer    interface{ Release() }
	Pipeline  interface{ Release() }
	BindGroup interface{ Release() }
	Stopwatch interface{ Release() }
	Fence     interface{}
)

// Binding is a range of a buffer. Size is never 0.
type Binding struct {
	Buffer       Buffer
	Offset, Size int64
}

// PipelineDescriptor describes a compute shader with entry point "main" in bind group
// 0: binding 0 is a uniform buffer with a dynamic offset and UniformSize bytes, and
// binding i+1 is storage binding i.
type PipelineDescriptor struct {
	Label       string
	Source      string             // complete WGSL
	Constants   map[string]float64 // values of its overrides
	UniformSize int64
	Storage     []Access
}

// Compiling waits for a pipeline. Call it once: if the context ends first, the pipeline
// is lost.
type Compiling func(context.Context) (Pipeline, error)

// Command is a dispatch (with Pipeline), a copy between two buffers, or a clear
// (without Src).
type Command struct {
	_ [0]func() // see gpu.Incomparable

	Pipeline      Pipeline
	Group         BindGroup
	UniformOffset uint32
	Groups        [3]uint32

	Src, Dst Binding // copy or clear Dst.Size bytes; the buffers differ
}

// Device is one open WebGPU device.
type Device interface {
	Info() Info

	// Kept returns how many compilations were found in the cache, and how many were
	// not; zeros without a cache.
	Kept() (found, missed int)

	// NewBuffer creates a zeroed buffer that can be written, read, copied and bound: as
	// uniform if uniform is set, else as storage.
	NewBuffer(label string, size int64, uniform bool) (Buffer, error)

	// Write copies data to offset, in queue order. Both are multiples of 4.
	Write(b Buffer, offset int64, data []byte) error

	// Read waits for all submitted work and copies len(dst) bytes from offset. Both are
	// multiples of 4.
	Read(ctx context.Context, dst []byte, b Buffer, offset int64) error

	// NewReadback creates a buffer that can be copied to and read by Take.
	NewReadback(size int64) (Buffer, error)

	// Take waits only for the submitted copies to a readback buffer, and copies its
	// first len(dst) bytes, a multiple of 4. After an error the buffer may be half
	// mapped and must not be used again.
	Take(ctx context.Context, dst []byte, b Buffer) error

	// NewPipeline starts to compile and returns, so that several can be compiled at
	// once. A shader error has the compiler's message, line:column and the numbered
	// source around it.
	NewPipeline(d PipelineDescriptor) Compiling

	// NewBindGroup binds uniform at 0 (dynamic offset) and storage from 1.
	NewBindGroup(label string, p Pipeline, uniform Buffer, storage []Binding) (BindGroup, error)

	// Submit runs the commands in order in one submission and returns at once. If w is
	// not nil, it records when each command begins and ends. A stopwatch takes at most
	// MaxTimed commands, and one submission until Times is called.
	Submit(label string, commands []Command, w Stopwatch) (Fence, error)

	// Wait blocks until the submission is done. It returns ErrDeviceLost or an
	// uncaptured error if one occurred since the last call. If ctx ends early, Wait
	// returns its error.
	Wait(ctx context.Context, f Fence) error

	// NewStopwatch creates a stopwatch, if Info.Timestamps is set.
	NewStopwatch() (Stopwatch, error)

	// Times waits for the submission that w timed, and returns when each of its
	// commands ran.
	Times(ctx context.Context, w Stopwatch) ([]Span, error)

	Close() error
}

// Options select an adapter.
type Options struct {
	Backend string // "" or "auto", "vulkan", "d3d12", "metal"; in a browser "", "auto" or "webgpu"
	Adapter int    // index as in Info, or -1 for the best: discrete before integrated before processors
	NoCache bool   // neither read nor write the user's cache folder; a browser has its own cache
	Library string // path of the Dawn library; "" searches: TESSERA_DAWN, beside the program, the user's cache, the system
}

// Package driver is the narrow interface between gpu and the two WebGPU
// implementations under it: Dawn (internal/dawn) and the browser
// (internal/browser). It holds handles and bytes; caching, splitting of long
// work and bookkeeping are gpu's.
//
// A Device is driven by one goroutine.
package driver

import (
	"context"
	"errors"
)

// Errors a driver returns, wrapped with detail; gpu re-exports them.
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

// Limits are those the device was opened with, which are the adapter's own.
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
	Index        int    // among the adapters of this machine, as --adapter takes it
	Name         string // "llvmpipe (LLVM 15.0.6, 256 bits)"
	Vendor       string
	Architecture string
	Driver       string // the driver's own description
	Backend      string // "vulkan", "d3d12", "metal", "webgpu"
	Type         string // "discrete", "integrated", "cpu", "unknown"
	F16          bool   // shader-f16
	NoF16        string // why there is no F16, "" where there is or nobody knows
	UnprovenF16  bool   // its WebGPU hides F16 unless asked to: what shaders compute with it is to be checked
	Subgroups    bool
	SubgroupMin  int // invocations, 0 when unknown
	SubgroupMax  int
	Matrices     []Matrix // subgroup matrices, which also need Subgroups and for halves F16
	Timestamps   bool     // timestamp-query, which Device.Time needs
	Memory       int64    // bytes of the largest device-local heap, 0 when unknown
	Library      string
	Passed       string // libraries, backends and adapters that were not taken before this one, and why, one a line
	Limits       Limits
}

// Matrix is a product that a subgroup computes as a whole: M×K times K×N of In,
// added to M×N of Out. Types are f32, f16, i32, u32, i8 and u8.
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

// PipelineDescriptor describes a compute shader with entry point "main" in
// bind group 0: binding 0 is a uniform buffer with a dynamic offset and
// UniformSize bytes, storage binding i is at i+1.
type PipelineDescriptor struct {
	Label       string
	Source      string             // complete WGSL
	Constants   map[string]float64 // values of its overrides
	UniformSize int64
	Storage     []Access
}

// Compiling waits for a pipeline that was begun. It is called once; where the
// context ends first the pipeline is lost.
type Compiling func(context.Context) (Pipeline, error)

// Command is one dispatch (Pipeline set), one copy between two buffers, or one
// clear (no Src).
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

	// Kept says how often something that was to be compiled was found in the
	// cache, and how often not: never where there is none.
	Kept() (found, missed int)

	// NewBuffer makes a zeroed buffer that can be written, read back, copied
	// and bound as storage, or as uniform where uniform is set.
	NewBuffer(label string, size int64, uniform bool) (Buffer, error)

	// Write puts data at offset, in queue order. Both are multiples of 4.
	Write(b Buffer, offset int64, data []byte) error

	// Read waits for everything submitted and copies len(dst) bytes at offset.
	// Both are multiples of 4.
	Read(ctx context.Context, dst []byte, b Buffer, offset int64) error

	// NewReadback makes a buffer that can be copied to, and taken from.
	NewReadback(size int64) (Buffer, error)

	// Take waits for the copies to a readback buffer that were submitted, and
	// for nothing after them, and copies its first len(dst) bytes, a multiple of
	// 4. After an error the buffer, which may be half mapped, is of no use.
	Take(ctx context.Context, dst []byte, b Buffer) error

	// NewPipeline begins to compile and returns, so that several are compiled at
	// once. A shader error carries the compiler's message, line:column and the
	// numbered source around it.
	NewPipeline(d PipelineDescriptor) Compiling

	// NewBindGroup binds uniform at 0 (dynamic offset) and storage from 1.
	NewBindGroup(label string, p Pipeline, uniform Buffer, storage []Binding) (BindGroup, error)

	// Submit runs the commands in order in one submission and returns at once.
	// A stopwatch, or nil, notes when each of them begins and ends; it takes
	// MaxTimed commands, and one submission until Times was called.
	Submit(label string, commands []Command, w Stopwatch) (Fence, error)

	// Wait blocks until the submission is done. It returns ErrDeviceLost or an
	// uncaptured error where one came up since the last call. A context that
	// ends early ends the wait with the context's error.
	Wait(ctx context.Context, f Fence) error

	// NewStopwatch makes one, where Info.Timestamps says so.
	NewStopwatch() (Stopwatch, error)

	// Times waits for the submission that w was given to, and says when each of
	// its commands ran.
	Times(ctx context.Context, w Stopwatch) ([]Span, error)

	Close() error
}

// Options choose an adapter.
type Options struct {
	Backend string // "" or "auto", "vulkan", "d3d12", "metal"; in a browser "", "auto" or "webgpu"
	Adapter int    // index as in Info, or -1 for the best: discrete before integrated before processors
	NoCache bool   // nothing is taken from the user's cache folder, and nothing kept there; a browser has its own
	Library string // path of the Dawn library; "" searches: TESSERA_DAWN, beside the program, the user's cache, the system
}

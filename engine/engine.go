// Package engine plans how networks run on clips that are larger than a device. It
// records layers, allocates memory for activations, decides what causal convolutions keep
// of the past, cuts a clip into tiles and slices, and plans how tiles are combined and
// what moves to the host and back. It knows no model and no file format: package vae
// describes models in its terms. It calls no device: package runner executes plans.
//
// Start at Graph, on which a network records its layers, Job, which describes the task,
// and NewPlan:
//
//	plan, err := engine.NewPlan(ctx, &engine.Job{...}, engine.Options{})
//	...
//	store := runner.NewStore(device)
//	err = store.Load(ctx, plan, tensors, nil)
//	for band, err := range runner.Run(ctx, plan, store, nil, input, runner.Watch{}) {
//		...
//	}
//
// A Plan's Work is lists of steps, which are data, with every buffer declared in advance.
//
// Nothing here is safe for concurrent use.
package engine

import (
	"errors"
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

var (
	// ErrMemory means that a job needs more memory than the budget. NewPlan returns it.
	ErrMemory = errors.New("does not fit the memory budget")
	// ErrHost means that a job needs more host memory than it may use. It is an
	// ErrMemory.
	ErrHost = fmt.Errorf("%w of the host", ErrMemory)
	// ErrTiling means that the network does not support the tiling. NewPlan returns it.
	ErrTiling = errors.New("not for this model")
)

// Incomparable is gpu.Incomparable, for networks.
type Incomparable = gpu.Incomparable

// Kernels are the kernels of a job's commands: for activations in their storage, and for
// f32, in which frames are blended. The caller keeps them, so that jobs share programs.
type Kernels struct {
	Activations, Plain *wgsl.Set
}

// of returns the kernels for a tensor stored as elem.
func (k Kernels) of(elem wgsl.Elem) *wgsl.Set {
	if elem == k.Activations.Elem {
		return k.Activations
	}
	return k.Plain
}

// Budget returns the default memory budget in bytes: three quarters of a discrete
// adapter's memory, half of memory shared with the host, 2 GiB if unknown.
func Budget(a gpu.Info) int64 {
	switch {
	case a.Memory == 0:
		return 2 << 30
	case a.Type == "discrete":
		return a.Memory / 4 * 3
	}
	return a.Memory / 2
}

// Bytes formats a size: "1.50 GiB".
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// sum returns the total size of buffers.
func sum(buffers []*gpu.Buffer) int64 {
	var n int64
	for _, b := range buffers {
		n += b.Size
	}
	return n
}

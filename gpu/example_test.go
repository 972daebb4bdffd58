package gpu_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"tessera/gpu"
)

// multiply is a shader for a Device: Params begins with first, so that the device can
// cut a dispatch.
const multiply = `
struct Params { first: vec4<u32>, factor: u32, }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = 64u * (workgroup.x + params.first.x) + local;
    if (i < arrayLength(&x)) { y[i] = params.factor * x[i]; }
}`

type multiplyParams struct {
	First  gpu.First
	Factor uint32
}

// multiplied returns numbers times a factor.
func multiplied(ctx context.Context, numbers []uint32, factor uint32) ([]uint32, error) {
	size := int64(4 * len(numbers))
	x, y := &gpu.Buffer{Label: "x", Size: size}, &gpu.Buffer{Label: "y", Size: size}
	p := &gpu.Program{Label: "multiply", Source: multiply, Storage: []gpu.Access{gpu.Read, gpu.ReadWrite}}
	b := &gpu.Batch{Label: "example"}
	groups := [3]uint32{uint32(len(numbers)+63) / 64, 1, 1}
	b.Dispatch("the only layer", p, groups, multiplyParams{Factor: factor}, gpu.Cost{Bytes: 2 * size}, x.All(), y.All())
	fmt.Print(b)

	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	if errors.Is(err, gpu.ErrNoLibrary) || errors.Is(err, gpu.ErrNoAdapter) {
		return onProcessor(numbers, factor), nil // without a device, the caller decides what to do
	}
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	if err := dev.Alloc(x, y); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	_, _ = binary.Encode(data, binary.LittleEndian, numbers)
	if err := dev.Write(x.All(), data); err != nil {
		return nil, err
	}
	if err := dev.Submit(ctx, b); err != nil {
		return nil, err
	}
	if err := dev.Read(ctx, data, y.All()); err != nil {
		return nil, err
	}
	result := make([]uint32, len(numbers))
	_, _ = binary.Decode(data, binary.LittleEndian, result)
	return result, nil
}

func onProcessor(numbers []uint32, factor uint32) []uint32 {
	result := make([]uint32, len(numbers))
	for i, n := range numbers {
		result[i] = factor * n
	}
	return result
}

// Record a batch, print it and run it.
func Example() {
	result, err := multiplied(context.Background(), []uint32{1, 2, 3, 5, 7}, 6)
	fmt.Println(result, err)
	// Output:
	// example: 1 commands
	//    0 multiply the only layer [1 1 1] x[0+20] y[0+20]
	// [6 12 18 30 42] <nil>
}

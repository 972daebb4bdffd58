//go:build !js

package gpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/x448/float16"

	"tessera/gpu/internal/diskcache"
)

// f16Source uses halves like the kernels do: it loads and stores them, keeps them in
// workgroup memory, multiplies and adds them, and converts to f32 and back.
const f16Source = `
enable f16;
struct Params { first: vec4<u32>, }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f16>>;
var<workgroup> mirror: array<vec4<f16>, 64>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    let a = x[i];
    mirror[i] = a * 2.0h;
    workgroupBarrier();
    let b = mirror[63u - i];
    y[2u * i] = a * b + b;
    y[2u * i + 1u] = vec4<f16>(vec4<f32>(a) * vec4<f32>(b) + 0.25);
}`

// maxF16Cache bounds the bytes of the stored verdicts of all adapters together.
const maxF16Cache = 1 << 16

// right is the verdict on an adapter whose f16 results are right.
const right = "right"

// checkF16 tests f16 on an adapter whose WebGPU hides that feature by default. If a
// result is wrong, it removes f16 and the matrices of halves from the device. The
// verdict is stored for each adapter, driver and library.
func (d *Device) checkF16(source string, folder *diskcache.Cache) error {
	if !d.info.UnprovenF16 || SkipVerification() {
		return nil
	}
	key := keyOf(d.info, source)
	verdict := string(folder.Get(key))
	if verdict == "" {
		var err error
		if verdict, err = d.tryF16(source); err != nil {
			return err
		}
		folder.Put(key, []byte(verdict))
	}
	if verdict != right {
		d.info.F16, d.info.NoF16, d.info.Matrices = false, verdict, nil
	}
	return nil
}

// tryF16 returns right, or a description of what is wrong.
func (d *Device) tryF16(source string) (string, error) {
	const n = 256
	x, y := &Buffer{Label: "halves", Size: 2 * n}, &Buffer{Label: "computed halves", Size: 4 * n}
	if err := d.Alloc(x, y); err != nil {
		return "", err
	}
	defer d.Free(x, y)
	in, raw := make([]byte, x.Size), make([]byte, y.Size)
	for i := range n {
		binary.LittleEndian.PutUint16(in[2*i:], float16.Fromfloat32(f16Input(i)).Bits())
	}
	if err := d.Write(x.All(), in); err != nil {
		return "", err
	}
	var b Batch
	p := &Program{Label: "halves", Source: source, Storage: []Access{Read, ReadWrite}}
	b.Dispatch("halves", p, [3]uint32{1, 1, 1}, struct{ First First }{}, Cost{}, x.All(), y.All())
	ctx := context.Background()
	err := d.Submit(ctx, &b)
	if err == nil {
		err = d.Read(ctx, raw, y.All())
	}
	if d.lost != nil {
		return "", d.lost
	}
	if err != nil {
		return fmt.Sprintf("hidden by Dawn, and its compiler fails: %.200v", err), nil
	}
	return compareF16(raw), nil
}

// f16Input returns a number that a half represents exactly.
func f16Input(i int) float32 { return float32(i*37%129-64) / 16 }

// compareF16 compares computed results with the expected ones. It allows two units in
// the last place of the larger operand.
func compareF16(raw []byte) string {
	for j := range len(raw) / 2 {
		i := j/8*4 + j%4
		a, b := f16Input(i), 2*f16Input(4*(63-i/4)+i%4)
		want := a*b + b
		if j/4%2 == 1 {
			want = a*b + 0.25
		}
		got := float16.Frombits(binary.LittleEndian.Uint16(raw[2*j:])).Float32()
		if bound := (math.Abs(float64(a*b)) + math.Abs(float64(b)) + 1) / 1024; !(math.Abs(float64(got-want)) <= bound) {
			return fmt.Sprintf("hidden by Dawn, and wrong: %g where %g is right", got, want)
		}
	}
	return right
}

//go:build !js

package gpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/x448/float16"

	"tessera/gpu/internal/kept"
)

// halvesSource takes what kernels do with halves: it loads and stores them,
// keeps them in workgroup memory, multiplies and adds them, and turns them into
// f32 and back.
const halvesSource = `
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

// halvesMost bounds the values kept of adapters' halves.
const halvesMost = 1 << 16

// right is what is kept of an adapter whose halves are.
const right = "right"

// checkHalves has the adapter compute with halves once where its WebGPU hides
// them unless asked, and takes them and their matrices from it where what comes
// out is wrong. It is done once per adapter, driver and library.
func (d *Device) checkHalves(source string, folder *kept.Folder) error {
	if !d.info.UnprovenF16 || Untried() {
		return nil
	}
	key := keyOf(d.info, source)
	verdict := string(folder.Get(key))
	if verdict == "" {
		var err error
		if verdict, err = d.tryHalves(source); err != nil {
			return err
		}
		folder.Put(key, []byte(verdict))
	}
	if verdict != right {
		d.info.F16, d.info.NoF16, d.info.Matrices = false, verdict, nil
	}
	return nil
}

// tryHalves says "right", or what is wrong.
func (d *Device) tryHalves(source string) (string, error) {
	const n = 256
	x, y := &Buffer{Label: "halves", Size: 2 * n}, &Buffer{Label: "computed halves", Size: 4 * n}
	if err := d.Alloc(x, y); err != nil {
		return "", err
	}
	defer d.Free(x, y)
	in, raw := make([]byte, x.Size), make([]byte, y.Size)
	for i := range n {
		binary.LittleEndian.PutUint16(in[2*i:], float16.Fromfloat32(halvesInput(i)).Bits())
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
	return compareHalves(raw), nil
}

// halvesInput is exact in a half.
func halvesInput(i int) float32 { return float32(i*37%129-64) / 16 }

// compareHalves holds what was computed against what is right, within two units
// in the last place of the larger operand.
func compareHalves(raw []byte) string {
	for j := range len(raw) / 2 {
		i := j/8*4 + j%4
		a, b := halvesInput(i), 2*halvesInput(4*(63-i/4)+i%4)
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

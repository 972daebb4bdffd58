package gpu_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/x448/float16"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// product multiplies matrices of halves in one subgroup, with sums in f32.
const product = `
enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
struct Params { first: vec4<u32>, }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f16>;
@group(0) @binding(2) var<storage, read> b: array<f16>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(LANES)
fn main() {
    let left = subgroupMatrixLoad<subgroup_matrix_left<f16, K, M>>(&a, 0u, false, Ku);
    let right = subgroupMatrixLoad<subgroup_matrix_right<f16, N, K>>(&b, 0u, false, Nu);
    var sum: subgroup_matrix_result<f32, N, M>;
    sum = subgroupMatrixMultiplyAccumulate(left, right, sum);
    subgroupMatrixStore(&c, 0u, sum, false, Nu);
}`

// TestMatrices computes a product in each size of halves with f32 sums that the adapter
// has. The inputs are whole numbers, so the result is exact.
func TestMatrices(t *testing.T) {
	dev := gputest.Open(t)
	info := dev.Info()
	for _, m := range info.Matrices {
		assert.Positive(t, m.M*m.N*m.K, "%+v", m)
		assert.NotEmpty(t, m.In, "%+v", m)
		assert.NotEmpty(t, m.Out, "%+v", m)
	}
	tried := 0
	for _, m := range info.Matrices {
		if m.In != "f16" || m.Out != "f32" {
			continue
		}
		tried++
		t.Run(fmt.Sprintf("%dx%dx%d", m.M, m.N, m.K), func(t *testing.T) {
			source := strings.NewReplacer("LANES", fmt.Sprint(info.SubgroupMax),
				"f16, K, M", fmt.Sprintf("f16, %d, %d", m.K, m.M), "f16, N, K", fmt.Sprintf("f16, %d, %d", m.N, m.K),
				"f32, N, M", fmt.Sprintf("f32, %d, %d", m.N, m.M), "Ku", fmt.Sprintf("%du", m.K), "Nu", fmt.Sprintf("%du", m.N),
			).Replace(product)
			multiplyMatrices(t, dev, m, source)
		})
	}
	if tried == 0 {
		t.Skipf("%s has no matrices of halves with sums in f32", info.Name)
	}
}

func multiplyMatrices(t *testing.T, dev *gpu.Device, m gpu.Matrix, source string) {
	left := func(i, k int) float32 { return float32((3*i+5*k)%17 - 8) }
	right := func(k, j int) float32 { return float32((7*k+2*j)%13 - 6) }
	upload := func(label string, rows, columns int, at func(r, c int) float32) *gpu.Buffer {
		buf := &gpu.Buffer{Label: label, Size: int64(2 * rows * columns)}
		require.NoError(t, dev.Alloc(buf))
		t.Cleanup(func() { dev.Free(buf) })
		raw := make([]byte, buf.Size)
		for i := range rows * columns {
			binary.LittleEndian.PutUint16(raw[2*i:], float16.Fromfloat32(at(i/columns, i%columns)).Bits())
		}
		require.NoError(t, dev.Write(buf.All(), raw))
		return buf
	}
	a, b := upload("a", m.M, m.K, left), upload("b", m.K, m.N, right)
	c := &gpu.Buffer{Label: "c", Size: int64(4 * m.M * m.N)}
	require.NoError(t, dev.Alloc(c))
	t.Cleanup(func() { dev.Free(c) })
	p := &gpu.Program{Label: "product", Source: source, Storage: []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}}
	batch := &gpu.Batch{Label: "product"}
	batch.Dispatch("product", p, [3]uint32{1, 1, 1}, struct{ First gpu.First }{}, gpu.Cost{}, a.All(), b.All(), c.All())
	require.NoError(t, dev.Submit(context.Background(), batch))
	raw := make([]byte, c.Size)
	require.NoError(t, dev.Read(context.Background(), raw, c.All()))
	for i := range m.M * m.N {
		var want float32
		for k := range m.K {
			want += left(i/m.N, k) * right(k, i%m.N)
		}
		require.Equal(t, want, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])), "row %d, column %d", i/m.N, i%m.N)
	}
}

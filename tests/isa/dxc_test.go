package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A shader with an array that its loop reads and writes, one that only compiles, and one
// that fails, in the format of tools/wine/dxcompiler.c.
const dxcListing = adapterMark + "RTX, D3D12\n" +
	"\n" + shaderMark + "conv3d_f32|3 taps|plain|f32|first|01\n" + `
dxc: compiled in 120 ms, 20480 bytes, signed
;
; Input signature:
define void @dawn_entry_point() {
  %1 = alloca [96 x float], align 4
  %2 = alloca [8 x half], align 2
  store float 0.000000e+00, float* %1, align 4
  br label %3

; <label>:3                                       ; preds = %3, %0
  %4 = phi i32 [ 0, %0 ], [ %9, %3 ]
  %5 = load float, float* %1, align 4
  %6 = call float @dx.op.tertiary.f32(i32 46, float %5, float %5, float %5), !dx.precise !1  ; FMad(a,b,c)
  %7 = fmul float %6, %6
  %8 = load float, float addrspace(3)* %2, align 4
  store float %7, float* %1, align 4
  %9 = add i32 %4, 1
  br i1 %10, label %11, label %3

; <label>:11                                      ; preds = %3
  %12 = load float, float* %1, align 4
  ret void
}

dxc: end

` + shaderMark + "pointwise_f32|1 tap|tiled|f32|by trial|02\n" + `
dxc: compiled in 3500 ms, 1000 bytes, unsigned
define void @dawn_entry_point() {
  ret void
}

dxc: end

` + shaderMark + "sample_f32|small decode, f16|published||first|03\n" + `
dxc: failed with 80004005
hlsl.hlsl:1:1: error: no

dxc: end

` + planMark + "small decode, f16|01 02\n"

func TestDXC(t *testing.T) {
	folder := t.TempDir()
	long, kept := filepath.Join(folder, "long.txt"), filepath.Join(folder, "kept.txt")
	require.NoError(t, os.WriteFile(long, []byte(dxcListing), 0o600))
	require.NoError(t, keep(kept, []string{"sh", "-c", "cat " + long + " >&2"}))
	short, err := os.ReadFile(kept)
	require.NoError(t, err)
	_, shaders := parse(string(short))
	require.Len(t, shaders, 3)
	require.Equal(t, dxil{ms: 120, bytes: 20480, arrays: 96*4 + 8*2, accesses: 2}, *shaders[0].dxil)
	require.Equal(t, map[class]int{fma: 1, product: 1, memory: 3, vector: 3}, shaders[0].loop)
	require.Equal(t, dxil{ms: 3500, bytes: 1000, failure: "unsigned"}, *shaders[1].dxil)
	require.Equal(t, "failed with 80004005", shaders[2].dxil.failure)
	require.Equal(t, []plan{{"small decode, f16", []string{"01", "02"}}}, parsePlans(string(short)))

	head, page := filepath.Join(folder, "head.md"), filepath.Join(folder, "page.md")
	require.NoError(t, os.WriteFile(head, []byte("# Head\n"), 0o600))
	err = writeDXC(page, head, "Commit 1.", kept)
	require.EqualError(t, err, "conv3d_f32, 3 taps, plain: 2 accesses to arrays in loops, expected none\n"+
		"pointwise_f32, 1 tap, tiled: unsigned\n"+
		"sample_f32, small decode, f16, published: failed with 80004005")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "# Head\n\nCommit 1. Adapter: RTX, D3D12.\n")
	require.Contains(t, string(text), "| small decode, f16 | 2 | 3.6 | 3500 |\n")
	require.Contains(t, string(text), "| conv3d | 3 taps | **plain** | f32 | 400 | 2 | 8 | 1 | 1 | 20 | 120 |\n")
	require.NotContains(t, string(text), "published")
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A loop of three blocks inside another, in RADV's format.
const radv = adapterMark + "CARD (RADV), radv: Mesa 26\n" +
	"\n" + shaderMark + "conv3d_f16|3 taps|plain|f16\n" + `shader: MESA_SHADER_COMPUTE
    con 32      %0 = fma %1, %2
disasm:
BB0:
	s_load_b64 s[0:1], s[2:3], 0x30           ; f4080300
	v_mov_b32_e32 v65, v13                    ; 7e82030d
	s_branch BB1                              ; bfa00007
	s_nop 0                                   ; bf800000
	(then repeated 5 times)
BB9:
	s_add_u32 s6, s6, 1                       ; 80068106
BB1:
	v_add_nc_u32_e32 v1, v2, v3               ; 7e82030d
BB2:
	s_waitcnt vmcnt(0)                        ; bf8903f7
	v_fma_mix_f32 v8, v80, v92, v8            ; cc201008
	v_dual_fmac_f32 v8, v9, v9 :: v_dual_fmac_f32 v1, v2, v2
	v_pk_fma_f16 v8, v9, v9, v8
	v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[8:15], v[0:7]
BB3:
	ds_load_b128 v[2:5], v1                   ; 00
	buffer_load_b64 v[92:93], v92, s[12:15], 0 offen
	v_cndmask_b32_e32 v1, v2, v3              ; 00
	s_cbranch_scc0 BB2                        ; 00
	s_cbranch_scc0 BB9                        ; 00
	s_branch BB4                              ; 00
BB4:
	s_endpgm                                  ; bfb00000

*** SHADER STATS ***
SGPRs: 108
VGPRs: 96
Scratch size: 16
Subgroups per SIMD: 10
`

// This loop in NAK's format, which lists a block's predecessors, after an earlier pass.
// The loop's exit is inside the loop, the back edge after everything.
const nak = adapterMark + "NVK, Mesa 26\n" +
	"\n" + shaderMark + "pointwise_packed|1 tap|tiled|packed\n" + `NAK IR:
block 0 [1] -> {
    ffma
} -> [1]
NAK IR after calc_instr_deps:
block 0 [] -> {
      r15     = mov 0x1                                       // delay=4
} -> [1]
block.u 1 L6 [0, 4] -> {
      p0      = isetp.ge.u32 r13 c[0x1][0x18]                 // delay=13
@!p0            bra pT L11                                    // delay=1
} -> [2, 3]
block 2 L9 [1] -> {
                bra pT L12                                    // delay=1
} -> [5]
block.u 3 L10 [1] -> {
      r16     = ld.global.a64.constant.b32 [r16..18+rZ], p0   // delay=2
                st.local.strong.cta.b128 [rZ+rZ+0xf0] r12..16 // delay=1
      r36..40 = ld.shared.b128 [rZ+rZ], pT                    // delay=1
      r36     = ffma.ftz r24 r35 r36                          // delay=3
      r36..40 = hmma.m16n8k16 r1 r2 r3                        // delay=3
      r16 p0  = iadd3 r16 c[0x2][0x30] rZ                     // delay=1
} -> [4]
block 4 L11 [3] -> {
                bra pT L6
} -> [1]
block 5 L12 [2] -> {
                exit
} -> []

Stage: compute
Instruction count: 9
Max warps/SM: 12
Num GPRs: 136
SLM size: 256
`

func TestParse(t *testing.T) {
	adapter, shaders := parse(radv)
	require.Equal(t, "CARD (RADV), radv: Mesa 26", adapter)
	require.Equal(t, []shader{{
		label: "conv3d_f16", layer: "3 taps", kernel: "plain", elem: "f16", registers: 96, waves: 10, local: 16,
		loop: map[class]int{fma: 2, packed: 1, matrix: 1, vector: 1, shared: 1, memory: 1, scalar: 3, wait: 1},
	}}, shaders)

	adapter, shaders = parse(nak)
	require.Equal(t, "NVK, Mesa 26", adapter)
	require.Equal(t, []shader{{
		label: "pointwise_packed", layer: "1 tap", kernel: "tiled", elem: "packed", registers: 136, waves: 12, local: 256,
		loop: map[class]int{fma: 1, matrix: 1, vector: 4, shared: 1, memory: 2},
	}}, shaders)
}

// A shader without a loop, and a driver without listings, also get their lines.
func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ada.txt")
	text := adapterMark + "NVK, Mesa 26\n" + shaderMark + "softmax_f32|l|plain|f32\nnothing\n" +
		shaderMark + "rms_norm_f32|l|plain|f32\nNAK IR\nblock 0 [] -> {\n ffma r1\n\nStage: compute\nNum GPRs: 32\nMax warps/SM: 48\n" +
		shaderMark + "conv3d_f16|l|halves|f16\nNAK IR\nblock 0 [0] -> {\n r1 = hmul2 r1\n r1 = hfma2 r1\n r1 = ffma r1\n bra x\n\nStage: compute\nNum GPRs: 64\nMax warps/SM: 32\n" +
		shaderMark + "conv3d_f32|l|plain|f32\nNAK IR\nblock 0 [0] -> {\n r1 = ffma r1\n r1 = ffma r1\n r1 = ffma r1\n bra x\n\nStage: compute\nNum GPRs: 64\nMax warps/SM: 32\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var out bytes.Buffer
	require.NoError(t, report(&out, []string{file}))
	require.Equal(t, `## RTX 4090: NVK, Mesa 26

| shader | layer | kernel | storage | registers | waves | local bytes | inner loop | multiply-adds | matrix | at most TFLOP/s |
|---|---|---|---|---|---|---|---|---|---|---|
| softmax | l | plain | f32 | not listed by this driver | | | | | | |
| rms_norm | l | plain | f32 | 32 | 48 | 0 | none that multiplies | | | |
| conv3d | l | halves | f16 | 64 | 32 | 0 | 4 | 0.75 | 0.00 | 103 |
| conv3d | l | plain | f32 | 64 | 32 | 0 | 4 | 0.75 | 0.00 | 62 |

`, out.String())

	require.NoError(t, os.WriteFile(file, []byte("driver's words\n"), 0o600))
	require.EqualError(t, report(&out, []string{file}), file+": no shader in it, expected the listing of isa compile")
}

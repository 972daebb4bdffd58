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

// This loop in ANV's format, inside another one, without the passes before it.
const anv = adapterMark + "Arc, Mesa 26\n" +
	"\n" + shaderMark + "conv3d_f16|3 taps|plain|f16|first\n" + `Native code for unnamed compute shader (null) (src_hash 0x64)
SIMD32 shader: 17265 instructions. 2 loops. 26862906 cycles. 744:2098 spills:fills, 123 sends, scheduled with mode none. Promoted 0 constants. GRF registers: 128. Non-SSA regs (after NIR): 102.
(W)     mov (16)                  r113          r0.1<0>                           {Compacted}

L0:
(~f0.0) if (32)                               jip:L3              uip:L3
        mad (32)                  r1:f          r2:f              r3:f            r4:f

L1:
(f0.0)  break (32)                            jip:L2              uip:L2
(W)     mad (8)                   r57           20352:uw          r57:uw            4:uw {I@7}
        mad (32)                  r1:f          r2:f              r3:f            r4:f
        mad (32)                  r1:hf         r2:hf             r3:hf           r4<0>:hf {F@1}
        dpas.8x8 (16)             r10:f         r20:f             r30:hf          r40:hf
(W)     send.ugm (16)             null    r57    r56:1   a0.4        0x42000504   {ExBSO,I@3,$0}  // wr:1+1, rd:0; store.ugm.d32.a32.ss[a0.4]
        send.slm (32)             r1      r5     null:0  0x00000000  0x02000000   {$1}
(W)     sync.nop (1)                            null                              {$0.src}
        while (32)                                    L1

L2:
L3:
(~f0.0) while (32)                            L0
`

// And in Turnip's: loops are backward jumps, and instructions repeat.
const turnip = adapterMark + "Adreno, Mesa 26\n" +
	"\n" + shaderMark + "conv3d_f16|3 taps|plain|f16|by trial\n" + `MESA: info: Native code for unnamed CL shader (null) with blake3 b28a05:
MESA: info: ; num_ubos:           0
MESA: info: @in(r48.x)	in0 (wrmask=0x7)
MESA: info: shps #l2
MESA: info: (sy)(ss)shpe
MESA: info: l2:
MESA: info: (ss)br p0.x, #l9
MESA: info: l4:
MESA: info: (sy)(rpt1)mad.f32 r4.x, (r)r2.w, c4.x, (r)r4.x
MESA: info: (nop2) mad.f16 hr4.x, hr2.w, hc4.x, hr4.x
MESA: info: madsh.m16 r2.z, c9.z, r2.z, (last)r3.w
MESA: info: isam.v.base0 (u32)(xyzw)r1.z, r1.y, s#0, t#8
MESA: info: ldl.u32 r1.x, l[r2.x], 1
MESA: info: stp.u32 p[0], r1.x, 1
MESA: info: (rpt1)nop
MESA: info: br !p0.x, #l7
MESA: info: jump #l9
MESA: info: l7:
MESA: info: (jp)add.u r1.x, r1.x, 1
MESA: info: jump #l4
MESA: info: l9:
MESA: info: end
MESA: info: ; CL prog 33/1: 19 instr, 4 nops, 15 non-nops, 66 mov, 1 cov, 1120 dwords
MESA: info: ; CL prog 33/1: 0 last-baryf, 0 last-helper, 0 half, 32 full, 16 constlen
MESA: info: ; CL prog 33/1: 6 max_waves, 0 double_threadsize
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

// On Intel registers are of a subgroup, and loops between labels; on Adreno
// instructions repeat.
func TestParseOthers(t *testing.T) {
	adapter, shaders := parse(anv)
	require.Equal(t, "Arc, Mesa 26", adapter)
	require.Equal(t, []shader{{
		label: "conv3d_f16", layer: "3 taps", kernel: "plain", elem: "f16", first: true, registers: 128, waves: 32, local: 744,
		loop: map[class]int{fma: 2, matrix: 1, vector: 3, shared: 1, memory: 1, wait: 1},
	}}, shaders)

	adapter, shaders = parse(turnip)
	require.Equal(t, "Adreno, Mesa 26", adapter)
	require.Equal(t, []shader{{
		label: "conv3d_f16", layer: "3 taps", kernel: "plain", elem: "f16", registers: 128, waves: 6, local: 1,
		loop: map[class]int{fma: 3, vector: 4, shared: 1, memory: 2, wait: 4},
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

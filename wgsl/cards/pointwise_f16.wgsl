// pointwise_f16: pointwise.wgsl with products of halves, for activations stored as f16
//
// Bindings and Params are those of pointwise.wgsl. Products of DEPTH vec4s of input
// channels are summed as halves, these sums in f32. Reference: ref/conv3d.go. WG,
// PIXELS and BLOCK are in kernels.go. Grid: (P/PIXELS / across, C_out/BLOCK /
// (WG/across), frames).

#import tile
#import elem
#import pointwise_params
#import cards/f16

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight8>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

const MATRIX: u32 = 4u * WIDE; // vec4s of weights of four input channels and a block
const DEPTH: u32 = 4;

// tap{k} adds the products of temporal tap {k} for DEPTH vec4s of channels from c on,
// with weights from w on.
#unroll k 3
fn tap{k}(sums: ptr<function, Sums>, at: ptr<function, array<u32, PIXELS>>, c: u32, w: u32) {
    var parts = Parts();
    for (var d = 0u; d < DEPTH; d++) {
        if c + d < params.C_in4 {
            var row = array<vec4<f16>, PIXELS>();
            for (var p = 0u; p < PIXELS; p++) { row[p] = bitcast<vec4<f16>>(x{k}[params.x{k}_at + (*at)[p] + c + d]); }
            for (var i = 0u; i < 4u; i++) {
                let m = halves(weight[(w + d * MATRIX) / WIDE + i]);
                for (var p = 0u; p < PIXELS; p++) { add_halves(&parts, p, row[p][i], m); }
            }
        }
    }
    total(sums, &parts);
}
#end

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let p0 = mine.segment * PIXELS;
    if p0 >= params.P || WIDE * mine.block >= params.C_out4 { return; }
    let f = group.z;

    var sums = Sums();
    start(&sums, mine.block);
    var at = array<u32, PIXELS>();
#unroll p PIXELS
    at[{p}] = f * params.x_stride + min(p0 + {p}u, params.P - 1u) * params.C_in4;
#end
    let size = params.C_in4 * MATRIX; // weights of one temporal tap
    let weights = params.weight_at + mine.block * params.weight_stride;
    for (var c = 0u; c < params.C_in4; c += DEPTH) {
        let w = weights + c * MATRIX;
#unroll k 3
        if KT > {k}u { tap{k}(&sums, &at, c, w + {k}u * size); }
#end
    }
    store(&sums, f, p0, params.P, mine.block);
}

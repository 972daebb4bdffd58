// conv3d_f16: conv3d.wgsl with products of halves, for activations stored as f16
//
// Bindings and Params are those of conv3d.wgsl. Products of a row of taps and four
// input channels are summed as halves, these sums in f32. Reference: ref/conv3d.go. WG,
// PIXELS and BLOCK are in kernels.go. Grid: (segments of rows / across, C_out/BLOCK /
// (WG/across), frames).

#import tile
#import elem
#import conv3d_params
#import cards/rows_f16

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight8>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

// under{k} loads four channels of the pixels under a row of taps, for temporal tap {k}.
#unroll k 3
fn under{k}(row: ptr<function, Row>, column: ptr<function, Columns>, at: u32) {
#unroll q INPUTS
    (*row)[{q}] = bitcast<vec4<f16>>(select(vec2<u32>(), x{k}[params.x{k}_at + at + (*column).at[{q}]], (*column).inside[{q}]));
#end
}
#end

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    if mine.segment >= params.segments || WIDE * mine.block >= params.C_out4 { return; }
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = mine.segment / per_row;
    let s = (mine.segment % per_row) * PIXELS;
    let f = group.z;

    var sums = Sums();
    start(&sums, mine.block);
    var column = columns(i32(STRIDE * s) + params.left);
    var row = Row();
    let size = 3u * params.C_in4 * 3u * MATRIX; // weights of one temporal tap
    let weights = params.weight_at + mine.block * params.weight_stride;
    for (var i = 0u; i < 3u; i++) {
        let r_in = i32(STRIDE * r + i) + params.top;
        if r_in < 0 || r_in >= i32(SCALE * params.H_in) { continue; }
        let line = f * params.x_stride + u32(r_in) / SCALE * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = weights + (i * params.C_in4 + c) * 3u * MATRIX;
#unroll k 3
            if KT > {k}u {
                under{k}(&row, &column, line + c);
                multiply(&sums, &row, w + {k}u * size);
            }
#end
        }
    }
    store(&sums, f, r * params.W + s, (r + 1u) * params.W, mine.block);
}

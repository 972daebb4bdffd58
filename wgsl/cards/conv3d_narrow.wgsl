// conv3d_narrow: conv3d.wgsl in the adapter's smallest subgroups, for Intel's cards
//
// Bindings and Params are those of conv3d.wgsl. An invocation of a small subgroup has
// more registers. A workgroup makes WG segments of PIXELS pixels in one block, and
// keeps its weights for DEPTH vec4s of input channels in workgroup memory. Sums are f32.
// Reference: ref/conv3d.go. WG, PIXELS and BLOCK are in kernels.go. Grid: (segments of
// rows / WG, C_out/BLOCK, frames).

#import tile
#import elem
#import conv3d_params
#import cards/narrow_rows

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight8>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let segment = min(mine.segment, params.segments - 1u);
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = segment / per_row;
    let s = (segment % per_row) * PIXELS;
    let f = group.z;

    var sums = Sums();
    start(&sums, mine.block);
    var column = columns(i32(STRIDE * s) + params.left);
    taps(&sums, &column, i32(STRIDE * r) + params.top, f, mine.block, local);
    if mine.segment < params.segments {
        store(&sums, f, r * params.W + s, (r + 1u) * params.W, mine.block);
    }
}

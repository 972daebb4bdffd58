// conv_up_narrow: conv_up.wgsl in the adapter's smallest subgroups, for Intel's cards
//
// Bindings and Params are those of conv_up.wgsl. A workgroup makes WG segments of one
// block, as in conv3d_narrow.wgsl. Sums are f32. Reference: ref/conv_up.go. WG, PIXELS
// and BLOCK are in kernels.go. Grid: (segments / WG, blocks, frames).

#import tile
#import elem
#import conv_up_params
#import conv_up_parity
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
    let to = spot(mine.segment, mine.block);
    let f = group.z;

    var column = columns(to.column);
    var sums = Sums();
    if !ACCUMULATE {
        start(&sums, to.block);
        add_cells(&sums, &column, to);
    }
    taps(&sums, &column, to.row, f, to.block, local);
    if mine.segment < params.segments && to.r < params.H && to.pixel < to.end {
        let at = (f * params.Z + to.phase / 4u) * params.y_stride + (to.r * params.W + to.s0) * params.C_out4;
        store(&sums, at, to.pixel, to.end, to.block % params.blocks);
    }
}

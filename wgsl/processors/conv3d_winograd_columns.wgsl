// conv3d_winograd_columns: conv3d_winograd_transformed.wgsl in columns of pixels, for CPU drivers whose compiler detects subgroup-uniform addresses
//
// Bindings and Params are those of conv3d_winograd_transformed.wgsl. One invocation
// makes PIXELS pixels of a column in BLOCKS blocks of BLOCK output channels of all
// frames, one product after the other, see columns.wgsl.
//
// Sums are f32. Reference: ref/conv3d.go. Grid: (C_out/BLOCK/BLOCKS, columns, in rows
// padded to a multiple of 8, / WG, 1).

#import tile
#import elem
#import weight
#import processors/winograd_params
#import processors/weights_invocation
#import processors/winograd_outputs_loops
#import processors/columns

fn four(v: vec4<f32>) -> vec4<f32> { return v; }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) own: u32) {
    let group = workgroup + params.first.xyz;
    let block = BLOCKS * group.x;
    let first = column(group.y, params.W);
    let r = first.x;
    s = first.y + own;
    let all = places(i32(r) + params.top, i32(first.y) + params.left, own);
    let weights = block * params.weight_stride;

    var made = Made();
    begin(&made, block);
    for (var k = 0u; k < params.products; k++) {
        var sums = Sums();
        sweep0(&sums, all, k * params.x_stride, weights + k * TAPS * params.C_in4 * TAPS * MATRIX, own);
        give(&made, k, &sums);
    }
    if s < params.W {
        finish(&made, params.frames, r, params.H, block);
    }
}

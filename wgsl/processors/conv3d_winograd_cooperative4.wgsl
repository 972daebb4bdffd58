// conv3d_winograd_cooperative4: conv3d_winograd.wgsl with weights loaded by a subgroup together
//
// Bindings and Params are those of conv3d_winograd.wgsl; output channels are in BLOCKS
// blocks. A subgroup of four loads its common weights once. Loops are unrolled in the
// text, because SwiftShader unrolls none. Sums are f32. Reference: ref/conv3d.go. WG,
// PIXELS, BLOCK and BLOCKS are in kernels.go.

#import tile
#import elem
#import weight
#import conv3d_winograd_params
#import processors/weights_subgroup4
#import processors/multiply_unrolled
#import processors/accumulate
#import processors/winograd
#import processors/frames_unrolled

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let real = mine.segment < params.segments && WIDE * mine.block < params.C_out4;
    if !TOGETHER && !real { return; }
    ready();
    let segment = min(mine.segment, params.segments - 1u);
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = segment / per_row;
    let s = (segment % per_row) * PIXELS;

    var part = Part(i32(r) + params.top, columns(i32(s) + params.left), group.z * params.x_stride, mine.block * params.weight_stride);
    var even = Sums();
    var odd = Sums();
    start(&even, mine.block);
    frames(&even, &odd, &part);
    let pixel = r * params.W + s;
    if real {
        store(&even, 2u * group.z, pixel, (r + 1u) * params.W, mine.block);
        store(&odd, 2u * group.z + 1u, pixel, (r + 1u) * params.W, mine.block);
    }
}

// conv_up_winograd_cooperative4: conv_up_winograd.wgsl with weights loaded by a subgroup together
//
// Bindings and Params are those of conv_up_winograd.wgsl; output channels are in BLOCKS
// blocks. A subgroup of four loads its common weights once. Loops are unrolled in the
// text, because SwiftShader unrolls none. Sums are f32. Reference: ref/conv_up.go. WG,
// PIXELS, BLOCK and BLOCKS are in kernels.go.

#import tile
#import elem
#import weight
#import conv_up_winograd_params
#import processors/weights_subgroup4
#import processors/multiply_unrolled
#import processors/conv_up_parity
#import processors/winograd
#import processors/frames_unrolled

fn accumulates() -> bool { return false; }
fn biased() -> bool { return true; }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let to = spot(mine.segment, mine.block);
    let real = mine.segment < params.segments && to.phase < 4u && to.r < params.H && to.pixel < to.end;
    if !TOGETHER && !real { return; }
    ready();

    var cells = columns(to.column);
    var part = Part(to.row, cells, group.z * params.x_stride, to.block * params.weight_stride);
    var even = Sums();
    var odd = Sums();
    start(&even, to.block);
    add_cells(&even, &cells, to);
    frames(&even, &odd, &part);
    let at = 2u * group.z * params.y_stride + (to.r * params.W + to.s0) * params.C_out4;
    if real {
        store(&even, at, to.pixel, to.end, to.block % params.blocks);
        store(&odd, at + params.y_stride, to.pixel, to.end, to.block % params.blocks);
    }
}

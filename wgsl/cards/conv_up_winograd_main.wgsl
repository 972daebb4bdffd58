// The entry point of conv_up_winograd.wgsl and conv_up_winograd_passes.wgsl, which
// import frames().

#import conv_up_parity
#import cards/winograd

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let to = spot(mine.segment, mine.block);
    if mine.segment >= params.segments || to.phase >= 4u || to.r >= params.H || to.pixel >= to.end { return; }

    var cells = columns(to.column);
    var part = Part(to.row, cells, group.z * params.x_stride, to.block * params.weight_stride);
    var even = Sums();
    var odd = Sums();
    start(&even, to.block);
    add_cells(&even, &cells, to);
    frames(&even, &odd, &part);
    let at = 2u * group.z * params.y_stride + (to.r * params.W + to.s0) * params.C_out4;
    store(&even, at, to.pixel, to.end, to.block % params.blocks);
    store(&odd, at + params.y_stride, to.pixel, to.end, to.block % params.blocks);
}

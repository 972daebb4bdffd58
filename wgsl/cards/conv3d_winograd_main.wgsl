// The entry point of conv3d_winograd.wgsl and conv3d_winograd_passes.wgsl, which import
// frames().

#import cards/winograd

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    if mine.segment >= params.segments || WIDE * mine.block >= params.C_out4 { return; }
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = mine.segment / per_row;
    let s = (mine.segment % per_row) * PIXELS;

    var part = Part(i32(r) + params.top, columns(i32(s) + params.left), group.z * params.x_stride, mine.block * params.weight_stride);
    var even = Sums();
    var odd = Sums();
    start(&even, mine.block);
    frames(&even, &odd, &part);
    let pixel = r * params.W + s;
    store(&even, 2u * group.z, pixel, (r + 1u) * params.W, mine.block);
    store(&odd, 2u * group.z + 1u, pixel, (r + 1u) * params.W, mine.block);
}

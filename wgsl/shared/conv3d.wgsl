// The 3x3xKT convolution of conv3d.wgsl and conv3d_strided.wgsl, which say what
// it computes.

#import conv3d_params

#import taps

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let block = mine.block;
    let real = mine.segment < params.segments && WIDE * block < params.C_out4;
    if !TOGETHER && !real { return; }
    ready();
    let segment = min(mine.segment, params.segments - 1u);
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = segment / per_row;
    let s = (segment % per_row) * PIXELS;
    let f = group.z;

    var sums = Sums();
    start(&sums, block);
    var column = columns(i32(STRIDE * s) + params.left);
    taps(&sums, &column, i32(STRIDE * r) + params.top, f, block);
    if real {
        store(&sums, f, r * params.W + s, (r + 1u) * params.W, block);
    }
}

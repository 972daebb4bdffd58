// The 3x3xKT convolution of conv3d_columns.wgsl and conv3d_strided_columns.wgsl, which
// say what it computes.

#import conv3d_params
#import columns_frames

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) own: u32) {
    let group = workgroup + params.first.xyz;
    let block = BLOCKS * group.x;
    let first = column(group.y, params.W);
    let r = first.x;
    let s = first.y + own;

    var sums = Sums();
    start(&sums, block);
    sweep(&sums, places(i32(STRIDE * r) + params.top, i32(STRIDE * first.y) + params.left, own), group.z * params.x_stride, block, own);
    for (var n = 0u; n < PIXELS * BLOCKS * WIDE; n++) { // one place that stores is less to compile
        let p = n / (BLOCKS * WIDE);
        let h = n % (BLOCKS * WIDE);
        let o = block * WIDE + h;
        if r + p < params.H && s < params.W {
            put(sums[(h / WIDE * PIXELS + p) * WIDE + h % WIDE], place(group.z, (r + p) * params.W + s, o), o);
        }
    }
}

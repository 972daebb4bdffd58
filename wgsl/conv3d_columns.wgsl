// conv3d_columns: conv3d.wgsl in columns of pixels, for processors whose compiler sees which addresses are the same for all
//
// The same y, x0 to x2, weight and bias. One invocation makes PIXELS pixels of a column
// in BLOCKS blocks of BLOCK output channels, as shared/columns.wgsl has it.
//
// Sums are f32. Reference: ref/conv3d.go.
// Grid: (C_out/BLOCK/BLOCKS, columns, of rows of a multiple of 8 / WG, frames).

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
    sweep(&sums, places(i32(r) + params.top, i32(first.y) + params.left, own), group.z * params.x_stride, block, own);
    for (var n = 0u; n < PIXELS * BLOCKS * WIDE; n++) { // one place that stores is less to compile
        let p = n / (BLOCKS * WIDE);
        let h = n % (BLOCKS * WIDE);
        let o = block * WIDE + h;
        if r + p < params.H && s < params.W {
            put(sums[(h / WIDE * PIXELS + p) * WIDE + h % WIDE], place(group.z, (r + p) * params.W + s, o), o);
        }
    }
}

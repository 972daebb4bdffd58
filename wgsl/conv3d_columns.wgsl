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
    let mine = Seat(group.y * WG + own, BLOCKS * group.x);
    let per_row = (params.W + 7u) & ~7u;
    let r = PIXELS * (mine.segment / per_row);
    let s = mine.segment % per_row;

    var sums = Sums();
    start(&sums, mine.block);
    sweep(&sums, places(i32(r) + params.top, i32(s - own) + params.left, own), group.z * params.x_stride, mine.block, own);
    for (var n = 0u; n < PIXELS * BLOCKS * WIDE; n++) { // one place that stores is less to compile
        let p = n / (BLOCKS * WIDE);
        let h = n % (BLOCKS * WIDE);
        let o = mine.block * WIDE + h;
        if r + p < params.H && s < params.W {
            put(sums[(h / WIDE * PIXELS + p) * WIDE + h % WIDE], place(group.z, (r + p) * params.W + s, o), o);
        }
    }
}

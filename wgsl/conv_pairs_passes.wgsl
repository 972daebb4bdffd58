// conv_pairs_passes: conv_pairs.wgsl, which says what it computes and binds, with
// one product after the other: m1 and m2 into sums that become their sum and
// difference, then m0 and -m3 into these. Half as many sums are alive, and two
// frames are read twice.

#import conv_pairs

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    if mine.segment >= params.segments || WIDE * mine.block >= params.C_out4 { return; }
    let r = mine.segment / per_row;
    let s = (mine.segment % per_row) * PIXELS;
    let tap = 9u * params.C_in4 * MATRIX; // weights of one of G0..G3
    let lines = group.z * params.x_stride;
    let block = mine.block * params.weight_stride;

    var even = Sums(); // at first m1
    var odd = Sums();  // at first m2
    var column = columns(s);
    for (var i = 0u; i < 3u; i++) {
        let r_in = i32(r + i) + params.top;
        if r_in < 0 || r_in >= i32(params.H_in) { continue; }
        let line = lines + u32(r_in) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = block + (i * params.C_in4 + c) * 3u * MATRIX;
            var row = Row();
            var other = Row();
            for (var q = 0u; q < INPUTS; q++) {
                let at = line + column.at[q] + c;
                row[q] = select(vec4<f32>(), load4(x1[params.x1_at + at]), column.inside[q]);
                other[q] = select(vec4<f32>(), load4(x2[params.x2_at + at]), column.inside[q]);
            }
            for (var q = 0u; q < INPUTS; q++) {
                let d1 = row[q];
                row[q] = d1 + other[q];
                other[q] -= d1;
            }
            multiply(&even, &row, w + tap);
            multiply(&odd, &other, w + 2u * tap);
        }
    }
    var sums = Sums();
    start(&sums, mine.block);
    for (var n = 0u; n < WIDE * PIXELS; n++) {
        let m1 = even[n] + sums[n];
        even[n] = m1 + odd[n];
        odd[n] = m1 - odd[n];
    }
    for (var i = 0u; i < 3u; i++) {
        let r_in = i32(r + i) + params.top;
        if r_in < 0 || r_in >= i32(params.H_in) { continue; }
        let line = lines + u32(r_in) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = block + (i * params.C_in4 + c) * 3u * MATRIX;
            var row = Row();
            for (var q = 0u; q < INPUTS; q++) {
                let at = line + column.at[q] + c;
                row[q] = select(vec4<f32>(), load4(x0[params.x0_at + at]) - load4(x2[params.x2_at + at]), column.inside[q]);
            }
            multiply(&even, &row, w);
            for (var q = 0u; q < INPUTS; q++) {
                let at = line + column.at[q] + c;
                row[q] = select(vec4<f32>(), load4(x3[params.x3_at + at]) - load4(x1[params.x1_at + at]), column.inside[q]);
            }
            multiply(&odd, &row, w + 3u * tap);
        }
    }
    let pixel = r * params.W + s;
    store(&even, 2u * group.z, pixel, (r + 1u) * params.W, mine.block);
    store(&odd, 2u * group.z + 1u, pixel, (r + 1u) * params.W, mine.block);
}

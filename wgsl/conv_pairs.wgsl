// conv_pairs: y[2f+n,r,s,o] = bias[o] + sum_{k,i,j,c} W[o,c,k,i,j] * x_{n+k}[f, r+i+top, s+j+left, c]  (+ y[2f+n,r,s,o]), n = 0, 1
//
// conv3d.wgsl's convolution with three temporal taps of frames two by two, by
// Winograd's F(2,3) along time: of four frames d0..d3 and the taps W0..W2, with
// G0 = W0, G1 = (W0+W1+W2)/2, G2 = (W0-W1+W2)/2 and G3 = W2 of pair_taps.wgsl, the
// frames are m0 + m1 + m2 and m1 - m2 - m3, where m0 = (d0-d2)*G0, m1 = (d1+d2)*G1,
// m2 = (d2-d1)*G2 and m3 = (d1-d3)*G3: four products for six.
//
//   x0 .. x3  [pairs, H_in, W_in, C_in]  elem    read        from x0_at .. x3_at on: what the first pair reads
//   weight    [C_out/BLOCK, 4, 3, C_in/4, 3, 4, BLOCK]  weight  read  G0..G3; ends: block, tap, row, input, column, input, output
//   bias      [C_out/BLOCK * BLOCK]      f32     read
//   y         [2*pairs, H, W, C_out]     elem    read_write  from y_at on; aliases nothing; with
//                                                            ACCUMULATE it holds the residual
//
// Offsets *_at, x_stride (between pairs), y_stride (between frames) and
// weight_stride (between blocks) count vec4s. Outside of x in space is zero. One
// invocation makes PIXELS pixels of a row in BLOCK output channels of both frames,
// all four products at once; sums are f32, and so are those of frames. Reference:
// ref/conv3d.go. WG, PIXELS and BLOCK are in conv_pairs.go.
// Grid: (segments of rows / across, C_out/BLOCK / (WG/across), pairs).

#import conv_pairs

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let real = mine.segment < params.segments && WIDE * mine.block < params.C_out4;
    if !TOGETHER && !real { return; }
    ready();
    let segment = min(mine.segment, params.segments - 1u);
    let r = segment / per_row;
    let s = (segment % per_row) * PIXELS;
    let tap = 9u * params.C_in4 * MATRIX; // weights of one of G0..G3

    var m0 = Sums();
    start(&m0, mine.block);
    var m1 = Sums();
    var m2 = Sums();
    var m3 = Sums();
    var column = columns(s);
    for (var i = 0u; i < 3u; i++) {
        let r_in = i32(r + i) + params.top;
        let r_clamped = clamp(r_in, 0, i32(params.H_in) - 1);
        if !TOGETHER && r_in != r_clamped { continue; }
        let here = !TOGETHER || r_in == r_clamped;
        let line = group.z * params.x_stride + u32(r_clamped) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = mine.block * params.weight_stride + (i * params.C_in4 + c) * 3u * MATRIX;
            var a = Row();
            var b = Row();
            var d = Row();
            var e = Row();
            for (var q = 0u; q < INPUTS; q++) {
                let at = line + column.at[q] + c;
                if column.inside[q] && here {
                    let d1 = load4(x1[params.x1_at + at]);
                    let d2 = load4(x2[params.x2_at + at]);
                    a[q] = load4(x0[params.x0_at + at]) - d2;
                    b[q] = d1 + d2;
                    d[q] = d2 - d1;
                    e[q] = d1 - load4(x3[params.x3_at + at]);
                }
            }
            multiply(&m0, &a, w);
            multiply(&m1, &b, w + tap);
            multiply(&m2, &d, w + 2u * tap);
            multiply(&m3, &e, w + 3u * tap);
        }
    }
    var first = Sums();
    start(&first, mine.block);
    for (var n = 0u; n < WIDE * PIXELS; n++) {
        m0[n] += m1[n] + m2[n];
        first[n] += m1[n] - m2[n] - m3[n];
    }
    let pixel = r * params.W + s;
    if !TOGETHER || real {
        store(&m0, 2u * group.z, pixel, (r + 1u) * params.W, mine.block);
        store(&first, 2u * group.z + 1u, pixel, (r + 1u) * params.W, mine.block);
    }
}

// The 3x3xKT convolution of conv3d.wgsl and conv3d_strided.wgsl, which say what
// it computes and declare STRIDE.

#import conv3d_params
#import products

const INPUTS: u32 = (PIXELS - 1u) * STRIDE + 3u; // pixels under those that an invocation makes

alias Row = array<vec4<f32>, INPUTS>; // pixels of x under a row's taps, four channels

// multiply adds the products of a row of x with three taps.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, at: u32) {
    for (var j = 0u; j < 3u; j++) {
        let m = matrix(at + j * MATRIX);
        for (var p = 0u; p < PIXELS; p++) {
            add(sums, p, (*row)[STRIDE * p + j], m);
        }
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let real = mine.segment < params.segments && WIDE * mine.block < params.C_out4;
    if !TOGETHER && !real { return; }
    ready();
    let segment = min(mine.segment, params.segments - 1u);
    let block = mine.block;
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = segment / per_row;
    let s = (segment % per_row) * PIXELS;
    let f = group.z;

    var sums = Sums();
    start(&sums, block);
    let tap_size = 3u * params.C_in4 * 3u * MATRIX; // weights of one temporal tap
    let w_block = params.weight_at + block * params.weight_stride;
    // Column offsets of the input pixels, clamped into the row, and whether they are inside of it.
    var column = array<u32, INPUTS>();
    var inside = array<bool, INPUTS>();
    for (var q = 0u; q < INPUTS; q++) {
        let s_in = i32(STRIDE * s + q) + params.left;
        let clamped = clamp(s_in, 0, i32(SCALE * params.W_in) - 1);
        column[q] = u32(clamped) / SCALE * params.C_in4;
        inside[q] = s_in == clamped;
    }
    for (var i = 0u; i < 3u; i++) {
        let r_in = i32(STRIDE * r + i) + params.top;
        let r_clamped = clamp(r_in, 0, i32(SCALE * params.H_in) - 1);
        if !TOGETHER && r_in != r_clamped { continue; }
        let here = !TOGETHER || r_in == r_clamped;
        let line = f * params.x_stride + u32(r_clamped) / SCALE * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = w_block + (i * params.C_in4 + c) * 3u * MATRIX;
            var row = Row();
            for (var q = 0u; q < INPUTS; q++) {
                row[q] = select(vec4<f32>(), load4(x0[params.x0_at + line + column[q] + c]), inside[q] && here);
            }
            multiply(&sums, &row, w);
            if KT > 1u {
                for (var q = 0u; q < INPUTS; q++) {
                    row[q] = select(vec4<f32>(), load4(x1[params.x1_at + line + column[q] + c]), inside[q] && here);
                }
                multiply(&sums, &row, w + tap_size);
            }
            if KT > 2u {
                for (var q = 0u; q < INPUTS; q++) {
                    row[q] = select(vec4<f32>(), load4(x2[params.x2_at + line + column[q] + c]), inside[q] && here);
                }
                multiply(&sums, &row, w + 2u * tap_size);
            }
        }
    }
    if !TOGETHER || real {
        store(&sums, f, r * params.W + s, (r + 1u) * params.W, block);
    }
}

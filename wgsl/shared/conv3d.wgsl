// The 3x3xKT convolution of conv3d.wgsl and conv3d_strided.wgsl, which say what
// it computes and declare STRIDE.

#import tile
#import elem
#import weight
#import products

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    top: i32,
    left: i32,
    x0_at: u32,
    x1_at: u32,
    x2_at: u32,
    x_stride: u32,
    weight_at: u32,
    weight_stride: u32,
    y_at: u32,
    y_stride: u32,
    segments: u32,
    across: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight4>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

override KT: u32 = 3;    // temporal taps computed, the last of the weight's
override SCALE: u32 = 1; // x is read as if enlarged so often by nearest neighbour
override ACCUMULATE: bool = false;

const INPUTS: u32 = (PIXELS - 1u) * STRIDE + 3u;

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

fn place(f: u32, pixel: u32, o: u32) -> u32 {
    return f * params.y_stride + pixel * params.C_out4 + o;
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let segment = group.x * params.across + local % params.across;
    let block = group.y * (WG / params.across) + local / params.across;
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    if segment >= params.segments || WIDE * block >= params.C_out4 { return; }
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
        if r_in < 0 || r_in >= i32(SCALE * params.H_in) { continue; }
        let line = f * params.x_stride + u32(r_in) / SCALE * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = w_block + (i * params.C_in4 + c) * 3u * MATRIX;
            var row = Row();
            for (var q = 0u; q < INPUTS; q++) {
                row[q] = select(vec4<f32>(), load4(x0[params.x0_at + line + column[q] + c]), inside[q]);
            }
            multiply(&sums, &row, w);
            if KT > 1u {
                for (var q = 0u; q < INPUTS; q++) {
                    row[q] = select(vec4<f32>(), load4(x1[params.x1_at + line + column[q] + c]), inside[q]);
                }
                multiply(&sums, &row, w + tap_size);
            }
            if KT > 2u {
                for (var q = 0u; q < INPUTS; q++) {
                    row[q] = select(vec4<f32>(), load4(x2[params.x2_at + line + column[q] + c]), inside[q]);
                }
                multiply(&sums, &row, w + 2u * tap_size);
            }
        }
    }
    store(&sums, f, r * params.W + s, (r + 1u) * params.W, block);
}

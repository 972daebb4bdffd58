// What the kernels of conv_pairs declare: bindings, Params, where an invocation's
// pixels lie, and the products of a row.

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
    x3_at: u32,
    x_stride: u32,
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
@group(0) @binding(4) var<storage, read> x3: array<elem4>;
@group(0) @binding(5) var<storage, read> weight: array<weight4>;
@group(0) @binding(6) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> y: array<elem4>;

override ACCUMULATE: bool = false;

const INPUTS: u32 = PIXELS + 2u;

alias Row = array<vec4<f32>, INPUTS>; // pixels under a row's taps, four channels

// Columns are where the pixels under a row's taps lie in a row of x, clamped into
// it, and whether they are inside of it.
struct Columns {
    at: array<u32, INPUTS>,
    inside: array<bool, INPUTS>,
}

fn place(f: u32, pixel: u32, o: u32) -> u32 {
    return f * params.y_stride + pixel * params.C_out4 + o;
}

fn columns(s: u32) -> Columns {
    var all = Columns();
    for (var q = 0u; q < INPUTS; q++) {
        let s_in = i32(s + q) + params.left;
        let clamped = clamp(s_in, 0, i32(params.W_in) - 1);
        all.at[q] = u32(clamped) * params.C_in4;
        all.inside[q] = s_in == clamped;
    }
    return all;
}

// multiply adds the products of a row with three taps.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, at: u32) {
    for (var j = 0u; j < 3u; j++) {
        let m = matrix(at + j * MATRIX);
        for (var p = 0u; p < PIXELS; p++) {
            add(sums, p, (*row)[p + j], m);
        }
    }
}

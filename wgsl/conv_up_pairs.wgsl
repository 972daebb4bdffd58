// conv_up_pairs: conv_up.wgsl's convolution with three temporal taps and one phase,
// of frames two by two by Winograd's F(2,3) along time, as conv_pairs.wgsl has it:
// four products for six.
//
//   x0 .. x3  [pairs, H_in, W_in, C_in]  elem    read        from x0_at .. x3_at on: what the first pair reads
//   weight    [4, C_out/BLOCK, 4, 2, C_in/4, 2, 4, BLOCK]  weight  read  G0..G3 of pair_taps.wgsl
//   bias      [4, C_out/BLOCK, 5, BLOCK]  f32    read        bias, then that of the four cells
//   y         [2*pairs, H, W, C_out]     elem    read_write  from y_at on; aliases nothing
//
// Offsets *_at, x_stride (between pairs), y_stride (between frames) and
// weight_stride (between blocks) count vec4s. Reference: ref/conv_up.go. WG, PIXELS
// and BLOCK are in conv_up_pairs.go.
// Grid: (segments / across, blocks / (WG/across), pairs).

#import tile
#import elem
#import weight
#import products

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    H: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    blocks: u32, // of a parity
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

const ACCUMULATE: bool = false;

const INPUTS: u32 = PIXELS + 1u;

alias Row = array<vec4<f32>, INPUTS>; // cells under a row's taps, four channels

// multiply adds the products of a row of cells with two taps.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, at: u32) {
    for (var j = 0u; j < 2u; j++) {
        let m = matrix(at + j * MATRIX);
        for (var p = 0u; p < PIXELS; p++) {
            add(sums, p, (*row)[p + j], m);
        }
    }
}

// place is where pixel number `pixel` of the row that begins at `line` lies.
fn place(line: u32, pixel: u32, o: u32) -> u32 {
    return line + 2u * pixel * params.C_out4 + o;
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let segment = mine.segment;
    let block = mine.block;
    if segment >= params.segments || block >= 4u * params.blocks { return; }
    let phase = block / params.blocks; // of parity
    let row_parity = i32(phase / 2u);
    let column_parity = i32(phase % 2u);
    // The first row and column of y that have the parity, and how many columns there are.
    let r0 = u32((row_parity - params.top) & 1);
    let s0 = u32((column_parity - params.left) & 1);
    let per_row = ((params.W + 1u) / 2u + PIXELS - 1u) / PIXELS;
    let r = 2u * (segment / per_row) + r0;
    let pixel = (segment % per_row) * PIXELS;
    let end = (params.W - s0 + 1u) / 2u;
    if r >= params.H || pixel >= end { return; }
    // The first cell that is read.
    let cell_row = ((params.top + i32(r)) >> 1u) - 1 + row_parity;
    let cell_column = ((params.left + i32(s0)) >> 1u) - 1 + column_parity + i32(pixel);
    let f = group.z;

    // Column offsets of the cells, clamped into the row, and whether they are inside of it.
    var column = array<u32, INPUTS>();
    var inside = array<bool, INPUTS>();
    for (var q = 0u; q < INPUTS; q++) {
        let s = cell_column + i32(q);
        let clamped = clamp(s, 0, i32(params.W_in) - 1);
        column[q] = u32(clamped) * params.C_in4;
        inside[q] = s == clamped;
    }
    var m0 = Sums();
    start(&m0, 5u * block);
    var m1 = Sums();
    var m2 = Sums();
    var m3 = Sums();
    var both = Sums(); // the bias of cells inside of x
    let tap = 2u * params.C_in4 * 2u * MATRIX; // weights of one of G0..G3
    for (var i = 0u; i < 2u; i++) {
        let r_in = cell_row + i32(i);
        if r_in < 0 || r_in >= i32(params.H_in) { continue; }
        for (var j = 0u; j < 2u; j++) {
            let b0 = bias[(5u * block + 1u + 2u * i + j) * WIDE];
            let b1 = bias[(5u * block + 1u + 2u * i + j) * WIDE + 1u];
            for (var p = 0u; p < PIXELS; p++) {
                both[WIDE * p] += select(vec4<f32>(), b0, inside[p + j]);
                both[WIDE * p + 1u] += select(vec4<f32>(), b1, inside[p + j]);
            }
        }
        let line = f * params.x_stride + u32(r_in) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = block * params.weight_stride + (i * params.C_in4 + c) * 2u * MATRIX;
            var a = Row();
            var b = Row();
            var d = Row();
            var e = Row();
            for (var q = 0u; q < INPUTS; q++) {
                let at = line + column[q] + c;
                if inside[q] {
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
    var second = Sums();
    start(&second, 5u * block);
    for (var n = 0u; n < WIDE * PIXELS; n++) {
        m0[n] += both[n] + m1[n] + m2[n];
        second[n] += both[n] + m1[n] - m2[n] - m3[n];
    }
    let at = 2u * f * params.y_stride + (r * params.W + s0) * params.C_out4;
    store(&m0, at, pixel, end, block % params.blocks);
    store(&second, at + params.y_stride, pixel, end, block % params.blocks);
}

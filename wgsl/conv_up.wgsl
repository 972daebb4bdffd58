// conv_up: an enlarging convolution folded with the one before it: y is twice as high and wide as x, and
// y[f*Z+z, r, s, o] = bias[z,p,o] + sum_{i,j inside x} cell[z,p,i,j,o]
//                   + sum_{k,i,j,c} weight[z,p,o,c,k,i,j] * x_k[f, cell row + i, cell column + j, c]
//
// p is the parity of the pixel, 2*(R%2) + S%2 at row R = r + top and column S =
// s + left of the enlarged frame, which y is a part of. Of x it reads 2x2 cells,
// from row floor((R-1)/2) and column floor((S-1)/2) on; outside of x is zero, and
// so is then what `cell` adds: the bias of the convolution before. Z phases of time,
// each with weights of its own, read the same frames, bound as in conv3d.wgsl.
//
//   x0 x1 x2  [frames, H_in, W_in, C_in]  elem    read        from x0_at, x1_at, x2_at on
//   weight    [Z, 4, C_out/BLOCK, taps, 2, C_in/4, 2, 4, BLOCK]  weight  read
//   bias      [Z, 4, C_out/BLOCK, 5, BLOCK]  f32  read        bias, then that of the four cells
//   y         [frames * Z, H, W, C_out]   elem    read_write  from y_at on; aliases nothing; with
//                                                             ACCUMULATE added to, without a bias
//
// Offsets *_at and strides count vec4s; with KT = 1 only x0 is read, with KT = 2 x0
// and x1, and weight_at is the first of these taps. One invocation makes PIXELS pixels of one
// parity, every other one of a row, in BLOCK output channels; a block belongs to
// one phase and parity. Sums are f32. Reference: ref/conv_up.go. A workgroup is
// `across` segments of rows by WG/across blocks. WG, PIXELS and BLOCK are in
// conv_up.go. Grid: (segments / across, blocks / (WG/across), frames).

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
    Z: u32,
    blocks: u32, // of a parity
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

override KT: u32 = 1; // temporal taps
override ACCUMULATE: bool = false;

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
    let seated = segment < params.segments && block < 4u * params.Z * params.blocks;
    if !TOGETHER && !seated { return; }
    ready();
    let phase = block / params.blocks; // of time and parity
    let row_parity = i32(phase / 2u % 2u);
    let column_parity = i32(phase % 2u);
    // The first row and column of y that have the parity, and how many columns there are.
    let r0 = u32((row_parity - params.top) & 1);
    let s0 = u32((column_parity - params.left) & 1);
    let per_row = ((params.W + 1u) / 2u + PIXELS - 1u) / PIXELS;
    let r = 2u * (segment / per_row) + r0;
    let pixel = (segment % per_row) * PIXELS;
    let end = (params.W - s0 + 1u) / 2u;
    let real = seated && r < params.H && pixel < end;
    if !TOGETHER && !real { return; }
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
    var sums = Sums();
    if !ACCUMULATE { start(&sums, 5u * block); }
    let tap_size = 2u * params.C_in4 * 2u * MATRIX; // weights of one temporal tap
    let w_block = params.weight_at + block * params.weight_stride;
    for (var i = 0u; i < 2u; i++) {
        let r_in = cell_row + i32(i);
        let r_clamped = clamp(r_in, 0, i32(params.H_in) - 1);
        if !TOGETHER && r_in != r_clamped { continue; }
        let here = !TOGETHER || r_in == r_clamped;
        for (var j = 0u; j < 2u && !ACCUMULATE; j++) {
            let b0 = bias[(5u * block + 1u + 2u * i + j) * WIDE];
            let b1 = bias[(5u * block + 1u + 2u * i + j) * WIDE + 1u];
            for (var p = 0u; p < PIXELS; p++) {
                sums[WIDE * p] += select(vec4<f32>(), b0, inside[p + j] && here);
                sums[WIDE * p + 1u] += select(vec4<f32>(), b1, inside[p + j] && here);
            }
        }
        let line = f * params.x_stride + u32(r_clamped) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = w_block + (i * params.C_in4 + c) * 2u * MATRIX;
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
    let at = (f * params.Z + phase / 4u) * params.y_stride + (r * params.W + s0) * params.C_out4;
    if !TOGETHER || real {
        store(&sums, at, pixel, end, block % params.blocks);
    }
}

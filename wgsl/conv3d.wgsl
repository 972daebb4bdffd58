// conv3d: y[f,r,s,o] = bias[o] + sum_{k,i,j,c} weight[o,c,k,i,j] * x_k[f, r+i-1, s+j-1, c]  (+ y[f,r,s,o])
//
// A causal 3x3xKT convolution of stride 1, zero padded by one pixel in space.
// Time is bound, not indexed: x0, x1, x2 are the frames that the first output
// frame's three taps read (causal memory, a repeated first frame or earlier
// frames of the clip), and frame f of each follows f frames later.
//
//   x0 x1 x2  [frames, H, W, C_in]    elem    read        from x0_at, x1_at, x2_at on
//   weight    [C_out/8, KT, 3, C_in/4, 3, 4, 8]  weight  read   ends: block, tap, row, input, column, input, output
//   bias      [C_out/8 * 8]           f32     read
//   y         [frames, H, W, C_out]   elem    read_write  from y_at on; aliases nothing; with
//                                                         ACCUMULATE it holds the residual
//
// Offsets *_at and x_stride, y_stride (between frames) count vec4s. With KT = 1
// only x0 is read. One invocation makes 8 pixels of a row in 8 output channels
// and keeps the 10 input pixels under them in registers for the row's 3 taps.
// Sums are f32. Reference: ref/conv3d.go. A workgroup is `across` of
// them side by side, WG/across blocks of channels deep, so that few pixels fill it too.
// Grid: (segments of rows / across, C_out/8 / (WG/across), frames).

#import elem
#import weight

struct Params {
    first: vec4<u32>,
    H: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    x0_at: u32,
    x1_at: u32,
    x2_at: u32,
    x_stride: u32,
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

override WG: u32 = 64;
override KT: u32 = 3;
override ACCUMULATE: bool = false;

const PIXELS: u32 = 8;

alias Sums = array<vec4<f32>, 16>; // [pixel][two vec4 of output channels]
alias Row = array<vec4<f32>, 10>;  // input pixels s-1 .. s+8, four channels

// multiply adds the products of one row of input with three taps.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, at: u32) {
    for (var j = 0u; j < 3u; j++) {
        let w = at + j * 8u;
        let a0 = load_weight4(weight[w]);
        let a1 = load_weight4(weight[w + 1u]);
        let b0 = load_weight4(weight[w + 2u]);
        let b1 = load_weight4(weight[w + 3u]);
        let c0 = load_weight4(weight[w + 4u]);
        let c1 = load_weight4(weight[w + 5u]);
        let d0 = load_weight4(weight[w + 6u]);
        let d1 = load_weight4(weight[w + 7u]);
        for (var p = 0u; p < PIXELS; p++) {
            let v = (*row)[p + j];
            (*sums)[2u * p] += v.x * a0 + v.y * b0 + v.z * c0 + v.w * d0;
            (*sums)[2u * p + 1u] += v.x * a1 + v.y * b1 + v.z * c1 + v.w * d1;
        }
    }
}

// inside is where input column s + q - 1 exists.
fn inside(s: u32, q: u32) -> bool {
    return s + q >= 1u && s + q - 1u < params.W;
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let segment = group.x * params.across + local % params.across;
    let block = group.y * (WG / params.across) + local / params.across;
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    if segment >= params.segments || 2u * block >= params.C_out4 { return; }
    let r = segment / per_row;
    let s = (segment % per_row) * PIXELS;
    let f = group.z;

    let b0 = bias[block * 2u];
    let b1 = bias[block * 2u + 1u];
    var sums = Sums();
    for (var p = 0u; p < PIXELS; p++) {
        sums[2u * p] = b0;
        sums[2u * p + 1u] = b1;
    }

    let taps_size = 3u * params.C_in4 * 24u; // weights of one temporal tap
    let w_block = block * KT * taps_size;
    // Column offsets of the ten input pixels, clamped into the row.
    var column = array<u32, 10>();
    for (var q = 0u; q < 10u; q++) {
        column[q] = u32(clamp(i32(s + q) - 1, 0, i32(params.W) - 1)) * params.C_in4;
    }
    for (var i = 0u; i < 3u; i++) {
        if r + i < 1u || r + i > params.H { continue; }
        let line = f * params.x_stride + (r + i - 1u) * params.W * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = w_block + (i * params.C_in4 + c) * 24u;
            var row = Row();
            for (var q = 0u; q < 10u; q++) {
                row[q] = select(vec4<f32>(), load4(x0[params.x0_at + line + column[q] + c]), inside(s, q));
            }
            multiply(&sums, &row, w);
            if KT > 1u {
                for (var q = 0u; q < 10u; q++) {
                    row[q] = select(vec4<f32>(), load4(x1[params.x1_at + line + column[q] + c]), inside(s, q));
                }
                multiply(&sums, &row, w + taps_size);
                for (var q = 0u; q < 10u; q++) {
                    row[q] = select(vec4<f32>(), load4(x2[params.x2_at + line + column[q] + c]), inside(s, q));
                }
                multiply(&sums, &row, w + 2u * taps_size);
            }
        }
    }

    for (var p = 0u; p < PIXELS && s + p < params.W; p++) {
        let pixel = f * params.y_stride + (r * params.W + s + p) * params.C_out4;
        for (var h = 0u; h < 2u; h++) {
            let o = block * 2u + h;
            if o >= params.C_out4 { break; }
            var v = sums[2u * p + h];
            let at = params.y_at + pixel + o;
            if ACCUMULATE {
                v += load4(y[at]);
            }
            y[at] = store4(v);
        }
    }
}

// Sums of products in registers: PIXELS pixels of y in BLOCK output channels.
// The kernel declares place(f, pixel, o), where y has the four channels o.

#import tile

const WIDE: u32 = BLOCK / 4u;  // vec4s of a block
const MATRIX: u32 = 4u * WIDE; // of a Matrix
const_assert WIDE == 2u;       // as Matrix and add have it

alias Sums = array<vec4<f32>, WIDE * PIXELS>; // [pixel][vec4s of output channels]

// Matrix is the weights of four input channels and a block of output channels.
struct Matrix {
    a0: vec4<f32>,
    a1: vec4<f32>,
    b0: vec4<f32>,
    b1: vec4<f32>,
    c0: vec4<f32>,
    c1: vec4<f32>,
    d0: vec4<f32>,
    d1: vec4<f32>,
}

// start is the sums before the first product.
fn start(sums: ptr<function, Sums>, block: u32) {
    let b0 = bias[block * WIDE];
    let b1 = bias[block * WIDE + 1u];
    for (var p = 0u; p < PIXELS; p++) {
        (*sums)[WIDE * p] = b0;
        (*sums)[WIDE * p + 1u] = b1;
    }
}

fn matrix(at: u32) -> Matrix {
    return Matrix(
        load_weight4(weight[at]), load_weight4(weight[at + 1u]),
        load_weight4(weight[at + 2u]), load_weight4(weight[at + 3u]),
        load_weight4(weight[at + 4u]), load_weight4(weight[at + 5u]),
        load_weight4(weight[at + 6u]), load_weight4(weight[at + 7u]),
    );
}

// add adds the products of four channels of x to the sums of pixel p.
fn add(sums: ptr<function, Sums>, p: u32, v: vec4<f32>, m: Matrix) {
    (*sums)[WIDE * p] += v.x * m.a0 + v.y * m.b0 + v.z * m.c0 + v.w * m.d0;
    (*sums)[WIDE * p + 1u] += v.x * m.a1 + v.y * m.b1 + v.z * m.c1 + v.w * m.d1;
}

// store writes the pixels of frame f from `pixel` on, up to `end`. (The bound is
// written so for Mesa: with a count instead it keeps sums in memory.)
fn store(sums: ptr<function, Sums>, f: u32, pixel: u32, end: u32, block: u32) {
    for (var p = 0u; p < PIXELS && pixel + p < end; p++) {
        for (var h = 0u; h < WIDE; h++) {
            let o = block * WIDE + h;
            if o >= params.C_out4 { break; }
            var v = (*sums)[WIDE * p + h];
            let at = params.y_at + place(f, pixel + p, o);
            if ACCUMULATE {
                v += load4(y[at]);
            }
            y[at] = store4(v);
        }
    }
}

// Sums of products in registers: PIXELS pixels of y in BLOCKS blocks of BLOCK output
// channels. The kernel declares params, with across; place(f, pixel, o), the offset of
// channels 4*o to 4*o+3 in y; and BIASES, vectors of bias for a block. It imports how
// weights are loaded, processors/weights_*.wgsl. If that sets TOGETHER, no invocation
// may return before the others. If it sets WRITTEN, kernels unroll their loops in the
// text, for a compiler that unrolls none; other compilers take longer for that text.

const MATRIX: u32 = 4u * WIDE; // vec4s of a Matrix
const_assert WIDE == 2u;       // assumed by Matrix and add

override DEEP: bool = false;   // a workgroup is narrower than WG segments
override ROLLED: bool = false; // keep the store's loop, do not unroll it

// Seat is an invocation's place in the grid.
struct Seat {
    segment: u32,
    block: u32, // the first of BLOCKS
}

// seat returns the place in segmentGrid. If a workgroup is one block deep, the compiler
// detects that the block is uniform, and loads its weights once for all invocations.
fn seat(group: vec3<u32>, local: u32) -> Seat {
    if DEEP {
        return Seat(group.x * params.across + local % params.across, BLOCKS * (group.y * (WG / params.across) + local / params.across));
    }
    return Seat(group.x * WG + local, BLOCKS * group.y);
}

alias Sums = array<vec4<f32>, BLOCKS * PIXELS * WIDE>; // [block][pixel][vec4s of output channels]

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

// start sets the sums to the bias.
fn start(sums: ptr<function, Sums>, block: u32) {
    for (var b = 0u; b < BLOCKS; b++) {
        let b0 = select(vec4<f32>(), bias[BIASES * (block + b) * WIDE], biased());
        let b1 = select(vec4<f32>(), bias[BIASES * (block + b) * WIDE + 1u], biased());
        for (var p = 0u; p < PIXELS; p++) {
            let n = (b * PIXELS + p) * WIDE;
            (*sums)[n] = b0;
            (*sums)[n + 1u] = b1;
        }
    }
}

// add adds the products of four channels of x to the sums of pixel n, counted over
// blocks.
fn add(sums: ptr<function, Sums>, n: u32, v: vec4<f32>, m: Matrix) {
    (*sums)[WIDE * n] += v.x * m.a0 + v.y * m.b0 + v.z * m.c0 + v.w * m.d0;
    (*sums)[WIDE * n + 1u] += v.x * m.a1 + v.y * m.b1 + v.z * m.c1 + v.w * m.d1;
}

// store writes the pixels of frame f from `pixel` on, up to `end`. The loop has a
// constant length with the bound inside, because compilers of cards otherwise keep the
// sums in memory. On processors memory is faster, so ROLLED has a variable length.
fn store(sums: ptr<function, Sums>, f: u32, pixel: u32, end: u32, block: u32) {
    if BLOCKS == 1u {
        for (var p = 0u; p < PIXELS && (!ROLLED || pixel + p < end); p++) {
            for (var h = 0u; h < WIDE; h++) {
                let o = block * WIDE + h;
                if pixel + p < end {
                    put((*sums)[p * WIDE + h], place(f, pixel + p, o), o);
                }
            }
        }
        return;
    }
    const ALL: u32 = BLOCKS * WIDE; // vec4s of a pixel; a single store is faster to compile
    for (var n = 0u; n < PIXELS * ALL && (!ROLLED || pixel + n / ALL < end); n++) {
        let p = n / ALL;
        let h = n % ALL;
        let o = block * WIDE + h;
        if pixel + p < end {
            put((*sums)[(h / WIDE * PIXELS + p) * WIDE + h % WIDE], place(f, pixel + p, o), o);
        }
    }
}

// put writes the four channels o of a pixel.
fn put(sum: vec4<f32>, place: u32, o: u32) {
    if o < params.C_out4 {
        let at = params.y_at + place;
        var all = sum;
        if accumulates() { all += load4(y[at]); }
        y[at] = store4(all);
    }
}

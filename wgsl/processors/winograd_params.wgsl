// Bindings, Params and output of kernels with a separate input transform: of F(2,3) and
// F(4,3) in time, and of F(4,3) along rows, whose four pixels count as frames here.

struct Params {
    first: vec4<u32>,
    shares: array<vec4<f32>, 6>, // A: the factor of each product in frames 0 to 3
    products: u32,
    frames: u32,
    H_in: u32,
    W_in: u32,
    H: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    top: i32,
    left: i32,
    x_stride: u32,
    weight_stride: u32,
    y_at: u32,
    y_stride: u32,
    segments: u32,
    across: u32,
    start: i32, // -1 if there are more than eight INPUTS
    accumulate: u32, // 1 means ACCUMULATE, if pipelines are SHARED
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<weight4>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> y: array<elem4>;

const SCALE: u32 = 1;
const BIASES: u32 = 1;

override ACCUMULATE: bool = false;

const SUMS: u32 = BLOCKS * PIXELS * WIDE;

alias Made = array<vec4<f32>, 4u * SUMS>; // [frame][block][pixel][vec4s of output channels]

var<private> s: u32; // the column of y, or the first of four

// place counts pixels along a column.
fn place(f: u32, pixel: u32, o: u32) -> u32 {
    return f * params.y_stride + (pixel * params.W + s) * params.C_out4 + o;
}

// finish writes the pixels from `pixel` on, up to `end`, of all frames; its loops are
// like those of store.
fn finish(made: ptr<function, Made>, frames: u32, pixel: u32, end: u32, block: u32) {
    const ALL: u32 = BLOCKS * WIDE;
    for (var f = 0u; f < frames; f++) {
        for (var n = 0u; n < PIXELS * ALL && pixel + n / ALL < end; n++) {
            let p = n / ALL;
            let h = n % ALL;
            let o = block * WIDE + h;
            put((*made)[f * SUMS + (h / WIDE * PIXELS + p) * WIDE + h % WIDE], place(f, pixel + p, o), o);
        }
    }
}

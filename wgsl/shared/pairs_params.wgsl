// What kernels of pairs and quads of frames whose sums are made ahead declare: bindings
// and Params, and the frames that products go to.

#import tile
#import elem
#import weight

struct Params {
    first: vec4<u32>,
    share0: vec4<f32>, // A: how often product 0 goes to frames 0 to 3
    share1: vec4<f32>,
    share2: vec4<f32>,
    share3: vec4<f32>,
    share4: vec4<f32>,
    share5: vec4<f32>,
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
    start: i32, // -1 where there are more than eight INPUTS
    accumulate: u32, // 1 as ACCUMULATE, where pipelines are SHARED
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

// finish writes the pixels from `pixel` on, up to `end`, of so many frames; its loops are
// as those of store.
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

fn share(k: u32) -> vec4<f32> {
    switch k {
        case 0u: { return params.share0; }
        case 1u: { return params.share1; }
        case 2u: { return params.share2; }
        case 3u: { return params.share3; }
        case 4u: { return params.share4; }
        default: { return params.share5; }
    }
}

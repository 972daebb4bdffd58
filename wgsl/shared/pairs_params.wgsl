// What kernels of pairs of frames whose sums are made ahead declare: bindings and Params.

#import tile
#import elem
#import weight

struct Params {
    first: vec4<u32>,
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

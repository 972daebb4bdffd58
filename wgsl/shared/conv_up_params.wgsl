// What every kernel of conv_up declares: bindings and Params.

#import tile
#import elem
#import sources

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
    accumulate: u32, // 1 as ACCUMULATE, where pipelines are SHARED
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<source>;
@group(0) @binding(2) var<storage, read> x1: array<source>;
@group(0) @binding(3) var<storage, read> x2: array<source>;
@group(0) @binding(4) var<storage, read> weight: array<coefficient>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

override KT: u32 = 1; // temporal taps
override ACCUMULATE: bool = false;

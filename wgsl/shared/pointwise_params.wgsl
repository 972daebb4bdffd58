// Params of pointwise, its overrides, and the place of a pixel in y.

struct Params {
    first: vec4<u32>,
    P: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    C4: u32,
    Z: u32,
    x0_at: u32,
    x1_at: u32,
    x2_at: u32,
    x_stride: u32,
    weight_at: u32,
    weight_stride: u32,
    y_at: u32,
    y_stride: u32,
    across: u32,
    accumulate: u32, // for a pipeline that many layers share: 1 means ACCUMULATE, 2 that y also includes the bias
}

const BIASES: u32 = 1;

override KT: u32 = 1;
override ACCUMULATE: bool = false;
override SHUFFLE: bool = false;
override S: u32 = 1;

fn place(f: u32, pixel: u32, o: u32) -> u32 {
    if !SHUFFLE {
        return f * params.y_stride + pixel * params.C_out4 + o;
    }
    let phase = o / params.C4; // (iz*S + ix)*S + iy
    let r = S * (pixel / params.W) + phase / S % S;
    let s = S * (pixel % params.W) + phase % S;
    return (f * params.Z + phase / (S * S)) * params.y_stride + (r * S * params.W + s) * params.C4 + o % params.C4;
}

// Params of conv3d_winograd, its overrides, and the place of a pixel in y.

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
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
    accumulate: u32, // 1 means ACCUMULATE, for a pipeline that many layers share
}

const SCALE: u32 = 1;
const BIASES: u32 = 1;

override ACCUMULATE: bool = false;

fn place(f: u32, pixel: u32, o: u32) -> u32 {
    return f * params.y_stride + pixel * params.C_out4 + o;
}

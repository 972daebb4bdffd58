// Params of conv_up and its overrides.

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
    accumulate: u32, // 1 means ACCUMULATE, for a pipeline that many layers share
}

override KT: u32 = 1; // temporal taps
override ACCUMULATE: bool = false;

// replicate: y[t, r, s] = x[t, y0 + r, x0 + s], with rows and columns clamped into x;
// with MIRROR they are first mirrored at the edges of the frame, whose rows are `low`
// to `high`
//
//   x  [T, H_in, W_in, C]  elem  read        from x_at (vec4s) on; a frame is `stride` vec4s after the one before
//   y  [T, H, W, C]        elem  read_write  from y_at on, alike with `step`; aliases nothing
//
// y0 and x0 are negative if y extends beyond the top and left of x. One invocation
// copies four channels of a pixel. Reference: ref/replicate.go. Grid: (W * C/4 / WG, H,
// T). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    C4: u32,
    W: u32,
    y0: i32,
    x0: i32,
    stride: u32,
    step: u32,
    low: i32,
    high: i32,
    x_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

override MIRROR: bool = false;

// mirrored is i if it is within low to high, else as far inside as i is outside.
fn mirrored(i: i32, low: i32, high: i32) -> i32 {
    if !MIRROR { return i; }
    return high - abs(high - (low + abs(i - low)));
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.W * params.C4 { return; }
    let row = u32(clamp(mirrored(params.y0 + i32(group.y), params.low, params.high), 0, i32(params.H_in) - 1));
    let column = u32(clamp(mirrored(params.x0 + i32(i / params.C4), 0, i32(params.W_in) - 1), 0, i32(params.W_in) - 1));
    let at = params.x_at + group.z * params.stride + (row * params.W_in + column) * params.C4 + i % params.C4;
    y[params.y_at + group.z * params.step + group.y * params.W * params.C4 + i] = x[at];
}

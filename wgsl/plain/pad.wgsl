// pad: y[t, r, s, c] = x[t, inner(y0 + r - MARGIN, H_in), inner(s - MARGIN, W_in), c]
//
// inner(i, n) is i within a frame of n; beyond it the nearest one, or where MIRROR as
// far inside from that as i is outside.
//
//   x  [T, H_in, W_in, C]                  elem  read        from x_at (vec4s) on; its row 0 is row `top` of a frame
//   y  [T, H, W_in + 2*MARGIN, C]          elem  read_write  from y_at on; may not alias x
//
// One invocation per pixel of y and four channels.
// Reference: ref/pad.go. Grid: (W * C/4 / WG, H, T). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    H_in: u32, // rows of a frame
    W_in: u32,
    C4: u32,
    y0: u32,
    top: u32,
    x_rows: u32, // from a frame of x to the next, and of y
    y_rows: u32,
    x_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

override MARGIN: u32 = 1;
override MIRROR: bool = false;

fn inner(i: u32, n: u32) -> u32 {
    let last = i32(n) - 1;
    var at = i32(i) - i32(MARGIN);
    if MIRROR {
        at = abs(at);
        at = last - abs(last - at);
    }
    return u32(clamp(at, 0, last));
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let W = params.W_in + 2u * MARGIN;
    let i = group.x * WG + local;
    if i >= W * params.C4 { return; }
    let row = inner(params.y0 + group.y, params.H_in) - params.top;
    let column = inner(i / params.C4, params.W_in);
    let source = ((group.z * params.x_rows + row) * params.W_in + column) * params.C4 + i % params.C4;
    y[params.y_at + (group.z * params.y_rows + group.y) * W * params.C4 + i] = x[params.x_at + source];
}

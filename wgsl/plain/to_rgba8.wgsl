// to_rgba8: y = floor(clamp(x/2 + 1/2, 0, 1)*255 + 1/2) of r, g, b; alpha 255. A pixel
// with a NaN or an infinity is 0, including alpha, which marks it
//
//   x  [T, H, W, 4]          elem  read        red, green, blue, padding; from x_at (vec4s) on
//   y  [T, H_out, W_out]     u32   read_write  bytes r, g, b, a in memory order
//
// y is the part of x whose first pixel is (y0, x0). One invocation per pixel.
// Reference: ref/to_rgba8.go. Grid: (W_out / WG, H_out, T). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    H: u32,
    W: u32,
    H_out: u32,
    W_out: u32,
    y0: u32,
    x0: u32,
    x_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

// finite tests the bits, because a compiler may assume that x != x is false.
fn finite(v: f32) -> bool { return (bitcast<u32>(v) & 0x7f800000u) != 0x7f800000u; }

fn level(v: f32) -> u32 { return u32(floor(clamp(v * 0.5 + 0.5, 0.0, 1.0) * 255.0 + 0.5)); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let column = group.x * WG + local;
    if column >= params.W_out { return; }
    let v = load4(x[params.x_at + (group.z * params.H + params.y0 + group.y) * params.W + params.x0 + column]);
    let at = (group.z * params.H_out + group.y) * params.W_out + column;
    if !(finite(v.x) && finite(v.y) && finite(v.z)) {
        y[at] = 0u;
        return;
    }
    y[at] = level(v.x) | (level(v.y) << 8u) | (level(v.z) << 16u) | 0xff000000u;
}

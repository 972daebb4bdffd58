// spatial_norm: v = ((x - pivot)*scale + shift)*times + plus, y = v*sigmoid(v)
//
//   x        [T, H, W, C]  elem  read        from x_at (vec4s) on; IN_PLACE it is in y, from y_at on, and this is not read
//   factors  [3, C]        f32   read        pivot, scale, shift of group_norm_merge
//   times    [t, h, w, C]  elem  read        from times_at on, of frames with fewer pixels
//   plus     [t, h, w, C]  elem  read        from plus_at on
//   y        [T, H, W, C]  elem  read_write  from y_at on; may not alias what is bound as x
//
// Pixel (r, s) of frame f reads row (top + r)/side and column s/side of frame (lead +
// f)/each of times and plus. One invocation keeps the factors of four channels and
// applies them to PIXELS pixels that are `step` pixels apart. Reference:
// ref/spatial_norm.go. Grid: (step * C/4 / WG, T). WG and PIXELS are in kernels.go.

#import tile
#import elem
#import silu

struct Params {
    first: vec4<u32>,
    P: u32,
    W: u32,
    C4: u32,
    step: u32,
    x_at: u32,
    y_at: u32,
    times_at: u32,
    plus_at: u32,
    stride: u32,
    small: u32,
    side: u32,
    top: u32,
    each: u32,
    lead: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read> factors: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> times: array<elem4>;
@group(0) @binding(4) var<storage, read> plus: array<elem4>;
@group(0) @binding(5) var<storage, read_write> y: array<elem4>;

override IN_PLACE: bool = false;

fn loaded(at: u32) -> vec4<f32> {
    if IN_PLACE { return load4(y[params.y_at + at]); }
    return load4(x[params.x_at + at]);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.step * params.C4 { return; }
    let column = i % params.C4;
    let pivot = factors[column];
    let scale = factors[params.C4 + column];
    let shift = factors[2u * params.C4 + column];

    let frame = group.y * params.P * params.C4;
    let read = (params.lead + group.y) / params.each * params.stride;
    var p = i / params.C4;
    for (var k = 0u; k < PIXELS && p < params.P; k++) {
        let at = frame + p * params.C4 + column;
        let q = read + ((params.top + p / params.W) / params.side * params.small + p % params.W / params.side) * params.C4 + column;
        let v = (loaded(at) - pivot) * scale + shift;
        y[params.y_at + at] = store4(silu(v * load4(times[params.times_at + q]) + load4(plus[params.plus_at + q])));
        p += params.step;
    }
}

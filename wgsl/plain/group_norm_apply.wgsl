// group_norm_apply: y = (x - pivot)*scale + shift, then y*sigmoid(y) where SILU
//
//   x        [T, P, C]  elem  read        from x_at (vec4s) on; IN_PLACE it is in y, from y_at on, and this is not read
//   factors  [frames, 3, C]  f32  read    from `frame` on: pivot, scale, shift of group_norm_merge
//   y        [T, P, C]  elem  read_write  from y_at (vec4s) on; may not alias what is bound as x
//
// One invocation keeps the factors of four channels and applies them to PIXELS pixels
// that are `step` pixels apart. Reference: ref/group_norm.go. Grid: (step * C/4 / WG,
// T). WG and PIXELS are in kernels.go.

#import tile
#import elem
#import silu

struct Params {
    first: vec4<u32>,
    P: u32,
    C4: u32,
    step: u32,
    x_at: u32,
    y_at: u32,
    frame: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read> factors: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<elem4>;

override SILU: bool = false;
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
    let t = group.y;
    let norm = params.frame + t;
    let column = i % params.C4;
    let pivot = factors[3u * norm * params.C4 + column];
    let scale = factors[(3u * norm + 1u) * params.C4 + column];
    let shift = factors[(3u * norm + 2u) * params.C4 + column];

    let frame = t * params.P * params.C4;
    var p = i / params.C4;
    for (var k = 0u; k < PIXELS && p < params.P; k++) {
        let at = frame + p * params.C4 + column;
        var v = (loaded(at) - pivot) * scale + shift;
        if SILU {
            v = silu(v);
        }
        y[params.y_at + at] = store4(v);
        p += params.step;
    }
}

// feather_normalise: y[t, p, :] = canvas[t, p, :] / max(count[p], 1e-6)
//
//   canvas  [T, P, C]  f32  read        P = H*W pixels; from canvas_at (vec4s) on
//   count   [P]        f32  read        sum of the tiles' weights
//   y       [T, P, C]  f32  read_write  from y_at on; aliases nothing
//
// One invocation per four channels of a pixel.
// Reference: ref/feather.go. Grid: (P * C/4 / WG, T). WG is in kernels.go.

#import tile

struct Params {
    first: vec4<u32>,
    P: u32,
    C4: u32,
    canvas_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> canvas: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> count: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    let frame = params.P * params.C4;
    if i >= frame { return; }
    let at = group.y * frame + i;
    y[params.y_at + at] = canvas[params.canvas_at + at] / max(count[i / params.C4], 1e-6);
}

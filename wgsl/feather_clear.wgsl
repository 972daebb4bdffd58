// feather_clear: canvas = 0
//
//   canvas  [n]  vec4  read_write  from canvas_at on
//
// One invocation per vec4. Grid: n / WG.

struct Params {
    first: vec4<u32>,
    n: u32,
    canvas_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> canvas: array<vec4<f32>>;

const WG: u32 = 256;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.n { return; }
    canvas[params.canvas_at + i] = vec4<f32>();
}

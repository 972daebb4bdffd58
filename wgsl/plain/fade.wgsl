// fade: y = a*(1 - weight) + b*weight
//
//   a  [N]  elem  read        numbers of a frame, in vec4s, from a_at on
//   b  [N]  elem  read        of another, from b_at on
//   y  [N]  elem  read_write  from y_at on; aliases nothing
//
// One invocation per vec4. Reference: ref/fade.go. Grid: (N / WG). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    N: u32,
    a_at: u32,
    b_at: u32,
    y_at: u32,
    weight: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<elem4>;
@group(0) @binding(2) var<storage, read> b: array<elem4>;
@group(0) @binding(3) var<storage, read_write> y: array<elem4>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.N { return; }
    let v = load4(a[params.a_at + i]) * (1.0 - params.weight) + load4(b[params.b_at + i]) * params.weight;
    y[params.y_at + i] = store4(v);
}

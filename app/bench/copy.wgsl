// copy: y = x, a vec4 an invocation.
//
//   x  [workgroups*256]  vec4<f32>  read
//   y  [workgroups*256]  vec4<f32>  read_write
//
// Grid: workgroups of 256 along x and y; first.w of them in a row.

struct Params {
    first: vec4<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = (group.y * params.first.w + group.x) * 256u + local;
    y[i] = x[i];
}

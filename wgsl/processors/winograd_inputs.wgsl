// winograd_inputs: y = d0-d2, d1+d2, d2-d1, d1-d3 of four frames d
//
// The input transform for conv3d_winograd_transformed.wgsl and
// conv3d_winograd_columns.wgsl.
//
//   x0 .. x3  [size]     elem  read        d0 .. d3, from x0_at .. x3_at on
//   y         [4, size]  f32   read_write  aliases nothing
//
// size and offsets count vec4s. One invocation makes a vec4 of each sum. Reference:
// that of conv3d_winograd_transformed.wgsl. Grid: (size / WG, 1, 1). WG is in
// kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    size: u32,
    x0_at: u32,
    x1_at: u32,
    x2_at: u32,
    x3_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> x3: array<elem4>;
@group(0) @binding(5) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (workgroup.x + params.first.x) * WG + local;
    if i >= params.size { return; }
    let d1 = load4(x1[params.x1_at + i]);
    let d2 = load4(x2[params.x2_at + i]);
    y[i] = load4(x0[params.x0_at + i]) - d2;
    y[params.size + i] = d1 + d2;
    y[2u * params.size + i] = d2 - d1;
    y[3u * params.size + i] = d1 - load4(x3[params.x3_at + i]);
}

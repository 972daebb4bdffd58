// winograd_inputs_4: the six sums of winograd_transform_4.wgsl of six frames d
//
// The input transform for conv3d_winograd_transformed.wgsl and
// conv3d_winograd_columns.wgsl.
//
//   x0 .. x5  [size]     elem  read        d0 .. d5, from x0_at .. x5_at on
//   y         [6, size]  f32   read_write  aliases nothing
//
// size and offsets count vec4s. One invocation makes a vec4 of each sum. Reference:
// that of conv3d_winograd_transformed.wgsl. Grid: (size / WG, 1, 1). WG is in
// kernels.go.

#import tile
#import elem
#import processors/winograd_transform_4

struct Params {
    first: vec4<u32>,
    size: u32,
    x0_at: u32,
    x1_at: u32,
    x2_at: u32,
    x3_at: u32,
    x4_at: u32,
    x5_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> x3: array<elem4>;
@group(0) @binding(5) var<storage, read> x4: array<elem4>;
@group(0) @binding(6) var<storage, read> x5: array<elem4>;
@group(0) @binding(7) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (workgroup.x + params.first.x) * WG + local;
    if i >= params.size { return; }
    let sums = six(
        load4(x0[params.x0_at + i]), load4(x1[params.x1_at + i]), load4(x2[params.x2_at + i]),
        load4(x3[params.x3_at + i]), load4(x4[params.x4_at + i]), load4(x5[params.x5_at + i]),
    );
    for (var k = 0u; k < 6u; k++) {
        y[k * params.size + i] = sums[k];
    }
}

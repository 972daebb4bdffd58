// dequantise: y = q m / 127, with q in 8 bits and m of each channel in a row
//
//   x  [H, (W + 4) C]   u32   read        from x_at (words) on: of each row m as f32, then its pixels, four int8 a word
//   y  [H, W, C]        elem  read_write  from y_at (vec4s) on
//
// One invocation per pixel and four channels. Reference: ref/quantise.go.
// Grid: (W * C/4 / WG, H, 1). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    W: u32,
    C4: u32,
    x_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let C4 = params.C4;
    let i = group.x * WG + local;
    if i >= params.W * C4 { return; }
    let row = params.x_at + group.y * (params.W + 4u) * C4;
    let at = row + 4u * (i % C4);
    let m = bitcast<vec4<f32>>(vec4<u32>(x[at], x[at + 1u], x[at + 2u], x[at + 3u]));
    let word = vec4<u32>(x[row + 4u * C4 + i]);
    let q = bitcast<vec4<i32>>(word << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
    y[params.y_at + group.y * params.W * C4 + i] = store4(vec4<f32>(q) * (m / 127.0));
}

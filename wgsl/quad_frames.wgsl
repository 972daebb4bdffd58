// quad_frames: what quad_taps.wgsl's weights multiply of six frames d
//
// Winograd's F(4,3) along time with the points 0, 3/4, -3/4, 3/2, -3/2 and infinity, in
// that order: with a = 3/4 and b = 3/2
//
//   d4 - (a^2+b^2) d2 + a^2 b^2 d0
//   (d4 - b^2 d2) + a (d3 - b^2 d1), and - in place of +
//   (d4 - a^2 d2) + b (d3 - a^2 d1), and - in place of +
//   d5 - (a^2+b^2) d3 + a^2 b^2 d1
//
// With these points four frames are nearly as exact as one by one (quads.go).
//
//   x0 .. x5  [size]     elem  read        d0 .. d5, from x0_at .. x5_at on
//   y         [6, size]  f32   read_write  aliases nothing
//
// size and offsets count vec4s. One invocation makes a vec4 of each. Reference: that of
// conv_pairs_ahead.wgsl. Grid: (size / WG, 1, 1). WG is in quads.go.

#import tile
#import elem

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
    let d1 = load4(x1[params.x1_at + i]);
    let d2 = load4(x2[params.x2_at + i]);
    let d3 = load4(x3[params.x3_at + i]);
    let d4 = load4(x4[params.x4_at + i]);
    let even = d4 - 2.25 * d2;
    let odd = 0.75 * (d3 - 2.25 * d1);
    let even_b = d4 - 0.5625 * d2;
    let odd_b = 1.5 * (d3 - 0.5625 * d1);
    y[i] = even_b - 2.25 * d2 + 1.265625 * load4(x0[params.x0_at + i]);
    y[params.size + i] = even + odd;
    y[2u * params.size + i] = even - odd;
    y[3u * params.size + i] = even_b + odd_b;
    y[4u * params.size + i] = even_b - odd_b;
    y[5u * params.size + i] = load4(x5[params.x5_at + i]) - 2.8125 * d3 + 1.265625 * d1;
}

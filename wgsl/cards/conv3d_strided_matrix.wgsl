// conv3d_strided_matrix: conv3d_strided.wgsl by subgroup matrices, for activations stored as f16
//
// The other bindings and Params are those of conv3d.wgsl. A workgroup makes HEIGHT*M
// pixels in BLOCK output channels like pointwise_matrix.wgsl, from the pixels under one
// tap after the other, with zeros outside of x. A pixel of x is under at most 2.25
// taps, too few to keep a tile of them like conv3d_matrix.wgsl does. Sums are f32.
//
//   weight  [C_out/BLOCK, taps, C_in/DEPTH, 3, 3, BLOCK, DEPTH]  weight  read
//
// Reference: ref/conv3d.go. WG and the sizes of matrices are in cards_matrix.go.
// Grid: (H*W / (HEIGHT*M), C_out/BLOCK, frames).

#import tile
#import elem
#import conv3d_params
#import cards/weight8
#import cards/flat_matrix

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x1: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> x2: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> weight: array<weight8>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

fn count() -> u32 { return params.H * params.W; }

fn under(p: u32, tap: u32) -> Under {
    let r = i32(2u * (p / params.W) + tap / SIDE) + params.top;
    let s = i32(2u * (p % params.W) + tap % SIDE) + params.left;
    let row = clamp(r, 0, i32(SCALE * params.H_in) - 1);
    let column = clamp(s, 0, i32(SCALE * params.W_in) - 1);
    return Under((u32(row) / SCALE * params.W_in + u32(column) / SCALE) * params.C_in4 / 2u, row == r && column == s);
}

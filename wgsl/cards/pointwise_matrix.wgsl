// pointwise_matrix: pointwise.wgsl by subgroup matrices, for activations stored as f16
//
// The other bindings and Params are those of pointwise.wgsl. A workgroup makes HEIGHT*M
// pixels in BLOCK output channels; each of its subgroups makes ROWS*M of these pixels
// in COLUMNS*N channels. For each temporal tap and DEPTH input channels it copies
// pixels and weights to workgroup memory, with zeros for missing channels. Sums are
// f32.
//
//   weight  [C_out/BLOCK, taps, C_in/DEPTH, BLOCK, DEPTH]  weight  read
//
// Reference: ref/conv3d.go. WG and the sizes of matrices are in cards_matrix.go.
// Grid: (P / (HEIGHT*M), C_out/BLOCK, frames).

#import tile
#import elem
#import pointwise_params
#import cards/weight8
#import cards/flat_matrix

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x1: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> x2: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> weight: array<weight8>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

fn count() -> u32 { return params.P; }

fn under(p: u32, tap: u32) -> Under { return Under(p * params.C_in4 / 2u, true); }

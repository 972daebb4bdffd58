// conv3d_matrix: conv3d.wgsl by subgroup matrices, for activations stored as f16
//
// The other bindings and Params are those of conv3d.wgsl. A workgroup makes HEIGHT rows
// of M pixels in BLOCK output channels. Each of its subgroups makes ROWS of these rows
// in COLUMNS*N channels, with a matrix of sums for each row and N channels. For each
// temporal tap and DEPTH input channels it copies the pixels under the tile to
// workgroup memory, with zeros outside of x, and for each row of taps the weights. A
// tap is then a matrix product whose left matrix starts at another pixel. Sums are f32.
//
//   weight  [C_out/BLOCK, taps, C_in/DEPTH, 3, 3, BLOCK, DEPTH]  weight  read
//
// Reference: ref/conv3d.go. WG and the sizes of matrices are in cards_matrix.go.
// Grid: (segments of M pixels x H/HEIGHT, C_out/BLOCK, frames).

#import tile
#import elem
#import conv3d_params
#import cards/weight8
#import cards/conv_matrix

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x1: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> x2: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> weight: array<weight8>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

fn wide() -> u32 { return params.W; }

fn corner(group: vec3<u32>, r: u32, s: u32) -> Corner {
    return Corner(i32(r) + params.top, i32(s) + params.left, group.y * params.weight_stride);
}

fn finish(group: vec3<u32>, r: u32, s: u32, part: u32, sum: vec4<f32>) {
    let o = group.y * BLOCK / 4u + part;
    if r >= params.H || s >= params.W || o >= params.C_out4 {
        return;
    }
    var v = sum + bias[o];
    let at = params.y_at + place(group.z, r * params.W + s, o);
    if ACCUMULATE {
        v += load4(y[at]);
    }
    y[at] = store4(v);
}

// conv_up_matrix: conv_up.wgsl by subgroup matrices, for activations stored as f16
//
// The other bindings and Params are those of conv_up.wgsl. Like conv3d_matrix.wgsl, a
// workgroup makes HEIGHT x M pixels of one parity in BLOCK output channels, from 2x2
// taps. Sums are f32.
//
//   weight  [Z, 4, C_out/BLOCK, taps, C_in/DEPTH, 2, 2, BLOCK, DEPTH]  weight  read
//
// Reference: ref/conv_up.go. WG and the sizes of matrices are in cards_matrix.go.
// Grid: (segments of M pixels of a parity x H/2/HEIGHT, C_out/BLOCK of all, frames).

#import tile
#import elem
#import conv_up_params
#import cards/weight8
#import cards/conv_matrix

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> x1: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> x2: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> weight: array<weight8>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

const SCALE: u32 = 1;

fn wide() -> u32 { return (params.W + 1u) / 2u; } // pixels of a parity

// odd is the first row and column with a group's parity.
fn odd(group: vec3<u32>) -> vec2<i32> {
    let parity = i32(group.y / params.blocks);
    return (vec2(parity / 2 % 2, parity % 2) - vec2(params.top, params.left)) & vec2(1);
}

fn corner(group: vec3<u32>, r: u32, s: u32) -> Corner {
    let first = (vec2(params.top, params.left) + odd(group) - 1) >> vec2(1u);
    return Corner(i32(r) + first.x, i32(s) + first.y, group.y * params.weight_stride);
}

fn finish(group: vec3<u32>, r: u32, s: u32, part: u32, sum: vec4<f32>) {
    let to = vec2<i32>(vec2(r, s)) * 2 + odd(group);
    let o = group.y % params.blocks * BLOCK / 4u + part;
    if to.x >= i32(params.H) || to.y >= i32(params.W) || o >= params.C_out4 {
        return;
    }
    var v = sum;
    let phase = group.y / params.blocks / 4u;
    let at = params.y_at + (group.z * params.Z + phase) * params.y_stride + (u32(to.x) * params.W + u32(to.y)) * params.C_out4 + o;
    if ACCUMULATE {
        v += load4(y[at]);
    } else {
        v += biases(group, r, s, part);
    }
    y[at] = store4(v);
}

// biases returns the bias of four channels plus those of the cells inside of x.
fn biases(group: vec3<u32>, r: u32, s: u32, part: u32) -> vec4<f32> {
    let o = group.y * BLOCK / 4u + part;
    let at = o / 2u * 10u + o % 2u;
    let first = corner(group, r, s);
    var v = bias[at];
    for (var i = 0; i < 4; i++) {
        let row = first.row + i / 2;
        let column = first.column + i % 2;
        if row >= 0 && row < i32(params.H_in) && column >= 0 && column < i32(params.W_in) {
            v += bias[at + 2u * u32(i) + 2u];
        }
    }
    return v;
}

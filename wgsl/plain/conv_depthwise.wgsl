// conv_depthwise: y[f,r,s,c] = sum_{i,j} weight[i,j,c] * x_k[f, r+i+top, s+j+left, c - k*C],  k = c/C
//
// A SIDE x SIDE depthwise convolution of two frames: outputs for C channels of x0, then
// for C channels of x1. Pixels outside are zero; with PAST false, so is all of x1. C is
// a multiple of 4.
//
//   x0 x1   [frames, H_in, W_in, C]  elem  read        from x0_at, x1_at (vec4s) on
//   weight  [SIDE*SIDE, 2*C]         f32   read
//   y       [frames, H, W, 2*C]      elem  read_write  from y_at on; aliases nothing
//
// One invocation makes four channels of PIXELS pixels of a row. Sums are f32.
// Reference: ref/conv_grouped.go, with groups of one channel. Grid: (segments of a row
// * C_out4 / WG, H, frames). WG and PIXELS are in kernels.go.

#import tile
#import elem
#import multiply_add

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    W: u32,
    C4: u32,
    top: i32,
    left: i32,
    x0_at: u32,
    x1_at: u32,
    x_stride: u32,
    y_at: u32,
    y_stride: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> y: array<elem4>;

override SIDE: u32 = 7;
override PAST: bool = true;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    let C_out4 = 2u * params.C4;
    let c = i % C_out4;
    let s = i / C_out4 * PIXELS;
    if s >= params.W { return; }
    let past = c >= params.C4;
    var sums = array<vec4<f32>, PIXELS>();
    if PAST || !past {
        let frame = group.z * params.x_stride + c - select(0u, params.C4, past);
        for (var k = 0u; k < SIDE; k++) {
            let row = i32(group.y + k) + params.top;
            if row < 0 || row >= i32(params.H_in) { continue; }
            let line = frame + u32(row) * params.W_in * params.C4;
            for (var j = 0u; j < SIDE + PIXELS - 1u; j++) {
                let column = i32(s + j) + params.left;
                if column < 0 || column >= i32(params.W_in) { continue; }
                var v = vec4<f32>();
                if past {
                    v = load4(x1[params.x1_at + line + u32(column) * params.C4]);
                } else {
                    v = load4(x0[params.x0_at + line + u32(column) * params.C4]);
                }
#unroll p PIXELS
                if j >= {p}u && j - {p}u < SIDE {
                    sums[{p}] = multiply_adds(sums[{p}], v, weight[(k * SIDE + j - {p}u) * C_out4 + c]);
                }
#end
            }
        }
    }
    let at = params.y_at + group.z * params.y_stride + (group.y * params.W + s) * C_out4 + c;
#unroll p PIXELS
    if s + {p}u < params.W {
        y[at + {p}u * C_out4] = store4(sums[{p}]);
    }
#end
}

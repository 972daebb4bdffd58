// pointwise: y[f,p,o] = bias[o] + sum_c weight[o,c] * x[f,p,c]  (+ y[f,p,o])
//
// A 1x1x1 convolution. With SHUFFLE the output channels are [Z, 2, 2, C] and the
// 3D pixel shuffle happens in the store: channel (iz, ix, iy, c) of pixel
// (f, r, s) goes to y[f*Z + iz, 2r + ix, 2s + iy, c], so the wide tensor never
// exists. (The checkpoint's order is [2, 2, Z, C]; weights are packed time phase
// first, so that the head of a clip can run phase 0 alone.)
//
//   x         [frames, P, C_in]   elem    read        from x_at on
//   weight    [C_out/8, C_in/4, 4, 8]  weight  read
//   bias      [C_out/8 * 8]       f32     read
//   y         [frames, P, C_out]  elem    read_write  from y_at on; or [frames*Z, 2H, 2W, C]; aliases
//                                                nothing; with ACCUMULATE it holds the residual
//
// Offsets *_at and strides count vec4s. One invocation makes 8 pixels in 8
// output channels; sums are f32. Reference: ref/conv3d.go, ref/pixel_shuffle.go.
// A workgroup is `across` of
// them side by side, WG/across blocks of channels deep, so that few pixels fill it too.
// Grid: (P/8 / across, C_out/8 / (WG/across), frames).

#import elem
#import weight

struct Params {
    first: vec4<u32>,
    P: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    C4: u32,
    Z: u32,
    x_at: u32,
    x_stride: u32,
    y_at: u32,
    y_stride: u32,
    across: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read> weight: array<weight4>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> y: array<elem4>;

override WG: u32 = 64;
override ACCUMULATE: bool = false;
override SHUFFLE: bool = false;

const PIXELS: u32 = 8;

alias Sums = array<vec4<f32>, 16>; // [pixel][two vec4 of output channels]

// shuffled is where output channels 4o.. of input pixel p of frame f go.
fn shuffled(f: u32, p: u32, o: u32) -> u32 {
    let phase = o / params.C4; // iz*4 + ix*2 + iy
    let r = 2u * (p / params.W) + ((phase >> 1u) & 1u);
    let s = 2u * (p % params.W) + (phase & 1u);
    return (f * params.Z + (phase >> 2u)) * params.y_stride + (r * 2u * params.W + s) * params.C4 + o % params.C4;
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let p0 = (group.x * params.across + local % params.across) * PIXELS;
    let block = group.y * (WG / params.across) + local / params.across;
    if p0 >= params.P || 2u * block >= params.C_out4 { return; }
    let f = group.z;

    let b0 = bias[block * 2u];
    let b1 = bias[block * 2u + 1u];
    var sums = Sums();
    var at = array<u32, 8>();
    for (var p = 0u; p < PIXELS; p++) {
        sums[2u * p] = b0;
        sums[2u * p + 1u] = b1;
        at[p] = params.x_at + f * params.x_stride + min(p0 + p, params.P - 1u) * params.C_in4;
    }
    for (var c = 0u; c < params.C_in4; c++) {
        let w = (block * params.C_in4 + c) * 8u;
        let a0 = load_weight4(weight[w]);
        let a1 = load_weight4(weight[w + 1u]);
        let b0 = load_weight4(weight[w + 2u]);
        let b1 = load_weight4(weight[w + 3u]);
        let c0 = load_weight4(weight[w + 4u]);
        let c1 = load_weight4(weight[w + 5u]);
        let d0 = load_weight4(weight[w + 6u]);
        let d1 = load_weight4(weight[w + 7u]);
        for (var p = 0u; p < PIXELS; p++) {
            let v = load4(x[at[p] + c]);
            sums[2u * p] += v.x * a0 + v.y * b0 + v.z * c0 + v.w * d0;
            sums[2u * p + 1u] += v.x * a1 + v.y * b1 + v.z * c1 + v.w * d1;
        }
    }

    for (var p = 0u; p < PIXELS && p0 + p < params.P; p++) {
        let pixel = f * params.y_stride + (p0 + p) * params.C_out4;
        for (var h = 0u; h < 2u; h++) {
            let o = block * 2u + h;
            if o >= params.C_out4 { break; }
            var v = sums[2u * p + h];
            var at = params.y_at + pixel + o;
            if SHUFFLE {
                at = params.y_at + shuffled(f, p0 + p, o);
            }
            if ACCUMULATE {
                v += load4(y[at]);
            }
            y[at] = store4(v);
        }
    }
}

// pointwise: y[f,p,o] = bias[o] + sum_{k,c} weight[o,c,k] * x_k[f,p,c]  (+ y[f,p,o])
//
// A 1x1xKT convolution. Time is bound as in conv3d. With SHUFFLE the output channels
// are [Z, S, S, C], and the store does the 3D pixel shuffle: channel (iz, ix, iy, c) of
// pixel (f, r, s) goes to y[f*Z + iz, S*r + ix, S*s + iy, c], so the wide tensor is
// never stored. With S = 1 this interleaves frames. (SeedVR2's checkpoint has [2, 2, Z,
// C]; weights are packed time phase first, so that the head of a clip can run only
// phase 0.)
//
//   x0 x1 x2  [frames, P, C_in]   elem    read        from x0_at, x1_at, x2_at on
//   weight    [C_out/BLOCK, taps, C_in/4, 4, BLOCK]  weight  read   from weight_at on
//   bias      [C_out/BLOCK * BLOCK]  f32     read
//   y         [frames, P, C_out]  elem    read_write  from y_at on; or [frames*Z, S*H, S*W, C];
//                                                     aliases nothing; with ACCUMULATE it holds the residual
//
// Offsets *_at and strides count vec4s, weight_stride between blocks of output
// channels. KT = 1 reads only x0, KT = 2 reads x0 and x1. One invocation makes PIXELS
// pixels in BLOCK output channels; sums are f32. Reference: ref/conv3d.go. A workgroup
// is `across` invocations wide and WG/across blocks of channels deep, so that a few
// pixels fill it, too. Grid: (P/PIXELS / across, C_out/BLOCK / (WG/across), frames).
// WG, PIXELS and BLOCK are in kernels.go.

#import tile
#import elem
#import pointwise_params
#import products

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight4>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let p0 = mine.segment * PIXELS;
    if p0 >= params.P || WIDE * mine.block >= params.C_out4 { return; }
    let f = group.z;

    var sums = Sums();
    start(&sums, mine.block);
    var at = array<u32, PIXELS>();
#unroll p PIXELS
    at[{p}] = f * params.x_stride + min(p0 + {p}u, params.P - 1u) * params.C_in4;
#end
    let size = params.C_in4 * MATRIX; // weights of one temporal tap
    let weights = params.weight_at + mine.block * params.weight_stride;
    for (var c = 0u; c < params.C_in4; c++) {
        let w = weights + c * MATRIX;
#unroll k 3
        if KT > {k}u {
            let m = matrix(w + {k}u * size);
#unroll p PIXELS
            add(&sums, {p}u, load4(x{k}[params.x{k}_at + at[{p}] + c]), m);
#end
        }
#end
    }
    store(&sums, f, p0, params.P, mine.block);
}

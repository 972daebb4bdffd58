// pointwise: y[f,p,o] = bias[o] + sum_{k,c} weight[o,c,k] * x_k[f,p,c]  (+ y[f,p,o])
//
// A 1x1xKT convolution. Time is bound as in conv3d. With SHUFFLE the output
// channels are [Z, S, S, C] and the 3D pixel shuffle happens in the store:
// channel (iz, ix, iy, c) of pixel (f, r, s) goes to y[f*Z + iz, S*r + ix, S*s +
// iy, c], so the wide tensor never exists; with S = 1 that interleaves frames.
// (SeedVR2's checkpoint has [2, 2, Z, C]; weights are packed time phase first, so
// that the head of a clip can run phase 0 alone.)
//
//   x0 x1 x2  [frames, P, C_in]   elem    read        from x0_at, x1_at, x2_at on
//   weight    [C_out/BLOCK, taps, C_in/4, 4, BLOCK]  weight  read   from weight_at on
//   bias      [C_out/BLOCK * BLOCK]  f32     read
//   y         [frames, P, C_out]  elem    read_write  from y_at on; or [frames*Z, S*H, S*W, C];
//                                                     aliases nothing; with ACCUMULATE it holds the residual
//
// Offsets *_at and strides count vec4s, weight_stride between blocks of
// output channels. With KT = 1 only x0 is read, with KT = 2 x0 and x1. One
// invocation makes PIXELS pixels in BLOCK output channels; sums are f32. Reference:
// ref/conv3d.go. A workgroup is `across` of them side by side, WG/across blocks
// of channels deep, so that few pixels fill it too.
// Grid: (P/PIXELS / across, C_out/BLOCK / (WG/across), frames). WG, PIXELS and
// BLOCK are in pointwise.go.

#import pointwise_params
#import products
#import several
#import points

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let block = mine.block;
    let p0 = mine.segment * PIXELS;
    let real = p0 < params.P && WIDE * block < params.C_out4;
    if !TOGETHER && !real { return; }
    ready();
    let f = group.z;

    var sums = Sums();
    if WRITTEN {
#each p
        sums[WIDE * {p}u] = bias[BIASES * block * WIDE];
        sums[WIDE * {p}u + 1u] = bias[BIASES * block * WIDE + 1u];
#end
    } else {
        start(&sums, block);
    }
    var at = array<u32, PIXELS>();
#each p
    at[{p}] = f * params.x_stride + min(p0 + {p}u, params.P - 1u) * params.C_in4;
#end
    let tap_size = params.C_in4 * MATRIX; // weights of one temporal tap
    let w_block = params.weight_at + block * params.weight_stride;
    for (var c = 0u; c < params.C_in4; c += DEPTH) {
        let w = w_block + c * MATRIX;
#each k
        if KT > {k}u { tap{k}(&sums, &at, c, w + {k}u * tap_size); }
#end
    }
    if !real { return; }
    if WRITTEN {
#each p
        if p0 + {p}u < params.P {
            put(sums[WIDE * {p}u], place(f, p0 + {p}u, block * WIDE), block * WIDE);
            put(sums[WIDE * {p}u + 1u], place(f, p0 + {p}u, block * WIDE + 1u), block * WIDE + 1u);
        }
#end
        return;
    }
    store(&sums, f, p0, params.P, block);
}

// pointwise_matrix: pointwise.wgsl by subgroup matrices, for activations stored as f16
//
// The same y, x0 to x2 and bias, with the same Params. A workgroup makes TALL*M
// pixels in BLOCK output channels; each of its subgroups ROWS*M of these pixels in
// COLUMNS*N channels. For each temporal tap and DEPTH input channels at a time
// pixels and weights are put into workgroup memory, with zeros where there is no
// channel. Sums are f32.
//
//   weight  [C_out/BLOCK, taps, C_in/DEPTH, BLOCK, DEPTH]  weight  read
//
// Reference: ref/conv3d.go. WG and the sizes of matrices are in matrix.go.
// Grid: (P / (TALL*M), C_out/BLOCK, frames).

#import pointwise_params
#import matrices

override WHOLE: bool = false; // channels are a multiple of what is fetched at a time

const TALL: u32 = DOWN * ROWS;
const CHUNK: u32 = BLOCK * DEPTH / 8u; // weights of a temporal tap and DEPTH inputs, as bound
const_assert FETCHES * WG >= 2u * TALL * M;
const_assert WEIGHTS * WG >= 2u * BLOCK;
const_assert WG % (2u * M) == 0u && (WG & (WG - 1u)) == 0u && (WIDE & (WIDE - 1u)) == 0u;

// As in conv3d_matrix: what is within an inner array is known when the text is compiled.
var<workgroup> pixels: array<array<vec4<u32>, M * PITCH * AHEAD>, (FETCHES * WG / 2u + M - 1u) / M>;       // [row of matrices][DEPTH channels][pixel][input]
var<workgroup> matrices: array<array<vec4<u32>, WIDE * PITCH * AHEAD>, (WEIGHTS * WG / 2u + WIDE - 1u) / WIDE>; // [subgroups across][DEPTH channels][output][input]
var<workgroup> sums: array<array<vec4<f32>, M * N / 4u>, SUBGROUPS>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32, @builtin(subgroup_id) id: u32) {
    let group = workgroup + params.first.xyz;
    let p0 = group.x * TALL * M;
    let f = group.z;
    let mine = id % SUBGROUPS; // where subgroups are smaller than they may be, two do the same
    let down = mine / ACROSS * ROWS;
    let across = mine % ACROSS;

    // The pixels and weights that this invocation fetches, 8 channels of each, and
    // where they are put. Remainders, not masks: of these Dawn knows the bounds.
    let part = local % 2u;
    let row = local / (2u * M);
    let here = local / 2u % M * PITCH + part;
    let wide = local / (2u * WIDE);
    let there = local / 2u % WIDE * PITCH + part;
#each fetches
    let at{fetches} = (f * params.x_stride + min(p0 + (local + {fetches}u * WG) / 2u, params.P - 1u) * params.C_in4) / 2u + part;
#end
    // Sums begin as products of nothing, not as zeros: these got registers one by one
    // on NVK, a product takes four in a row, and all sums were moved twice a turn.
#each rows
#each columns
    var sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(Left(), Right(), Sum());
#end
#end
    let blocks = (4u * params.C_in4 + DEPTH - 1u) / DEPTH; // of the weight, in a temporal tap
    var w = (params.weight_at + group.y * params.weight_stride) / 2u + local;
#each frames
    for (var frame = {frames}u; frame < min(KT, {frames}u + 4u - FRAMES); frame++) {
        var base = params.x0_at / 2u;
        if frame == 1u {
            base = params.x1_at / 2u;
        }
        if frame == 2u {
            base = params.x2_at / 2u;
        }
#each fetches
        var now{fetches} = base + at{fetches};
#end
        for (var block = 0u; block < blocks; block += AHEAD) {
            workgroupBarrier();
#each ahead
            let there{ahead} = WHOLE || (block + {ahead}u) * (DEPTH / 8u) + part < params.C_in4 / 2u;
#each taps
            if frame == {taps}u {
#each fetches
                pixels[row + {fetches}u * (WG / 2u / M)][{ahead}u * M * PITCH + here] = select(vec4<u32>(), x{taps}[now{fetches} + {ahead}u * (DEPTH / 8u)], there{ahead});
#end
            }
#end
#each weights
            matrices[wide + {weights}u * (WG / 2u) / WIDE][({ahead}u * WIDE + {weights}u * (WG / 2u) % WIDE) * PITCH + there] = halves(weight[w + {ahead}u * CHUNK + {weights}u * WG]);
#end
#end
            workgroupBarrier();
#each ahead
#each parts
            {
#each rows
                let left{rows} = subgroupMatrixLoad<Left, row_major>(&pixels[down + {rows}u], {ahead}u * M * PITCH + {parts}u * K / 8u, PITCH);
#end
#each columns
                let right{columns} = subgroupMatrixLoad<Right, col_major>(&matrices[across], ({ahead}u * WIDE + {columns}u * N) * PITCH + {parts}u * K / 8u, PITCH);
#end
#each rows
#each columns
                sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(left{rows}, right{columns}, sum{rows}{columns});
#end
#end
            }
#end
#end
            w += AHEAD * CHUNK;
#each fetches
            now{fetches} += AHEAD * DEPTH / 8u;
#end
        }
        // Weights behind the last block were multiplied by zeros.
        w -= ((blocks + AHEAD - 1u) / AHEAD * AHEAD - blocks) * CHUNK;
    }
#end
#each rows
#each columns
    workgroupBarrier();
    subgroupMatrixStore<row_major>(&sums[mine], 0u, sum{rows}{columns}, N / 4u);
    workgroupBarrier();
    store({rows}u, {columns}u, p0, f, group.y, local);
#end
#end
}

// store writes one of each subgroup's matrices of sums.
fn store(m: u32, n: u32, p0: u32, f: u32, block: u32, local: u32) {
    for (var i = local; i < SUBGROUPS * M * N / 4u; i += WG) {
        let by = i / (M * N / 4u);
        let p = p0 + (by / ACROSS * ROWS + m) * M + i / (N / 4u) % M;
        let o = (block * BLOCK + by % ACROSS * WIDE + n * N) / 4u + i % (N / 4u);
        if p < params.P && o < params.C_out4 {
            var v = sums[by][i % (M * N / 4u)] + bias[o];
            let at = params.y_at + place(f, p, o);
            if ACCUMULATE {
                v += load4(y[at]);
            }
            y[at] = store4(v);
        }
    }
}

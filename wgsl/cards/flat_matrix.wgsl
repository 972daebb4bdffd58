// The computation shared by pointwise_matrix.wgsl and conv3d_strided_matrix.wgsl: SIDE
// x SIDE taps for each temporal tap, one after the other. Each is a matrix product
// whose left matrix holds the pixels of x under the tap. The kernel declares KT,
// params, the bindings and
//
//   fn count() -> u32              pixels of a frame of y
//   fn under(p, tap) -> Under      what is under a pixel

#import cards/matrix

struct Under {
    at: u32,      // of its channels in the frame, in vec4s of halves
    inside: bool, // it is a pixel of x
}

override WHOLE: bool = false; // channels are a multiple of those fetched at a time

const HEIGHT: u32 = DOWN * ROWS;
const CHUNK: u32 = BLOCK * DEPTH / 8u; // weights of a tap and DEPTH inputs, as bound
const POINTS: u32 = SIDE * SIDE;
// Where invocations store values that are no pixel of x: in idle rows, or behind the
// rows.
const NOWHERE: u32 = select(M * PITCH * AHEAD, 2u, PITCH > 2u);
const LONG: u32 = M * PITCH * AHEAD + select(0u, M * PITCH * (AHEAD - 1u) + 1u, SIDE > 1u && PITCH == 2u);
const_assert FETCHES * WG >= 2u * HEIGHT * M;
const_assert WEIGHTS * WG >= 2u * BLOCK;
const_assert WG % (2u * M) == 0u && (WG & (WG - 1u)) == 0u && (WIDE & (WIDE - 1u)) == 0u;

// As in conv_matrix.wgsl, offsets within an inner array are known at compile time.
var<workgroup> pixels: array<array<vec4<u32>, LONG>, (FETCHES * WG / 2u + M - 1u) / M>; // [row of matrices][DEPTH channels][pixel][input]
var<workgroup> matrices: array<array<vec4<u32>, WIDE * PITCH * AHEAD>, (WEIGHTS * WG / 2u + WIDE - 1u) / WIDE>; // [subgroups across][DEPTH channels][output][input]
var<workgroup> sums: array<array<vec4<f32>, M * N / 4u>, SUBGROUPS>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32, @builtin(subgroup_id) id: u32) {
    let group = workgroup + params.first.xyz;
    let p0 = group.x * HEIGHT * M;
    let f = group.z;
    let mine = id % SUBGROUPS; // with smaller subgroups than the largest, two compute the same matrices
    let down = mine / ACROSS * ROWS;
    let across = mine % ACROSS;

    // The pixels and weights that this invocation fetches, 8 channels of each, and
    // where it stores them. Remainders, not masks: Dawn knows their bounds.
    let part = local % 2u;
    let row = local / (2u * M);
    let here = local / 2u % M * PITCH + part;
    let wide = local / (2u * WIDE);
    let there = local / 2u % WIDE * PITCH + part;
    // Sums start as products of zeros instead of zeros. NVK gave zeros registers one by
    // one and moved all sums twice per iteration; a product gets four registers in a
    // row.
#unroll rows ROWS
#unroll columns COLUMNS
    var sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(Left(), Right(), Sum());
#end
#end
    let blocks = (4u * params.C_in4 + DEPTH - 1u) / DEPTH; // of the weight, in a tap
    var w = (params.weight_at + group.y * params.weight_stride) / 2u + local;
#unroll frames FRAMES
    for (var frame = {frames}u; frame < min(KT, {frames}u + 4u - FRAMES); frame++) {
        var base = params.x0_at / 2u;
        if frame == 1u {
            base = params.x1_at / 2u;
        }
        if frame == 2u {
            base = params.x2_at / 2u;
        }
        base += f * (params.x_stride / 2u);
        for (var tap = 0u; tap < POINTS; tap++) {
            // For pixels outside of x, zeros are stored once per tap, and the fetched
            // values go to NOWHERE: selecting one of the two takes more instructions.
#unroll fetches FETCHES
            let under{fetches} = under(min(p0 + (local + {fetches}u * WG) / 2u, count() - 1u), tap);
            let here{fetches} = select(NOWHERE, here, SIDE == 1u || under{fetches}.inside);
            var now{fetches} = base + under{fetches}.at + part;
#end
            if SIDE > 1u {
                workgroupBarrier();
#unroll fetches FETCHES
#unroll ahead AHEAD
                pixels[row + {fetches}u * (WG / 2u / M)][{ahead}u * M * PITCH + here] = vec4<u32>();
#end
#end
            }
            var v = w;
            for (var block = 0u; block < blocks; block += AHEAD) {
                workgroupBarrier();
#unroll ahead AHEAD
                let there{ahead} = WHOLE || (block + {ahead}u) * (DEPTH / 8u) + part < params.C_in4 / 2u;
#unroll taps 3
                if frame == {taps}u {
#unroll fetches FETCHES
                    pixels[row + {fetches}u * (WG / 2u / M)][{ahead}u * M * PITCH + here{fetches}] = select(vec4<u32>(), x{taps}[now{fetches} + {ahead}u * (DEPTH / 8u)], there{ahead});
#end
                }
#end
#unroll weights WEIGHTS
                matrices[wide + {weights}u * (WG / 2u) / WIDE][({ahead}u * WIDE + {weights}u * (WG / 2u) % WIDE) * PITCH + there] = halves(weight[v + {ahead}u * POINTS * CHUNK + {weights}u * WG]);
#end
#end
                workgroupBarrier();
#unroll ahead AHEAD
#unroll parts PARTS
                {
#unroll rows ROWS
                    let left{rows} = subgroupMatrixLoad<Left, row_major>(&pixels[down + {rows}u], {ahead}u * M * PITCH + {parts}u * K / 8u, PITCH);
#end
#unroll columns COLUMNS
                    let right{columns} = subgroupMatrixLoad<Right, col_major>(&matrices[across], ({ahead}u * WIDE + {columns}u * N) * PITCH + {parts}u * K / 8u, PITCH);
#end
#unroll rows ROWS
#unroll columns COLUMNS
                    sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(left{rows}, right{columns}, sum{rows}{columns});
#end
#end
                }
#end
#end
                v += AHEAD * POINTS * CHUNK;
#unroll fetches FETCHES
                now{fetches} += AHEAD * DEPTH / 8u;
#end
            }
            w += CHUNK;
        }
        w += (blocks - 1u) * POINTS * CHUNK;
    }
#end
#unroll rows ROWS
#unroll columns COLUMNS
    workgroupBarrier();
    subgroupMatrixStore<row_major>(&sums[mine], 0u, sum{rows}{columns}, N / 4u);
    workgroupBarrier();
    store({rows}u, {columns}u, p0, f, group.y, local);
#end
#end
}

// store writes one matrix of sums of each subgroup.
fn store(m: u32, n: u32, p0: u32, f: u32, block: u32, local: u32) {
    for (var i = local; i < SUBGROUPS * M * N / 4u; i += WG) {
        let by = i / (M * N / 4u);
        let p = p0 + (by / ACROSS * ROWS + m) * M + i / (N / 4u) % M;
        let o = (block * BLOCK + by % ACROSS * WIDE + n * N) / 4u + i % (N / 4u);
        if p < count() && o < params.C_out4 {
            var v = sums[by][i % (M * N / 4u)] + bias[o];
            let at = params.y_at + place(f, p, o);
            if ACCUMULATE {
                v += load4(y[at]);
            }
            y[at] = store4(v);
        }
    }
}

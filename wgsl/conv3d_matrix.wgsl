// conv3d_matrix: conv3d.wgsl by subgroup matrices, for activations stored as f16
//
// The same y, x0 to x2 and bias, with the same Params. A workgroup makes TALL rows
// of M pixels in BLOCK output channels; each of its subgroups ROWS of these rows in
// COLUMNS*N channels, a matrix of sums for each row and N channels. For each
// temporal tap and DEPTH input channels the pixels under the tile are put into
// workgroup memory, with zeros where there is no pixel or channel, and for each row
// of taps the weights: a tap then is a product of matrices, whose left one begins
// at another pixel. Sums are f32.
//
//   weight  [C_out/BLOCK, taps, C_in/DEPTH, 3, 3, BLOCK, DEPTH]  weight  read
//
// Reference: ref/conv3d.go. WG and the sizes of matrices are in matrix.go.
// Grid: (segments of M pixels x H/TALL, C_out/BLOCK, frames).

#import conv3d_params
#import halves
#import matrices

const STRIDE: u32 = 1;
const TALL: u32 = DOWN * ROWS;
const LONG: u32 = M + 2u;                 // pixels under a row of the tile
const DEEP: u32 = FETCHES * WG / 2u;      // pixels fetched
const OUTPUTS: u32 = WEIGHTS * WG / 2u;   // outputs of a tap, of all nine
const CHUNK: u32 = 9u * BLOCK * DEPTH / 4u; // weights of a temporal tap and DEPTH inputs, as bound
const_assert DEEP >= (TALL + 2u) * LONG;
const_assert OUTPUTS >= 9u * BLOCK;
const_assert SUBGROUPS <= 9u * ACROSS && M * N / 4u <= WIDE * PITCH;

// Arrays lie in arrays so that where a matrix begins in the inner one is known
// when the text is compiled: its bounds then need no looking at, and cards' own
// loads of matrices are used.
var<workgroup> pixels: array<array<vec4<u32>, LONG * PITCH>, (DEEP + LONG - 1u) / LONG>; // [row][column][input]
var<workgroup> matrices: array<array<vec4<u32>, WIDE * PITCH>, (OUTPUTS + WIDE - 1u) / WIDE>; // [row, column of taps, subgroups across][output][input]; at last sums

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32, @builtin(subgroup_id) id: u32) {
    let group = workgroup + params.first.xyz;
    let per_row = (params.W + M - 1u) / M;
    let r = group.x / per_row * TALL;
    let s = group.x % per_row * M;
    let f = group.z;
    let mine = id & (SUBGROUPS - 1u); // where subgroups are smaller than they may be, two do the same
    let down = mine / ACROSS * ROWS;
    let across = mine % ACROSS;

    // The pixels that this invocation fetches, 8 channels of each: where they are, and whether they are inside of x.
    let part = local % 2u;
#each fetches
    let q{fetches} = (local + {fetches}u * WG) / 2u;
    let r{fetches} = i32(r + q{fetches} / LONG) + params.top;
    let s{fetches} = i32(s + q{fetches} % LONG) + params.left;
    let row{fetches} = clamp(r{fetches}, 0, i32(SCALE * params.H_in) - 1);
    let column{fetches} = clamp(s{fetches}, 0, i32(SCALE * params.W_in) - 1);
    let inside{fetches} = r{fetches} == row{fetches} && s{fetches} == column{fetches};
    let at{fetches} = f * params.x_stride + (u32(row{fetches}) / SCALE * params.W_in + u32(column{fetches}) / SCALE) * params.C_in4 + 2u * part;
#end
#each rows
#each columns
    var sum{rows}{columns}: Sum;
#end
#end
    var w = params.weight_at + group.y * params.weight_stride + 2u * local;
#each frames
    for (var frame = {frames}u; frame < min(KT, {frames}u + 4u - FRAMES); frame++) {
        for (var c = 0u; c < params.C_in4; c += DEPTH / 4u) {
            let first = c + 2u * part < params.C_in4;
            let second = c + 2u * part + 1u < params.C_in4;
            workgroupBarrier();
#each taps
            if frame == {taps}u {
#each fetches
                pixels[q{fetches} / LONG][q{fetches} % LONG * PITCH + part] = vec4<u32>(
                    select(vec2<u32>(), x{taps}[params.x{taps}_at + at{fetches} + c], inside{fetches} && first),
                    select(vec2<u32>(), x{taps}[params.x{taps}_at + at{fetches} + c + 1u], inside{fetches} && second));
#end
            }
#end
#each weights
            matrices[(local / 2u + {weights}u * (WG / 2u)) / WIDE][(local / 2u + {weights}u * (WG / 2u)) % WIDE * PITCH + part] = vec4<u32>(
                halves(weight[w + {weights}u * 2u * WG]), halves(weight[w + {weights}u * 2u * WG + 1u]));
#end
            workgroupBarrier();
#each points
#each parts
            for (var point = {points}u; point < {points}u + 4u - POINTS; point++) {
#each taken
                let left{taken} = subgroupMatrixLoad<Left, row_major>(&pixels[down + {taken}u], point * PITCH + {parts}u * K / 8u, PITCH);
#end
#each lines
#each columns
                let right{lines}{columns} = subgroupMatrixLoad<Right, col_major>(&matrices[({lines}u * 3u + point) * ACROSS + across], {columns}u * N * PITCH + {parts}u * K / 8u, PITCH);
#end
#each rows
#each columns
                sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(left{lines+rows}, right{lines}{columns}, sum{rows}{columns});
#end
#end
#end
            }
#end
#end
            w += CHUNK;
        }
    }
#end
#each rows
#each columns
    workgroupBarrier();
    subgroupMatrixStore<row_major>(&matrices[mine], 0u, sum{rows}{columns}, N / 4u);
    workgroupBarrier();
    store({rows}u, {columns}u, r, s, f, group.y, local);
#end
#end
}

// store writes one of each subgroup's matrices of sums, which lie in matrices.
fn store(m: u32, n: u32, r: u32, s: u32, f: u32, block: u32, local: u32) {
    let per_row = (params.W + M - 1u) / M;
    for (var i = local; i < SUBGROUPS * M * N / 4u; i += WG) {
        let by = i / (M * N / 4u);
        let row = r + by / ACROSS * ROWS + m;
        let column = s + i / (N / 4u) % M;
        let o = (block * BLOCK + by % ACROSS * WIDE + n * N) / 4u + i % (N / 4u);
        if row * per_row < params.segments && column < params.W && o < params.C_out4 {
            var v = bitcast<vec4<f32>>(matrices[by][i % (M * N / 4u)]) + bias[o];
            let at = params.y_at + place(f, row * params.W + column, o);
            if ACCUMULATE {
                v += load4(y[at]);
            }
            y[at] = store4(v);
        }
    }
}

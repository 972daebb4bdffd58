// The computation shared by conv3d_matrix.wgsl and conv_up_matrix.wgsl: SIDE x SIDE
// taps for each temporal tap, with the pixels under them in workgroup memory. The
// kernel declares SCALE, KT, params, the bindings and
//
//   fn wide() -> u32                  pixels in a row
//   fn corner(group, r, s) -> Corner  where what is under pixel (r, s) begins
//   fn finish(group, r, s, o, sum)    stores channels 4*o to 4*o+3 of the group's

#import cards/matrix

struct Corner {
    row: i32, // of x, under the first tap of row r
    column: i32,
    weight: u32, // offset in vec4s of numbers
}

override WHOLE: bool = false; // C_in is a multiple of DEPTH

const HEIGHT: u32 = DOWN * ROWS;
const LONG: u32 = M + SIDE - 1u;        // pixels under a row of the tile
const UNDER: u32 = HEIGHT + SIDE - 1u;    // rows under the tile
const DEEP: u32 = FETCHES * WG / 2u;    // pixels fetched
const OUTPUTS: u32 = WEIGHTS * WG / 2u; // outputs of all taps together
const CHUNK: u32 = SIDE * SIDE * BLOCK * DEPTH / 8u; // weights of all taps and DEPTH inputs, as bound
const SUMS: u32 = M * N / 4u;           // vec4s of a matrix
const APART: u32 = WIDE * PITCH / SUMS; // matrices of sums in the space of WIDE outputs' weights

// Everything fetched has room. With less, AMD's compiler saves registers and then moves
// their contents.
const ROOM: u32 = (DEEP + LONG - 1u) / LONG * LONG;
const_assert DEEP >= UNDER * LONG;
const_assert OUTPUTS >= SIDE * SIDE * BLOCK;
const_assert SUBGROUPS <= APART * (OUTPUTS / WIDE);

// The arrays are nested so that the start of a matrix in the inner one is known at
// compile time. Then its bounds need no check, and cards use their own loads of
// matrices.
var<workgroup> pixels: array<array<vec4<u32>, LONG * PITCH>, ROOM / LONG>; // [row][column][input]
var<workgroup> matrices: array<array<vec4<u32>, WIDE * PITCH>, (OUTPUTS + WIDE - 1u) / WIDE>; // [row, column of taps, subgroups across][output][input]; at last sums

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32, @builtin(subgroup_id) id: u32) {
    let group = workgroup + params.first.xyz;
    let per_row = (wide() + M - 1u) / M;
    let r = group.x / per_row * HEIGHT;
    let s = group.x % per_row * M;
    let f = group.z;
    let begin = corner(group, r, s);
    let mine = id & (SUBGROUPS - 1u); // with smaller subgroups than the largest, two compute the same matrices
    let down = mine / ACROSS * ROWS;
    let across = mine % ACROSS;

    let part = local % 2u; // 8 of the 16 channels of a pixel, which this invocation fetches

    // Sums start as products of zeros, see flat_matrix.wgsl.
#unroll rows ROWS
#unroll columns COLUMNS
    var sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(Left(), Right(), Sum());
#end
#end
    var w = (params.weight_at + begin.weight) / 2u + local;
#unroll frames FRAMES
    for (var frame = {frames}u; frame < min(KT, {frames}u + 4u - FRAMES); frame++) {
        // All lines at once: with this loop AMD's compiler moves fewer sums in the loop
        // that multiplies (conv3d 516 instructions instead of 533, conv_up 437 instead
        // of 459).
        for (var line = 0u; line < SIDE; line += SIDE) {
            // The pixels that this invocation fetches, 8 channels of each: their
            // places, and whether they are inside of x.
#unroll fetches FETCHES
            let q{fetches} = min((local + {fetches}u * WG) / 2u, ROOM - 1u);
            let r{fetches} = begin.row + i32(q{fetches} / LONG);
            let s{fetches} = begin.column + i32(q{fetches} % LONG);
            let row{fetches} = clamp(r{fetches}, 0, i32(SCALE * params.H_in) - 1);
            let column{fetches} = clamp(s{fetches}, 0, i32(SCALE * params.W_in) - 1);
            let inside{fetches} = r{fetches} == row{fetches} && s{fetches} == column{fetches};
            let at{fetches} = (f * params.x_stride + (u32(row{fetches}) / SCALE * params.W_in + u32(column{fetches}) / SCALE) * params.C_in4) / 2u + part;
#end
            var v = w;
            for (var c = 0u; c < params.C_in4 / 2u; c += DEPTH / 8u) {
                let there = WHOLE || c + part < params.C_in4 / 2u;
                workgroupBarrier();
#unroll taps 3
                if frame == {taps}u {
#unroll fetches FETCHES
                    pixels[q{fetches} / LONG][q{fetches} % LONG * PITCH + part] =
                        select(vec4<u32>(), x{taps}[params.x{taps}_at / 2u + at{fetches} + c], inside{fetches} && there);
#end
                }
#end
#unroll weights WEIGHTS
                matrices[(local / 2u + {weights}u * (WG / 2u)) / WIDE][(local / 2u + {weights}u * (WG / 2u)) % WIDE * PITCH + part] = halves(weight[v + {weights}u * WG]);
#end
                workgroupBarrier();
#unroll points POINTS
#unroll parts PARTS
                for (var point = {points}u; point < {points}u + SIDE + 1u - POINTS; point++) {
#unroll taken TAKEN
                    let left{taken} = subgroupMatrixLoad<Left, row_major>(&pixels[down + {taken}u], point * PITCH + {parts}u * K / 8u, PITCH);
#end
#unroll side SIDE
#unroll columns COLUMNS
                    let right{side}{columns} = subgroupMatrixLoad<Right, col_major>(&matrices[({side}u * SIDE + point) * ACROSS + across], {columns}u * N * PITCH + {parts}u * K / 8u, PITCH);
#end
#unroll rows ROWS
#unroll taken TAKEN
                    if {taken}u == {side}u + {rows}u {
#unroll columns COLUMNS
                        sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(left{taken}, right{side}{columns}, sum{rows}{columns});
#end
                    }
#end
#end
#end
                }
#end
#end
                v += CHUNK;
            }
        }
        w += (params.C_in4 + DEPTH / 4u - 1u) / (DEPTH / 4u) * CHUNK;
    }
#end
#unroll rows ROWS
#unroll columns COLUMNS
    workgroupBarrier();
    subgroupMatrixStore<row_major>(&matrices[mine / APART], mine % APART * SUMS, sum{rows}{columns}, N / 4u);
    workgroupBarrier();
    store({rows}u, {columns}u, r, s, group, local);
#end
#end
}

// store writes one matrix of sums of each subgroup, by way of `matrices`.
fn store(m: u32, n: u32, r: u32, s: u32, group: vec3<u32>, local: u32) {
    for (var i = local; i < SUBGROUPS * SUMS; i += WG) {
        let by = i / SUMS;
        let row = r + by / ACROSS * ROWS + m;
        let column = s + i / (N / 4u) % M;
        let o = (by % ACROSS * WIDE + n * N) / 4u + i % (N / 4u);
        finish(group, row, column, o, bitcast<vec4<f32>>(matrices[by / APART][by % APART * SUMS + i % SUMS]));
    }
}

// attention_values_matrix: attention_values.wgsl by subgroup matrices, for activations stored as f16
//
//   s  [queries, keys]  halves  read  powers of attention_softmax_matrix, in the first half of each row
//
// The other bindings and Params are those of attention_values.wgsl. A workgroup makes
// HEIGHT*M queries in BLOCK channels, like pixels in pointwise_matrix.wgsl: the
// exponentials are the left matrices, the values the weights. Values are transposed on
// their way into workgroup memory, four keys of four channels at a time, so that the
// keys of a channel are adjacent for a product. Sums are f32. Reference:
// ref/attention.go. WG and the sizes of matrices are in cards_matrix.go. Grid: (queries
// / (HEIGHT*M), C/BLOCK).

#import tile
#import elem
#import attention_params
#import cards/matrix

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> kv: array<elem4>;
@group(0) @binding(2) var<storage, read> s: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> state: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> acc: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> o: array<elem4>;

override WHOLE: bool = false; // keys are a multiple of those multiplied at a time

const HEIGHT: u32 = DOWN * ROWS;
const KEYS4: u32 = AHEAD * DEPTH / 4u; // fours of keys, multiplied at a time
const_assert FETCHES * WG >= 2u * HEIGHT * M;
const_assert TURNS * WG == KEYS4 * BLOCK / 4u;
const_assert WG % (2u * M) == 0u && (WG & (WG - 1u)) == 0u && (WIDE & (WIDE - 1u)) == 0u;

var<workgroup> powers: array<array<vec4<u32>, M * PITCH * AHEAD>, (FETCHES * WG / 2u + M - 1u) / M>; // [row of matrices][DEPTH keys][query][key]
var<workgroup> values: array<array<vec2<u32>, WIDE * 2u * PITCH * AHEAD>, ACROSS>;                  // [subgroups across][DEPTH keys][channel][key]
var<workgroup> sums: array<array<vec4<f32>, M * N / 4u>, SUBGROUPS>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32, @builtin(subgroup_id) id: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = group.x * HEIGHT * M;
    let mine = id % SUBGROUPS; // with smaller subgroups than the largest, two compute the same matrices
    let down = mine / ACROSS * ROWS;
    let across = mine % ACROSS;

    // The exponentials of 8 keys and the values of 4 that this invocation fetches, and
    // where it stores them.
    let part = local % 2u;
    let row = local / (2u * M);
    let here = local / 2u % M * PITCH + part;
    let four = local % KEYS4;
    let token = 3u * params.C4;
    let wide = local / KEYS4 * 4u / WIDE;
    let there = (four / (DEPTH / 4u) * WIDE + local / KEYS4 % (WIDE / 4u) * 4u) * 2u * PITCH + four % (DEPTH / 4u);
#unroll fetches FETCHES
    var power{fetches} = min(i0 + (local + {fetches}u * WG) / 2u, params.queries - 1u) * (params.keys / 4u) + part;
#end
    // Beyond the last key there are numbers of the frame, or zeros; their weight is
    // zero.
    var value = params.k_at + 4u * four * token + 2u * params.C4 + group.y * (BLOCK / 4u) + local / KEYS4;
    // Sums start as products of zeros, see flat_matrix.wgsl.
#unroll rows ROWS
#unroll columns COLUMNS
    var sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(Left(), Right(), Sum());
#end
#end
    // Dawn counts the iterations of a loop unless its bound is constant.
    let steps = (params.keys + AHEAD * DEPTH - 1u) / (AHEAD * DEPTH);
    for (var step = 0u; step < 0x1000000u; step++) {
        if step >= steps { break; }
        workgroupBarrier();
#unroll ahead AHEAD
        let real{ahead} = WHOLE || (step * AHEAD + {ahead}u) * DEPTH + 8u * part < params.keys;
#unroll fetches FETCHES
        powers[row + {fetches}u * (WG / 2u / M)][{ahead}u * M * PITCH + here] = select(vec4<u32>(), s[power{fetches} + {ahead}u * DEPTH / 8u], real{ahead});
#end
#end
#unroll turns TURNS
        {
            let a = bitcast<vec4<f16>>(kv[value + {turns}u * (WG / KEYS4)]);
            let b = bitcast<vec4<f16>>(kv[value + token + {turns}u * (WG / KEYS4)]);
            let c = bitcast<vec4<f16>>(kv[value + 2u * token + {turns}u * (WG / KEYS4)]);
            let d = bitcast<vec4<f16>>(kv[value + 3u * token + {turns}u * (WG / KEYS4)]);
            let outer = wide + {turns}u * (WG / KEYS4) * 4u / WIDE;
            let inner = there + {turns}u * (WG / KEYS4) * 4u % WIDE * 2u * PITCH;
            values[outer][inner] = bitcast<vec2<u32>>(vec4<f16>(a.x, b.x, c.x, d.x));
            values[outer][inner + 2u * PITCH] = bitcast<vec2<u32>>(vec4<f16>(a.y, b.y, c.y, d.y));
            values[outer][inner + 4u * PITCH] = bitcast<vec2<u32>>(vec4<f16>(a.z, b.z, c.z, d.z));
            values[outer][inner + 6u * PITCH] = bitcast<vec2<u32>>(vec4<f16>(a.w, b.w, c.w, d.w));
        }
#end
        workgroupBarrier();
#unroll ahead AHEAD
#unroll parts PARTS
        {
#unroll rows ROWS
            let left{rows} = subgroupMatrixLoad<Left, row_major>(&powers[down + {rows}u], {ahead}u * M * PITCH + {parts}u * K / 8u, PITCH);
#end
#unroll columns COLUMNS
            let right{columns} = subgroupMatrixLoad<Right, col_major>(&values[across], ({ahead}u * WIDE + {columns}u * N) * 2u * PITCH + {parts}u * K / 4u, 2u * PITCH);
#end
#unroll rows ROWS
#unroll columns COLUMNS
            sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(left{rows}, right{columns}, sum{rows}{columns});
#end
#end
        }
#end
#end
#unroll fetches FETCHES
        power{fetches} += AHEAD * DEPTH / 8u;
#end
        value += AHEAD * DEPTH * token;
    }
#unroll rows ROWS
#unroll columns COLUMNS
    workgroupBarrier();
    subgroupMatrixStore<row_major>(&sums[mine], 0u, sum{rows}{columns}, N / 4u);
    workgroupBarrier();
    store({rows}u, {columns}u, i0, group.y, local);
#end
#end
}

// store writes one matrix of sums of each subgroup.
fn store(m: u32, n: u32, i0: u32, block: u32, local: u32) {
    let done = params.key + params.keys >= params.N;
    for (var i = local; i < SUBGROUPS * M * N / 4u; i += WG) {
        let by = i / (M * N / 4u);
        let query = i0 + (by / ACROSS * ROWS + m) * M + i / (N / 4u) % M;
        let column = (block * BLOCK + by % ACROSS * WIDE + n * N) / 4u + i % (N / 4u);
        if query < params.queries && column < params.C4 {
            let at = query * params.C4 + column;
            var v = sums[by][i % (M * N / 4u)];
            if params.key > 0u {
                v += state[query].z * acc[at];
            }
            if done {
                o[params.o_at + at] = store4(v / state[query].y);
            } else {
                acc[at] = v;
            }
        }
    }
}

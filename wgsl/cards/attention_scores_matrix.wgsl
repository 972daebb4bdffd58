// attention_scores_matrix: attention_scores.wgsl by subgroup matrices, for activations stored as f16
//
// Bindings and Params are those of attention_scores.wgsl. A workgroup makes HEIGHT*M
// queries x BLOCK keys, like pixels and channels in pointwise_matrix.wgsl: keys are the
// weights. Sums are f32. Reference: ref/attention.go. WG and the sizes of matrices are
// in cards_matrix.go. Grid: (queries / (HEIGHT*M), keys/BLOCK).

#import tile
#import elem
#import attention_params
#import cards/matrix

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<elem4>;
@group(0) @binding(2) var<storage, read> kv: array<elem4>;
@group(0) @binding(3) var<storage, read_write> s: array<vec4<f32>>;

override WHOLE: bool = false; // channels are a multiple of those fetched at a time

const LOWEST: f32 = -3e38;
const HEIGHT: u32 = DOWN * ROWS;
const_assert FETCHES * WG >= 2u * HEIGHT * M;
const_assert WEIGHTS * WG >= 2u * BLOCK;
const_assert WG % (2u * M) == 0u && (WG & (WG - 1u)) == 0u && (WIDE & (WIDE - 1u)) == 0u;

var<workgroup> queries: array<array<vec4<u32>, M * PITCH * AHEAD>, (FETCHES * WG / 2u + M - 1u) / M>;       // [row of matrices][DEPTH channels][query][channel]
var<workgroup> keys: array<array<vec4<u32>, WIDE * PITCH * AHEAD>, (WEIGHTS * WG / 2u + WIDE - 1u) / WIDE>; // [subgroups across][DEPTH channels][key][channel]
var<workgroup> sums: array<array<vec4<f32>, M * N / 4u>, SUBGROUPS>;

// token is the offset of token n from the first one, clamped to the last.
fn token(n: u32, last: u32) -> u32 { return min(n, last) * 3u * params.C4; }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32, @builtin(subgroup_id) id: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = group.x * HEIGHT * M;
    let j0 = group.y * BLOCK;
    let mine = id % SUBGROUPS; // with smaller subgroups than the largest, two compute the same matrices
    let down = mine / ACROSS * ROWS;
    let across = mine % ACROSS;

    // The queries and keys that this invocation fetches, 8 channels of each, and where
    // it stores them.
    let part = local % 2u;
    let row = local / (2u * M);
    let here = local / 2u % M * PITCH + part;
    let wide = local / (2u * WIDE);
    let there = local / 2u % WIDE * PITCH + part;
#unroll fetches FETCHES
    var query{fetches} = params.q_at + token(i0 + (local + {fetches}u * WG) / 2u, params.queries - 1u) + 2u * part;
#end
#unroll weights WEIGHTS
    var key{weights} = params.k_at + token(j0 + (local + {weights}u * WG) / 2u, min(params.keys, params.N - params.key) - 1u) + params.C4 + 2u * part;
#end
    // Sums start as products of zeros, see flat_matrix.wgsl.
#unroll rows ROWS
#unroll columns COLUMNS
    var sum{rows}{columns} = subgroupMatrixMultiplyAccumulate(Left(), Right(), Sum());
#end
#end
    for (var c = 0u; c < params.C4; c += AHEAD * DEPTH / 4u) {
        workgroupBarrier();
#unroll ahead AHEAD
        let first{ahead} = WHOLE || c + {ahead}u * DEPTH / 4u + 2u * part < params.C4;
        let second{ahead} = WHOLE || c + {ahead}u * DEPTH / 4u + 2u * part + 1u < params.C4;
#unroll fetches FETCHES
        queries[row + {fetches}u * (WG / 2u / M)][{ahead}u * M * PITCH + here] = vec4<u32>(
            select(vec2<u32>(), q[query{fetches} + {ahead}u * DEPTH / 4u], first{ahead}),
            select(vec2<u32>(), q[query{fetches} + {ahead}u * DEPTH / 4u + 1u], second{ahead}));
#end
#unroll weights WEIGHTS
        keys[wide + {weights}u * (WG / 2u) / WIDE][({ahead}u * WIDE + {weights}u * (WG / 2u) % WIDE) * PITCH + there] = vec4<u32>(
            select(vec2<u32>(), kv[key{weights} + {ahead}u * DEPTH / 4u], first{ahead}),
            select(vec2<u32>(), kv[key{weights} + {ahead}u * DEPTH / 4u + 1u], second{ahead}));
#end
#end
        workgroupBarrier();
#unroll ahead AHEAD
#unroll parts PARTS
        {
#unroll rows ROWS
            let left{rows} = subgroupMatrixLoad<Left, row_major>(&queries[down + {rows}u], {ahead}u * M * PITCH + {parts}u * K / 8u, PITCH);
#end
#unroll columns COLUMNS
            let right{columns} = subgroupMatrixLoad<Right, col_major>(&keys[across], ({ahead}u * WIDE + {columns}u * N) * PITCH + {parts}u * K / 8u, PITCH);
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
        query{fetches} += AHEAD * DEPTH / 4u;
#end
#unroll weights WEIGHTS
        key{weights} += AHEAD * DEPTH / 4u;
#end
    }
#unroll rows ROWS
#unroll columns COLUMNS
    workgroupBarrier();
    subgroupMatrixStore<row_major>(&sums[mine], 0u, sum{rows}{columns}, N / 4u);
    workgroupBarrier();
    store({rows}u, {columns}u, i0, j0, local);
#end
#end
}

// store writes one matrix of sums of each subgroup.
fn store(m: u32, n: u32, i0: u32, j0: u32, local: u32) {
    for (var i = local; i < SUBGROUPS * M * N / 4u; i += WG) {
        let by = i / (M * N / 4u);
        let query = i0 + (by / ACROSS * ROWS + m) * M + i / (N / 4u) % M;
        let j = j0 + by % ACROSS * WIDE + n * N + 4u * (i % (N / 4u));
        if query < params.queries && j < params.keys {
            let exists = params.key + j + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(params.N);
            s[(query * params.keys + j) / 4u] = select(vec4<f32>(LOWEST), sums[by][i % (M * N / 4u)] * params.scale, exists);
        }
    }
}

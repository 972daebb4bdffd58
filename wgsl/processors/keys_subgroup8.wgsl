// Eight vec4s of keys or values, common to a subgroup of eight: each invocation loads
// one and broadcasts it. The kernel binds kv.

enable subgroups;
diagnostic(off, subgroup_uniformity);

const VECTORS: u32 = 2u * BLOCKS; // vec4s of an invocation's keys or channels

alias Row = array<vec4<f32>, PIXELS>;         // of queries, four channels or keys
alias Sums = array<vec4<f32>, PIXELS * VECTORS>; // [query][vec4s of keys or channels]

struct Eights {
    a: mat4x4<f32>,
    b: mat4x4<f32>,
}

fn eights(at: u32) -> Eights {
    let mine = load4(kv[at]);
    return Eights(
        mat4x4<f32>(subgroupBroadcast(mine, 0u), subgroupBroadcast(mine, 1u), subgroupBroadcast(mine, 2u), subgroupBroadcast(mine, 3u)),
        mat4x4<f32>(subgroupBroadcast(mine, 4u), subgroupBroadcast(mine, 5u), subgroupBroadcast(mine, 6u), subgroupBroadcast(mine, 7u)),
    );
}

// add adds the products of a row with a and b to two vec4s of each query's sums,
// starting with number `first`.
fn add(sums: ptr<function, Sums>, first: u32, row: ptr<function, Row>, a: mat4x4<f32>, b: mat4x4<f32>) {
    for (var i = 0u; i < PIXELS; i++) {
        let at = VECTORS * i + first;
        (*sums)[at] = plus((*sums)[at], (*row)[i], a);
        (*sums)[at + 1u] = plus((*sums)[at + 1u], (*row)[i], b);
    }
}

fn plus(sum: vec4<f32>, v: vec4<f32>, m: mat4x4<f32>) -> vec4<f32> {
    return fma(vec4<f32>(v.w), m[3], fma(vec4<f32>(v.z), m[2], fma(vec4<f32>(v.y), m[1], fma(vec4<f32>(v.x), m[0], sum))));
}

// attention_scores: s[i,j] = q[i] . kv[j] * scale for a block of queries and a block of keys
//
//   q    [queries, 3, C]  elem  read        query, key, value of a token, each padded; from q_at (vec4s) on
//   kv   [keys, 3, C]     elem  read        the same of the block of keys, no further than the frame; from k_at on
//   s    [queries, keys]  f32   read_write  keys is a multiple of 8; LOWEST beyond the last key; aliases nothing
//
// The first of three phases. They process a frame's keys block by block with a running
// maximum and sum, so that N*N scores are never stored; see attention.go. One
// invocation makes PIXELS queries x BLOCK keys; all invocations of a workgroup have the
// same keys. Reference: ref/attention.go. Grid: (queries/PIXELS / WG, keys/BLOCK). WG,
// PIXELS and BLOCK are in kernels.go.

#import tile
#import elem
#import attention_scores_head
#import multiply_add

// keys4 transposes four channels of four keys.
fn keys4(at: vec4<u32>, c: u32) -> mat4x4<f32> {
    return transpose(mat4x4<f32>(load4(kv[at.x + c]), load4(kv[at.y + c]), load4(kv[at.z + c]), load4(kv[at.w + c])));
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = (group.x * WG + local) * PIXELS;
    let j0 = group.y * BLOCK;
    if i0 >= params.queries { return; }

    var q_at = array<u32, PIXELS>();
#loop i PIXELS
    q_at[{i}] = params.q_at + min(i0 + {i}, params.queries - 1u) * 3u * params.C4;
#end
    let k = vec4<u32>(params.C4);
    let k0_at = vec4<u32>(token(j0), token(j0 + 1u), token(j0 + 2u), token(j0 + 3u)) + k;
    let k1_at = vec4<u32>(token(j0 + 4u), token(j0 + 5u), token(j0 + 6u), token(j0 + 7u)) + k;

    var sums = array<vec4<f32>, 2u * PIXELS>(); // [query][two vec4s of keys]
    for (var c = 0u; c < params.C4; c++) {
        let a = keys4(k0_at, c);
        let b = keys4(k1_at, c);
#loop i PIXELS
        let v = load4(q[q_at[{i}] + c]);
        sums[2u * {i}] = multiply_add4(sums[2u * {i}], v, a[0], a[1], a[2], a[3]);
        sums[2u * {i} + 1u] = multiply_add4(sums[2u * {i} + 1u], v, b[0], b[1], b[2], b[3]);
#end
    }

    let lowest = vec4<f32>(LOWEST);
    let n = vec4<u32>(params.N);
    let first = params.key + j0 + vec4<u32>(0u, 1u, 2u, 3u);
    // Constant length, with the bound inside: otherwise compilers of cards keep the
    // sums in memory.
#loop i PIXELS && (!ROLLED || i0 + {i} < params.queries)
    if i0 + {i} < params.queries {
        let at = ((i0 + {i}) * params.keys + j0) / 4u;
        s[at] = select(lowest, sums[2u * {i}] * params.scale, first < n);
        s[at + 1u] = select(lowest, sums[2u * {i} + 1u] * params.scale, first + 4u < n);
    }
#end
}

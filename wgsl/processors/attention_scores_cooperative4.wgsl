// attention_scores_cooperative4: s[i,j] = q[i] . kv[j] * scale for a block of queries and a block of keys
//
//   q    [queries, 3, C]  elem  read        query, key, value of a token, each padded; from q_at (vec4s) on
//   kv   [keys, 3, C]     elem  read        the same of the block of keys, no further than the frame; from k_at on
//   s    [queries, keys]  f32   read_write  keys is a multiple of 8; LOWEST beyond the last key; aliases nothing
//
// attention_scores.wgsl for subgroups of four, with an unrolled text: SwiftShader keeps
// an array in memory if a loop indexes it. A subgroup loads its keys together.
// Reference: ref/attention.go. Grid: (queries/PIXELS / WG, keys/BLOCK). WG, PIXELS and
// BLOCK are in kernels.go.

#import tile
#import elem
#import attention_scores_head
#import processors/keys_subgroup4

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = (group.x * WG + local) * PIXELS;
    let j0 = group.y * BLOCK;
    let lane = subgroupExclusiveAdd(1u);
    if i0 - PIXELS * lane >= params.queries { return; } // the whole subgroup returns

    let a_at = token(j0 + lane) + params.C4;
    let b_at = token(j0 + 4u + lane) + params.C4;
#unroll p PIXELS
    let q{p}_at = params.q_at + min(i0 + {p}u, params.queries - 1u) * 3u * params.C4;
    var a{p} = vec4<f32>();
    var b{p} = vec4<f32>();
#end
    for (var c = 0u; c < params.C4; c++) {
        // Transpose four channels of four keys.
        let a = transpose(fours(a_at + c));
        let b = transpose(fours(b_at + c));
        var v = vec4<f32>();
#unroll p PIXELS
        v = load4(q[q{p}_at + c]);
        a{p} += v.x * a[0] + v.y * a[1] + v.z * a[2] + v.w * a[3];
        b{p} += v.x * b[0] + v.y * b[1] + v.z * b[2] + v.w * b[3];
#end
    }

    let lowest = vec4<f32>(LOWEST);
    let n = vec4<u32>(params.N);
    let first = params.key + j0 + vec4<u32>(0u, 1u, 2u, 3u);
    let at = (i0 * params.keys + j0) / 4u;
#unroll p PIXELS
    if i0 + {p}u < params.queries {
        s[at + {p}u * params.keys / 4u] = select(lowest, a{p} * params.scale, first < n);
        s[at + {p}u * params.keys / 4u + 1u] = select(lowest, b{p} * params.scale, first + 4u < n);
    }
#end
}

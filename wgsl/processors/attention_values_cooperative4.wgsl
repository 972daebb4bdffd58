// attention_values_cooperative4: acc[i,:] = acc[i,:]*decay[i] + sum_j s[i,j] * kv[j,:]; after the last block o = acc/sum
//
//   kv     [keys, 3, C]     elem  read        query, key, value of a token, each padded, no further than the frame; from k_at (vec4s) on
//   s      [queries, keys]  f32   read        powers of attention_softmax, 0 beyond the last key
//   state  [queries]        vec4  read        maximum, sum, decay
//   acc    [queries, C]     f32   read_write  not read by the first block, not written by the last
//   o      [queries, C]     elem  read_write  from o_at (vec4s) on; written by the last block; aliases nothing
//
// attention_values.wgsl for subgroups of four, with an unrolled text: SwiftShader keeps
// an array in memory if a loop indexes it. A subgroup loads its values together.
// Reference: ref/attention.go. Grid: (queries/PIXELS / WG, C/BLOCK). WG, PIXELS and
// BLOCK are in kernels.go.

#import tile
#import elem
#import attention_values_head
#import processors/keys_subgroup4

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = (group.x * WG + local) * PIXELS;
    let column0 = group.y * (BLOCK / 4u);
    let column1 = min(column0 + 1u, params.C4 - 1u);
    let lane = subgroupExclusiveAdd(1u);
    if i0 - PIXELS * lane >= params.queries { return; } // the whole subgroup returns

#unroll p PIXELS
    let q{p} = min(i0 + {p}u, params.queries - 1u);
    let s{p}_at = q{p} * params.keys / 4u;
    var a{p} = vec4<f32>();
    var b{p} = vec4<f32>();
    if params.key > 0u {
        a{p} = state[q{p}].z * acc[q{p} * params.C4 + column0];
        b{p} = state[q{p}].z * acc[q{p} * params.C4 + column1];
    }
#end
    for (var j = 0u; j < params.keys; j += 4u) {
        let at = params.k_at + (min(j + lane, params.N - params.key - 1u) * 3u + 2u) * params.C4; // clamped into the frame
        let a = fours(at + column0);
        let b = fours(at + column1);
        var v = vec4<f32>();
#unroll p PIXELS
        v = s[s{p}_at + j / 4u];
        a{p} += v.x * a[0] + v.y * a[1] + v.z * a[2] + v.w * a[3];
        b{p} += v.x * b[0] + v.y * b[1] + v.z * b[2] + v.w * b[3];
#end
    }

#unroll p PIXELS
    if i0 + {p}u < params.queries {
        put(a{p}, q{p}, column0);
        if column0 + 1u < params.C4 { put(b{p}, q{p}, column1); }
    }
#end
}

// attention_values: acc[i,:] = acc[i,:]*decay[i] + sum_j s[i,j] * kv[j,:]; after the last block o = acc/sum
//
//   kv     [keys, 3, C]     elem  read        query, key, value of a token, each padded, no further than the frame; from k_at (vec4s) on
//   s      [queries, keys]  f32   read        powers of attention_softmax, 0 beyond the last key
//   state  [queries]        vec4  read        maximum, sum, decay
//   acc    [queries, C]     f32   read_write  not read by the first block, not written by the last
//   o      [queries, C]     elem  read_write  from o_at (vec4s) on; written by the last block; aliases nothing
//
// The third phase of attention. One invocation makes PIXELS queries x BLOCK channels;
// all invocations of a workgroup have the same channels. Reference: ref/attention.go.
// Grid: (queries/PIXELS / WG, C/BLOCK). WG, PIXELS and BLOCK are in kernels.go.

#import tile
#import elem
#import attention_values_head
#import multiply_add

// value returns four channels of key j's value, with j clamped into the frame.
fn value(j: u32, column: u32) -> vec4<f32> {
    return load4(kv[params.k_at + (min(j, params.N - params.key - 1u) * 3u + 2u) * params.C4 + column]);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = (group.x * WG + local) * PIXELS;
    let column0 = group.y * (BLOCK / 4u);
    let column1 = min(column0 + 1u, params.C4 - 1u);
    if i0 >= params.queries { return; }

    var s_at = array<u32, PIXELS>();
    var sums = array<vec4<f32>, 2u * PIXELS>(); // [query][two vec4s of channels]
#loop i PIXELS
    let q = min(i0 + {i}, params.queries - 1u);
    s_at[{i}] = q * params.keys / 4u;
    if params.key > 0u {
        let decay = state[q].z;
        sums[2u * {i}] = decay * acc[q * params.C4 + column0];
        sums[2u * {i} + 1u] = decay * acc[q * params.C4 + column1];
    }
#end
    for (var j = 0u; j < params.keys; j += 4u) {
        let a0 = value(j, column0);
        let a1 = value(j, column1);
        let b0 = value(j + 1u, column0);
        let b1 = value(j + 1u, column1);
        let c0 = value(j + 2u, column0);
        let c1 = value(j + 2u, column1);
        let d0 = value(j + 3u, column0);
        let d1 = value(j + 3u, column1);
#loop i PIXELS
        let v = s[s_at[{i}] + j / 4u];
        sums[2u * {i}] = multiply_add4(sums[2u * {i}], v, a0, b0, c0, d0);
        sums[2u * {i} + 1u] = multiply_add4(sums[2u * {i} + 1u], v, a1, b1, c1, d1);
#end
    }

    // Constant length, with the bounds inside: otherwise compilers of cards keep the
    // sums in memory.
#loop i PIXELS && (!ROLLED || i0 + {i} < params.queries)
#loop h 2
    if i0 + {i} < params.queries && column0 + {h} < params.C4 {
        put(sums[2u * {i} + {h}], i0 + {i}, column0 + {h});
    }
#end
#end
}

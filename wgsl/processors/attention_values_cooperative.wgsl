// attention_values_cooperative: acc[i,:] = acc[i,:]*decay[i] + sum_j s[i,j] * kv[j,:]; after the last block o = acc/sum
//
//   kv     [keys, 3, C]     elem  read        query, key, value of a token, each padded, no further than the frame; from k_at (vec4s) on
//   s      [queries, keys]  f32   read        powers of attention_softmax, 0 beyond the last key
//   state  [queries]        vec4  read        maximum, sum, decay
//   acc    [queries, C]     f32   read_write  not read by the first block, not written by the last
//   o      [queries, C]     elem  read_write  from o_at (vec4s) on; written by the last block; aliases nothing
//
// attention_values.wgsl for subgroups of eight, which load values together. One
// invocation makes PIXELS queries x BLOCKS blocks of channels. Reference:
// ref/attention.go. Grid: (queries/PIXELS / WG, C/(BLOCKS BLOCK)). WG, PIXELS, BLOCK
// and BLOCKS are in kernels.go.

#import tile
#import elem
#import attention_values_head
#import processors/keys_subgroup8

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = (group.x * WG + local) * PIXELS;
    let column0 = group.y * VECTORS;
    let lane = subgroupExclusiveAdd(1u);
    if i0 - PIXELS * lane >= params.queries { return; } // the whole subgroup returns

    var sums = Sums();
    var s_at = array<u32, PIXELS>();
    for (var i = 0u; i < PIXELS; i++) { s_at[i] = min(i0 + i, params.queries - 1u) * params.keys / 4u; }
    for (var j = 0u; j < params.keys; j += 4u) {
        // The first four invocations load four channels of four keys, the others the
        // next four, all clamped into the frame.
        let at = params.k_at + (min(j + lane % 4u, params.N - params.key - 1u) * 3u + 2u) * params.C4;
        var row = Row();
        for (var i = 0u; i < PIXELS; i++) { row[i] = s[s_at[i] + j / 4u]; }
        for (var b = 0u; b < BLOCKS; b++) {
            let all = eights(at + min(column0 + 2u * b + lane / 4u, params.C4 - 1u));
            add(&sums, 2u * b, &row, all.a, all.b);
        }
    }

    for (var h = 0u; h < PIXELS * VECTORS && i0 + h / VECTORS < params.queries; h++) {
        let i = i0 + h / VECTORS;
        let column = column0 + h % VECTORS;
        if column < params.C4 {
            var sum = sums[h];
            if params.key > 0u { sum += state[i].z * acc[i * params.C4 + column]; }
            put(sum, i, column);
        }
    }
}

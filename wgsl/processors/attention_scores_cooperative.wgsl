// attention_scores_cooperative: s[i,j] = q[i] . kv[j] * scale for a block of queries and a block of keys
//
//   q    [queries, 3, C]  elem  read        query, key, value of a token, each padded; from q_at (vec4s) on
//   kv   [keys, 3, C]     elem  read        the same of the block of keys, no further than the frame; from k_at on
//   s    [queries, keys]  f32   read_write  keys is a multiple of 8; LOWEST beyond the last key; aliases nothing
//
// attention_scores.wgsl for subgroups of eight, which load a block of keys together.
// One invocation makes PIXELS queries x BLOCKS blocks of keys. Reference:
// ref/attention.go. Grid: (queries/PIXELS / WG, keys/(BLOCKS BLOCK)). WG, PIXELS, BLOCK
// and BLOCKS are in kernels.go.

#import tile
#import elem
#import attention_scores_head
#import processors/keys_subgroup8

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = (group.x * WG + local) * PIXELS;
    let j0 = group.y * BLOCKS * BLOCK;
    let lane = subgroupExclusiveAdd(1u);
    if i0 - PIXELS * lane >= params.queries { return; } // the whole subgroup returns

    var q_at = array<u32, PIXELS>();
    for (var i = 0u; i < PIXELS; i++) { q_at[i] = params.q_at + min(i0 + i, params.queries - 1u) * 3u * params.C4; }
    var k_at = array<u32, BLOCKS>();
    for (var b = 0u; b < BLOCKS; b++) { k_at[b] = token(j0 + b * BLOCK + lane) + params.C4; }

    var sums = Sums();
    for (var c = 0u; c < params.C4; c++) {
        var row = Row();
        for (var i = 0u; i < PIXELS; i++) { row[i] = load4(q[q_at[i] + c]); }
        for (var b = 0u; b < BLOCKS; b++) {
            // Transpose four channels of four keys.
            let all = eights(k_at[b] + c);
            add(&sums, 2u * b, &row, transpose(all.a), transpose(all.b));
        }
    }

    let lowest = vec4<f32>(LOWEST);
    let n = vec4<u32>(params.N);
    let first = params.key + j0 + vec4<u32>(0u, 1u, 2u, 3u);
    for (var h = 0u; h < PIXELS * VECTORS && i0 + h / VECTORS < params.queries; h++) {
        let i = i0 + h / VECTORS;
        let j = h % VECTORS * 4u;
        if j0 + j < params.keys {
            s[(i * params.keys + j0 + j) / 4u] = select(lowest, sums[h] * params.scale, first + j < n);
        }
    }
}

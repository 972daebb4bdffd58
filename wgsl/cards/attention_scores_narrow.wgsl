// attention_scores_narrow: attention_scores.wgsl in the adapter's smallest subgroups, for Intel's cards
//
// Bindings and Params are those of attention_scores.wgsl. A workgroup makes WG*PIXELS
// queries x BLOCK keys, and keeps DEPTH vec4s of channels of the keys in workgroup
// memory, like the weights of conv3d_narrow.wgsl. Reference: ref/attention.go. WG,
// PIXELS and BLOCK are in kernels.go. Grid: (queries/PIXELS / WG, keys/BLOCK).

#import tile
#import elem
#import attention_scores_head

const DEPTH: u32 = 16; // vec4s of channels at a time
const TOGETHER: u32 = WG / DEPTH; // keys fetched at once
const_assert WG % DEPTH == 0u && BLOCK % TOGETHER == 0u;

var<workgroup> numbers: array<array<array<f32, BLOCK>, 4>, DEPTH>; // [vec4][channel][key]

// stage stores the keys' channels from c on. Those beyond the last one are not used.
fn stage(j0: u32, c: u32, local: u32) {
    let d = local % DEPTH;
    for (var i = 0u; i < BLOCK / TOGETHER; i++) {
        let j = local / DEPTH + i * TOGETHER;
        let v = load4(kv[token(j0 + j) + params.C4 + min(c + d, params.C4 - 1u)]);
        numbers[d][0][j] = v.x;
        numbers[d][1][j] = v.y;
        numbers[d][2][j] = v.z;
        numbers[d][3][j] = v.w;
    }
}

// keys4 returns four keys from `first` on of a channel.
fn keys4(d: u32, channel: u32, first: u32) -> vec4<f32> {
    return vec4<f32>(numbers[d][channel][first], numbers[d][channel][first + 1u], numbers[d][channel][first + 2u], numbers[d][channel][first + 3u]);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = (group.x * WG + local) * PIXELS;
    let j0 = group.y * BLOCK;

    var q_at = array<u32, PIXELS>();
#unroll p PIXELS
    q_at[{p}] = params.q_at + min(i0 + {p}u, params.queries - 1u) * 3u * params.C4;
#end
    var sums = array<vec4<f32>, 2u * PIXELS>(); // [query][two vec4s of keys]
    for (var c = 0u; c < params.C4; c += DEPTH) {
        workgroupBarrier();
        stage(j0, c, local);
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d++) { // constant length: Dawn counts the iterations of others
            if c + d >= params.C4 { break; }
#unroll channel 4
            let a{channel} = keys4(d, {channel}u, 0u);
            let b{channel} = keys4(d, {channel}u, 4u);
#end
#unroll p PIXELS
            let v{p} = load4(q[q_at[{p}] + c + d]);
            sums[2u * {p}u] += v{p}.x * a0 + v{p}.y * a1 + v{p}.z * a2 + v{p}.w * a3;
            sums[2u * {p}u + 1u] += v{p}.x * b0 + v{p}.y * b1 + v{p}.z * b2 + v{p}.w * b3;
#end
        }
    }

    let lowest = vec4<f32>(LOWEST);
    let n = vec4<u32>(params.N);
    let first = params.key + j0 + vec4<u32>(0u, 1u, 2u, 3u);
#unroll p PIXELS
    if i0 + {p}u < params.queries {
        let at = ((i0 + {p}u) * params.keys + j0) / 4u;
        s[at] = select(lowest, sums[2u * {p}u] * params.scale, first < n);
        s[at + 1u] = select(lowest, sums[2u * {p}u + 1u] * params.scale, first + 4u < n);
    }
#end
}

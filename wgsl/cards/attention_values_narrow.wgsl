// attention_values_narrow: attention_values.wgsl in the adapter's smallest subgroups, for Intel's cards
//
// Bindings and Params are those of attention_values.wgsl. A workgroup makes WG*PIXELS
// queries x BLOCK channels, and keeps the values of 4*DEPTH keys in workgroup memory,
// like the weights of conv3d_narrow.wgsl. Reference: ref/attention.go. WG, PIXELS and
// BLOCK are in kernels.go. Grid: (queries/PIXELS / WG, C/BLOCK).

#import tile
#import elem
#import attention_values_head

const DEPTH: u32 = 16; // fours of keys at a time
const_assert 8u * DEPTH % WG == 0u;

var<workgroup> values: array<array<vec4<f32>, 8>, DEPTH>; // [four keys][key, two vec4s of channels]

// stage stores the values of the keys from j on. Those beyond the last one are not used,
// or have weight zero.
fn stage(j: u32, column: u32, local: u32) {
    for (var i = 0u; i < 8u * DEPTH / WG; i++) {
        let n = i * WG + local;
        let key = min(j + n / 2u, params.N - params.key - 1u);
        values[n / 8u][n % 8u] = load4(kv[params.k_at + (key * 3u + 2u) * params.C4 + min(column + n % 2u, params.C4 - 1u)]);
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i0 = (group.x * WG + local) * PIXELS;
    let column0 = group.y * (BLOCK / 4u);
    let column1 = min(column0 + 1u, params.C4 - 1u);

    var s_at = array<u32, PIXELS>();
    var sums = array<vec4<f32>, 2u * PIXELS>(); // [query][two vec4s of channels]
#unroll p PIXELS
    let query{p} = min(i0 + {p}u, params.queries - 1u);
    s_at[{p}] = query{p} * params.keys / 4u;
    if params.key > 0u {
        let decay = state[query{p}].z;
        sums[2u * {p}u] = decay * acc[query{p} * params.C4 + column0];
        sums[2u * {p}u + 1u] = decay * acc[query{p} * params.C4 + column1];
    }
#end
    for (var j = 0u; j < params.keys; j += 4u * DEPTH) {
        workgroupBarrier();
        stage(j, column0, local);
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d++) { // constant length: Dawn counts the iterations of others
            if j + 4u * d >= params.keys { break; }
            let m = values[d];
#unroll p PIXELS
            let v{p} = s[s_at[{p}] + j / 4u + d];
            sums[2u * {p}u] += v{p}.x * m[0] + v{p}.y * m[2] + v{p}.z * m[4] + v{p}.w * m[6];
            sums[2u * {p}u + 1u] += v{p}.x * m[1] + v{p}.y * m[3] + v{p}.z * m[5] + v{p}.w * m[7];
#end
        }
    }

#unroll p PIXELS
#unroll h 2
    if i0 + {p}u < params.queries && column0 + {h}u < params.C4 {
        put(sums[2u * {p}u + {h}u], i0 + {p}u, column0 + {h}u);
    }
#end
#end
}

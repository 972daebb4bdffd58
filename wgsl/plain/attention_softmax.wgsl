// attention_softmax: s = 2^(s - maximum), with the maximum of this block of keys and all before it
//
//   s      [queries, keys]  f32  read_write  scores of attention_scores, then powers
//   state  [queries]        vec4 read_write  maximum, sum of powers, decay: what sums before this block shrink by
//
// The second phase of attention. One invocation per query.
// Reference: ref/attention.go. Grid: queries / WG. WG is in kernels.go.

#import tile
#import attention_params
#import attention_maximum

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> s: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> state: array<vec4<f32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.queries { return; }
    let at = i * params.keys / 4u;
    let end = at + params.keys / 4u;

    var m = s[at];
    for (var j = at + 1u; j < end; j++) { m = max(m, s[j]); }
    let past = before(i, m);
    var powers = vec4<f32>();
    for (var j = at; j < end; j++) {
        let v = exp2(s[j] - past.maximum); // 0 beyond the last key
        s[j] = v;
        powers += v;
    }
    let sum = past.sum + (powers.x + powers.y) + (powers.z + powers.w);
    state[i] = vec4<f32>(past.maximum, sum, past.decay, 0.0);
}

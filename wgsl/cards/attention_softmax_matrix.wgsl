// attention_softmax_matrix: attention_softmax.wgsl with exponentials stored as halves
//
//   s      [queries, keys]  f32  read_write  scores, as bits; then powers, halves in the first half of each row
//   state  [queries]        vec4 read_write  maximum, sum of powers, decay
//
// The sum adds up the halves, because the products use them. One invocation per query.
// Reference: ref/attention.go. Grid: queries / WG. WG is in kernels.go.

#import tile
#import attention_params
#import attention_maximum

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> s: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> state: array<vec4<f32>>;

fn score(at: u32) -> vec4<f32> { return bitcast<vec4<f32>>(s[at]); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.queries { return; }
    let at = i * params.keys / 4u;

    var m = score(at);
    for (var j = 1u; j < params.keys / 4u; j++) { m = max(m, score(at + j)); }
    let past = before(i, m);
    var powers = vec4<f32>();
    for (var j = 0u; j < params.keys / 8u; j++) {
        let a = exp2(score(at + 2u * j) - past.maximum); // 0 beyond the last key
        let b = exp2(score(at + 2u * j + 1u) - past.maximum);
        let halves = vec4<u32>(pack2x16float(a.xy), pack2x16float(a.zw), pack2x16float(b.xy), pack2x16float(b.zw));
        s[at + j] = halves;
        powers += vec4<f32>(unpack2x16float(halves.x), unpack2x16float(halves.y)) + vec4<f32>(unpack2x16float(halves.z), unpack2x16float(halves.w));
    }
    let sum = past.sum + (powers.x + powers.y) + (powers.z + powers.w);
    state[i] = vec4<f32>(past.maximum, sum, past.decay, 0.0);
}

// time_attention: o[t,p,h] = sum_s w[s] * v[s,p,h] for s = 0..t, w = softmax of q[t,p,h] . k[s,p,h] * scale
//
// Attention over the frames so far, for each pixel and head separately. With UNIT,
// queries and keys are divided by their lengths, at least 1e-5.
//
//   qkv  [T, H, W, 3*C]  elem  read        from qkv_at (vec4s) on: queries, keys and values of
//                                          a pixel, each of C channels padded to 4; head h has D in a row
//   o    [T, H, W, C]    elem  read_write  from o_at on; aliases nothing
//
// Strides are vec4s between frames. One invocation makes BLOCK channels of a pixel's
// head in one frame: it goes through the frames once, with a running maximum. Sums are
// f32. Reference: ref/time_attention.go. Grid: (W * blocks / WG, H, T). WG and BLOCK
// are in kernels.go.

#import tile
#import elem
#import multiply_add

struct Params {
    first: vec4<u32>,
    W: u32,
    C4: u32,     // vec4s of C
    D4: u32,     // of a head
    blocks: u32, // of all heads
    qkv_at: u32,
    qkv_stride: u32,
    o_at: u32,
    o_stride: u32,
    scale: f32,  // log2(e) / sqrt(D)
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> qkv: array<elem4>;
@group(0) @binding(2) var<storage, read_write> o: array<elem4>;

override UNIT: bool = false;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.W * params.blocks { return; }
    let t = group.z;
    let pixel = group.y * params.W + i / params.blocks;
    let parts = (params.D4 + WIDE - 1u) / WIDE; // of a head
    let head = i % params.blocks / parts * params.D4;
    let begin = i % params.blocks % parts * WIDE; // within the head
    let n = min(WIDE, params.D4 - begin);
    let first = params.qkv_at + pixel * 3u * params.C4 + head; // of frame 0
    let query = first + t * params.qkv_stride;

    var scale = params.scale;
    if UNIT {
        var squares = 0.0;
        for (var c = 0u; c < params.D4; c++) {
            let q = load4(qkv[query + c]);
            squares += dot(q, q);
        }
        scale /= max(sqrt(squares), 1e-5);
    }

    var maximum = -3.0e38;
    var powers = 0.0;
    var sums = array<vec4<f32>, WIDE>();
    for (var s = 0u; s <= t; s++) {
        let key = first + s * params.qkv_stride + params.C4;
        var score = 0.0;
        var squares = 0.0;
        for (var c = 0u; c < params.D4; c++) {
            let k = load4(qkv[key + c]);
            score += dot(load4(qkv[query + c]), k);
            if UNIT { squares += dot(k, k); }
        }
        score *= scale;
        if UNIT { score /= max(sqrt(squares), 1e-5); }
        let most = max(maximum, score);
        let shrink = exp2(maximum - most);
        let power = exp2(score - most);
        maximum = most;
        powers = powers * shrink + power;
        let value = key + params.C4 + begin;
#loop c WIDE
        if {c} < n { sums[{c}] = multiply_add(sums[{c}] * shrink, power, load4(qkv[value + {c}])); }
#end
    }
    let at = params.o_at + t * params.o_stride + pixel * params.C4 + head + begin;
#loop c WIDE
    if {c} < n { o[at + {c}] = store4(sums[{c}] / powers); }
#end
}

// sum_taps: y[o, 0] = sum_{k < FIRST} weight[o, k]; y[o, t] = weight[o, FIRST-1+t] for t > 0
//
// A weight with its first FIRST temporal taps replaced by their sum, for output frames
// for which these taps read the same frame, such as those at the head of a clip.
//
//   weight  [blocks, taps, size]          weight  read        any packing of [block of outputs, tap, ...]
//   y       [blocks, taps-FIRST+1, size]  elem    read_write  aliases nothing; a weight too: f32, or halves
//
// size counts vec4s. Sums are f32 and rounded once. One invocation makes one
// vec4. Reference: ref/sum_taps.go. Grid: (size / WG, blocks, taps of y). WG is in
// kernels.go.

#import tile
#import elem
#import weight

struct Params {
    first: vec4<u32>,
    size: u32,
    taps: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> weight: array<weight4>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

override FIRST: u32 = 3;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.size { return; }
    let block = group.y * params.taps;
    var at = block * params.size + i;
    let t = group.z;
    if t > 0u { at += (FIRST - 1u + t) * params.size; }
    var sum = load_weight4(weight[at]);
    if t == 0u {
        for (var k = 1u; k < FIRST; k++) {
            sum += load_weight4(weight[at + k * params.size]);
        }
    }
    y[(group.y * (params.taps - FIRST + 1u) + t) * params.size + i] = store4(sum);
}

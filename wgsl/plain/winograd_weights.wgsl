// winograd_weights: y[o] = W0, (W0+W1+W2)/2, (W0-W1+W2)/2, W2 of weight[o]
//
// Transforms a weight's three temporal taps for conv3d_winograd.wgsl.
//
//   weight  [blocks, 3, size]  weight  read        any packing of [block of outputs, tap, ...]
//   y       [blocks, 4, size]  elem    read_write  aliases nothing; a weight too: f32, or halves
//
// size counts vec4s. Sums are f32 and rounded once. One invocation makes a vec4 of
// each tap. Reference: ref/winograd_weights.go. Grid: (size / WG, blocks, 1). WG is in
// kernels.go.

#import tile
#import elem
#import weight

struct Params {
    first: vec4<u32>,
    size: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> weight: array<weight4>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.size { return; }
    let read = 3u * group.y * params.size + i;
    let w0 = load_weight4(weight[read]);
    let w1 = load_weight4(weight[read + params.size]);
    let w2 = load_weight4(weight[read + 2u * params.size]);
    let made = 4u * group.y * params.size + i;
    y[made] = store4(w0);
    y[made + params.size] = store4(0.5 * (w0 + w2 + w1));
    y[made + 2u * params.size] = store4(0.5 * (w0 + w2 - w1));
    y[made + 3u * params.size] = store4(w2);
}

// line_taps: y[o] = six sums of the three columns W of weight[o]
//
// quad_taps.wgsl's sums, of columns in place of temporal taps, of a weight of one
// temporal tap.
//
//   weight  [blocks, 3, C_in/4, 3, 8]  weight  read        blocks4x8: block, row, input, column, vec4s of a matrix
//   y       [blocks, 6, 3, C_in/4, 8]  f32     read_write  aliases nothing
//
// One invocation makes a vec4 of each sum; size is rows x C_in/4 x 8. Reference:
// ref/conv3d.go. Grid: (size / WG, blocks, 1). WG is in conv_lines.go.

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
    let read = 3u * group.y * params.size + i / 8u * 24u + i % 8u;
    let w0 = load_weight4(weight[read]);
    let w1 = load_weight4(weight[read + 8u]);
    let w2 = load_weight4(weight[read + 16u]);
    let made = 6u * group.y * params.size + i;
    let near = (w0 + 0.5625 * w2) / -1.8984375;
    let far = (w0 + 2.25 * w2) / 7.59375;
    y[made] = store4(w0 / 1.265625);
    y[made + params.size] = store4(near + w1 * (0.75 / -1.8984375));
    y[made + 2u * params.size] = store4(near - w1 * (0.75 / -1.8984375));
    y[made + 3u * params.size] = store4(far + w1 * (1.5 / 7.59375));
    y[made + 4u * params.size] = store4(far - w1 * (1.5 / 7.59375));
    y[made + 5u * params.size] = store4(w2);
}

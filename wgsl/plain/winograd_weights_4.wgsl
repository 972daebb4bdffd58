// winograd_weights_4: y[o] = six sums of the three temporal taps W of weight[o], or of its three columns
//
// The weight transform of Winograd's F(4,3) at its points p, which are 0, 3/4, -3/4,
// 3/2, -3/2 and infinity: (W0 + p W1 + p^2 W2) / N, where N is the product of the
// differences between p and the other points, and W2 at infinity.
//
//   weight  [blocks, taps, rows, part / run, 3, run]  weight  read        any packing; 3: what is summed
//   y       [blocks, 6, rows, taps, part]             f32     read_write  aliases nothing
//
// For temporal taps, size, part and run are equal: the vec4s of a tap. For columns, run
// is a matrix, and part is one column of a row of one temporal tap. All three count
// vec4s. One invocation makes a vec4 of each sum. Reference: ref/conv3d.go. Grid: (size
// / WG, blocks, 1). WG is in kernels.go.

#import tile
#import elem
#import weight

struct Params {
    first: vec4<u32>,
    size: u32,
    run: u32,
    part: u32,
    rows: u32,
    taps: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> weight: array<weight4>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

// over is i / n in f32, because processors divide integers one by one. It is exact
// below 4 million.
fn over(i: u32, n: u32) -> u32 { return u32((f32(i) + 0.5) / f32(n)); }

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.size { return; }
    let read = 3u * group.y * params.size + 2u * over(i, params.run) * params.run + i;
    let w0 = load_weight4(weight[read]);
    let w1 = load_weight4(weight[read + params.run]);
    let w2 = load_weight4(weight[read + 2u * params.run]);
    let before = over(i, params.part);
    let tap = over(before, params.rows);
    let row = before - tap * params.rows;
    let made = 6u * group.y * params.size + (row * params.taps + tap) * params.part + i - before * params.part;
    let near = (w0 + 0.5625 * w2) / -1.8984375;
    let far = (w0 + 2.25 * w2) / 7.59375;
    y[made] = store4(w0 / 1.265625);
    y[made + params.size] = store4(near + w1 * (0.75 / -1.8984375));
    y[made + 2u * params.size] = store4(near - w1 * (0.75 / -1.8984375));
    y[made + 3u * params.size] = store4(far + w1 * (1.5 / 7.59375));
    y[made + 4u * params.size] = store4(far - w1 * (1.5 / 7.59375));
    y[made + 5u * params.size] = store4(w2);
}

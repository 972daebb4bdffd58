// winograd_inputs_rows: the six sums of winograd_transform_4.wgsl of a row's pixels,
// from column 4s+left on, for each group of four pixels of y
//
// The input transform for conv3d_winograd_rows.wgsl and
// conv3d_winograd_rows_columns.wgsl.
//
//   x  [H, W, C]           elem  read        from x_at on
//   y  [6, H, W/4, all C]  f32   read_write  from y_at on, of all the frames of temporal taps; aliases nothing
//
// Offsets, all and stride count vec4s. Pixels outside of a row are zero. One invocation
// makes a vec4 of each sum. Reference: that of conv3d_winograd_rows.wgsl. Grid: (fours
// of a row x C_in4 / WG, rows, 1). WG is in kernels.go.

#import tile
#import elem
#import processors/winograd_transform_4

struct Params {
    first: vec4<u32>,
    W_in: u32,
    W: u32, // fours of a row
    C_in4: u32,
    left: i32,
    x_at: u32,
    y_at: u32,
    all: u32, // channels of y
    stride: u32, // between sums
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

fn pixel(line: u32, s: i32) -> vec4<f32> {
    let s_in = clamp(s, 0, i32(params.W_in) - 1);
    return select(vec4<f32>(), load4(x[line + u32(s_in) * params.C_in4]), s == s_in);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.W * params.C_in4 { return; }
    let four = u32((f32(i) + 0.5) / f32(params.C_in4)); // processors divide integers one by one; exact below 4 million
    let c = i - four * params.C_in4;
    let line = params.x_at + group.y * params.W_in * params.C_in4 + c;
    let s = i32(4u * four) + params.left;
    let sums = six(pixel(line, s), pixel(line, s + 1), pixel(line, s + 2), pixel(line, s + 3), pixel(line, s + 4), pixel(line, s + 5));
    let at = params.y_at + (group.y * params.W + four) * params.all + c;
    for (var k = 0u; k < 6u; k++) {
        y[k * params.stride + at] = sums[k];
    }
}

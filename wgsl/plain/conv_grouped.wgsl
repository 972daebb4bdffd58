// conv_grouped: y[f,r,s,o] = bias[o] + sum_{i,j,c} weight[o,c,i,j] * x[f, r+i+top, s+j+left, G*(o/G) + c]  (+ y[f,r,s,o])
//
// A 3x3 convolution of stride 1 in groups: each output reads the inputs of its group of
// G = 4*group4 channels; inputs and outputs have equally many. Pixels outside of x are
// zero: top and left are -1 for a whole frame.
//
//   x       [frames, H_in, W_in, C_in]  elem    read        from x_at on
//   weight  [C_out/BLOCK, 3, G/4, 3, 4, BLOCK]  weight  read   as conv3d has it, of one temporal tap
//   bias    [C_out/BLOCK * BLOCK]       f32     read
//   y       [frames, H, W, C_out]       elem    read_write  from y_at on; aliases nothing; with
//                                                           ACCUMULATE it holds the residual
//
// Offsets and strides count vec4s. One invocation makes PIXELS pixels of a row in BLOCK
// output channels of one group, like conv3d. Sums are f32. Reference:
// ref/conv_grouped.go. Grid: (segments of rows / across, C_out/BLOCK / (WG/across),
// frames). WG, PIXELS and BLOCK are in kernels.go.

#import tile
#import elem
#import rows

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    H: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    group4: u32,
    top: i32,
    left: i32,
    x_at: u32,
    x_stride: u32,
    weight_stride: u32,
    y_at: u32,
    y_stride: u32,
    segments: u32,
    across: u32,
}

const BIASES: u32 = 1;
const SCALE: u32 = 1;

override ACCUMULATE: bool = false;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read> weight: array<weight4>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> y: array<elem4>;

fn place(f: u32, pixel: u32, o: u32) -> u32 {
    return f * params.y_stride + pixel * params.C_out4 + o;
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    if mine.segment >= params.segments || WIDE * mine.block >= params.C_out4 { return; }
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = mine.segment / per_row;
    let s = (mine.segment % per_row) * PIXELS;
    let f = group.z;

    var sums = Sums();
    start(&sums, mine.block);
    var column = columns(i32(s) + params.left);
    var row = Row();
    let weights = mine.block * params.weight_stride;
    let c0 = mine.block * WIDE / params.group4 * params.group4; // first channel of the group
    for (var i = 0u; i < 3u; i++) {
        let r_in = i32(r + i) + params.top;
        if r_in < 0 || r_in >= i32(params.H_in) { continue; }
        let line = params.x_at + f * params.x_stride + u32(r_in) * params.W_in * params.C_in4 + c0;
        for (var c = 0u; c < params.group4; c++) {
#unroll q INPUTS
            row[{q}] = select(vec4<f32>(), load4(x[line + column.at[{q}] + c]), column.inside[{q}]);
#end
            multiply(&sums, &row, weights + (i * params.group4 + c) * 3u * MATRIX);
        }
    }
    store(&sums, f, r * params.W + s, (r + 1u) * params.W, mine.block);
}

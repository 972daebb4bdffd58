// conv3d: y[f,r,s,o] = bias[o] + sum_{k,i,j,c} weight[o,c,k,i,j] * x_k[f, STRIDE*r+i+top, STRIDE*s+j+left, c]  (+ y[f,r,s,o])
//
// A causal 3x3xKT convolution of stride STRIDE, 1 or 2. Time is bound, not indexed: x0,
// x1, x2 are the frames for the taps of the first output frame (causal memory, a
// repeated first frame or earlier frames of the clip); for output frame f, each reads f
// frames later. Pixels outside of x are zero. top and left are -1 for a frame padded by
// one pixel; for a part y of the output they give its position. With a stride of 2 they
// are 0, which pads by one pixel on the right and at the bottom. With SCALE = 2 the
// input is x enlarged by nearest neighbour, which is never stored.
//
//   x0 x1 x2  [frames, H_in, W_in, C_in]  elem    read        from x0_at, x1_at, x2_at on
//   weight    [C_out/BLOCK, taps, 3, C_in/4, 3, 4, BLOCK]  weight  read        ends: block, tap, row, input, column, input, output
//   bias      [C_out/BLOCK * BLOCK]       f32     read
//   y         [frames, H, W, C_out]       elem    read_write  from y_at on; aliases nothing; with
//                                                             ACCUMULATE it holds the residual
//
// Offsets *_at, x_stride and y_stride (between frames) and weight_stride (between
// blocks) count vec4s. KT = 1 reads only x0, KT = 2 reads x0 and x1; weight_at is the
// first of these taps. One invocation makes PIXELS pixels of a row in BLOCK output
// channels and keeps the input pixels under them in registers for the row's 3 taps.
// Sums are f32. Reference: ref/conv3d.go. A workgroup is `across` invocations wide and
// WG/across blocks of channels deep, so that a few pixels fill it, too. WG, PIXELS and
// BLOCK are in kernels.go. Grid: (segments of rows / across, C_out/BLOCK / (WG/across),
// frames).

#import tile
#import elem
#import conv3d_params
#import rows

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight4>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

// under{k} loads four channels of the pixels under a row of taps, for temporal tap {k}.
#unroll k 3
fn under{k}(row: ptr<function, Row>, column: ptr<function, Columns>, at: u32) {
#unroll q INPUTS
    (*row)[{q}] = select(vec4<f32>(), load4(x{k}[params.x{k}_at + at + (*column).at[{q}]]), (*column).inside[{q}]);
#end
}
#end

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
    var column = columns(i32(STRIDE * s) + params.left);
    var row = Row();
    let size = 3u * params.C_in4 * 3u * MATRIX; // weights of one temporal tap
    let weights = params.weight_at + mine.block * params.weight_stride;
    for (var i = 0u; i < 3u; i++) {
        let r_in = i32(STRIDE * r + i) + params.top;
        if r_in < 0 || r_in >= i32(SCALE * params.H_in) { continue; }
        let line = f * params.x_stride + u32(r_in) / SCALE * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = weights + (i * params.C_in4 + c) * 3u * MATRIX;
#unroll k 3
            if KT > {k}u {
                under{k}(&row, &column, line + c);
                multiply(&sums, &row, w + {k}u * size);
            }
#end
        }
    }
    store(&sums, f, r * params.W + s, (r + 1u) * params.W, mine.block);
}

// conv_up: an enlarging convolution folded with the layer before it: y is twice as high
// and wide as x, and
// y[f*Z+z, r, s, o] = bias[z,p,o] + sum_{i,j inside x} cell[z,p,i,j,o]
//                   + sum_{k,i,j,c} weight[z,p,o,c,k,i,j] * x_k[f, cell row + i, cell column + j, c]
//
// p is the parity of the pixel, 2*(R%2) + S%2 at row R = r + top and column S = s +
// left of the enlarged frame; y is a part of that frame. The pixel reads 2x2 cells of
// x, from row floor((R-1)/2) and column floor((S-1)/2) on. Cells outside of x are zero,
// and so is their `cell`, the bias of the folded layer. Z phases of time, each with
// separate weights, read the same frames, bound as in conv3d.wgsl.
//
//   x0 x1 x2  [frames, H_in, W_in, C_in]  elem    read        from x0_at, x1_at, x2_at on
//   weight    [Z, 4, C_out/BLOCK, taps, 2, C_in/4, 2, 4, BLOCK]  weight  read
//   bias      [Z, 4, C_out/BLOCK, 5, BLOCK]  f32  read        bias, then that of the four cells
//   y         [frames * Z, H, W, C_out]   elem    read_write  from y_at on; aliases nothing; with
//                                                             ACCUMULATE added to, without a bias
//
// Offsets *_at and strides count vec4s. KT = 1 reads only x0, KT = 2 reads x0 and x1;
// weight_at is the first of these taps. One invocation makes PIXELS pixels of one
// parity, every other one of a row, in BLOCK output channels; a block belongs to one
// phase and parity. Sums are f32. Reference: ref/conv_up.go. A workgroup is `across`
// segments of rows by WG/across blocks. WG, PIXELS and BLOCK are in kernels.go. Grid:
// (segments / across, blocks / (WG/across), frames).

#import tile
#import elem
#import conv_up_params
#import conv_up_parity
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
    let to = spot(mine.segment, mine.block);
    if mine.segment >= params.segments || to.phase >= 4u * params.Z || to.r >= params.H || to.pixel >= to.end { return; }
    let f = group.z;

    var column = columns(to.column);
    var sums = Sums();
    if !ACCUMULATE {
        start(&sums, to.block);
        add_cells(&sums, &column, to);
    }
    var row = Row();
    let size = 2u * params.C_in4 * 2u * MATRIX; // weights of one temporal tap
    let weights = params.weight_at + to.block * params.weight_stride;
    for (var i = 0u; i < 2u; i++) {
        let r_in = to.row + i32(i);
        if r_in < 0 || r_in >= i32(params.H_in) { continue; }
        let line = f * params.x_stride + u32(r_in) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = weights + (i * params.C_in4 + c) * 2u * MATRIX;
#unroll k 3
            if KT > {k}u {
                under{k}(&row, &column, line + c);
                multiply(&sums, &row, w + {k}u * size);
            }
#end
        }
    }
    let at = (f * params.Z + to.phase / 4u) * params.y_stride + (to.r * params.W + to.s0) * params.C_out4;
    store(&sums, at, to.pixel, to.end, to.block % params.blocks);
}

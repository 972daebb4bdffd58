// conv3d_winograd_rows: y[r,4s+n,o] = bias[o] + sum_k A[n,k] * sum_{i,c} G[o,c,k,i] * x[k, r+i+top, s, c]  (+ y[r,4s+n,o])
//
// The convolution of conv3d.wgsl for one frame, four pixels of a row at once, by
// Winograd's F(4,3) along the row: six products instead of twelve. c counts the
// channels of all temporal taps, one tap after the other. A is in Params.
//
//   x0        [6, H_in, W/4, C_in]   f32     read        sums of pixels, of winograd_inputs_rows.wgsl
//   weight    [C_out/BLOCK, 6, 3, C_in/4, 4, BLOCK]  weight  read  of winograd_weights_4.wgsl: block, product, row, input, input, output
//   bias      [C_out/BLOCK * BLOCK]  f32     read
//   y         [H, W, C_out]          elem    read_write  from y_at on; aliases nothing; with
//                                                        ACCUMULATE it holds the residual
//
// Offset y_at, x_stride (between sums) and weight_stride (between blocks) count vec4s.
// Pixels outside of x are zero. One invocation makes PIXELS rows of four pixels in
// BLOCKS blocks of BLOCK output channels. Sums are f32. Reference: ref/conv3d.go. WG,
// PIXELS, BLOCK and BLOCKS are in kernels.go. Grid: (columns, in rows padded to a
// multiple of 8, / across, C_out/BLOCK/BLOCKS / (WG/across), 1).

#import tile
#import elem
#import weight
#import processors/winograd_params
#import processors/weights_subgroup8
#import processors/multiply_loops
#import processors/winograd_outputs_loops
#import processors/products
#import processors/rows
#import processors/accumulate

// pixel returns four channels of a pixel of x.
fn pixel(at: u32, r: i32) -> vec4<f32> {
    let r_at = clamp(r, 0, i32(params.H_in) - 1);
    return select(vec4<f32>(), x0[at + u32(r_at) * params.W_in * params.C_in4], r == r_at);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    ready();
    let segment = min(mine.segment, params.segments - 1u);
    let per_row = (params.W_in + 7u) & ~7u;
    let r = PIXELS * (segment / per_row);
    let four = segment % per_row;
    s = 4u * four;
    let top = i32(r) + params.top;
    let column = min(four, params.W_in - 1u) * params.C_in4;

    let weights = mine.block * params.weight_stride;
    var made = Made();
    begin(&made, mine.block);
    for (var k = 0u; k < params.products; k++) {
        var sums = Sums();
        for (var c = 0u; c < params.C_in4; c++) {
            let at = k * params.x_stride + column + c;
            var row = array<vec4<f32>, INPUTS>();
            for (var q = 0; q < i32(INPUTS); q++) { // not unrolled, because a load is a kilobyte of code
                for (var p = 1u; p < INPUTS; p++) {
                    row[p - 1u] = row[p];
                }
                row[INPUTS - 1u] = pixel(at, top + q);
            }
            for (var i = 0u; i < 3u; i++) {
                let w = weights + ((k * 3u + i) * params.C_in4 + c) * MATRIX;
#unroll b BLOCKS
                {
                    let m = matrix(w + {b}u * params.weight_stride);
#unroll p PIXELS
                    add(&sums, {b}u * PIXELS + {p}u, row[{p}], m);
#end
                }
#end
                for (var q = 1u; q < INPUTS; q++) {
                    row[q - 1u] = row[q];
                }
            }
        }
        give(&made, k, &sums);
    }
    if mine.segment < params.segments && WIDE * mine.block < params.C_out4 && s < params.W {
        finish(&made, min(params.frames, params.W - s), r, params.H, mine.block);
    }
}

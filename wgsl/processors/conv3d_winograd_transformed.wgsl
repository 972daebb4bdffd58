// conv3d_winograd_transformed: y[n,r,s,o] = bias[o] + sum_k A[n,k] * sum_{i,j,c} G[o,c,k,i,j] * x[k, r+i+top, s+j+left, c]  (+ y[n,r,s,o])
//
// The two frames of conv3d_winograd.wgsl, by F(2,3), from sums of frames by
// winograd_inputs.wgsl, or four frames, by F(4,3), from sums by winograd_inputs_4.wgsl.
// One loop computes all four or six products and reads each sum once; it is as fast as
// the loop of one temporal tap, and compiles as quickly. A is in Params.
//
//   x0        [products, H_in, W_in, C_in]  f32     read
//   weight    [C_out/BLOCK, products, 3, C_in/4, 3, 4, BLOCK]  weight  read  of winograd_weights.wgsl or winograd_weights_4.wgsl; ends: block, tap, row, input, column, input, output
//   bias      [C_out/BLOCK * BLOCK]         f32     read
//   y         [frames, H, W, C_out]         elem    read_write  from y_at on; aliases nothing; with
//                                                               ACCUMULATE it holds the residual
//
// Offset y_at, x_stride (between sums), y_stride (between frames) and weight_stride
// (between blocks) count vec4s. Pixels outside of x are zero. One invocation makes
// PIXELS pixels of a column in BLOCKS blocks of BLOCK output channels of all frames.
// The eight invocations of a subgroup have adjacent columns, so each gets the pixels
// left and right of these from the others. Sums are f32. Reference: ref/conv3d.go.
// WG, PIXELS, BLOCK and BLOCKS are in kernels.go. Shuffles assume that a lane is the
// number of the invocation among its eight, as the seats of segmentGrid ensure. Grid:
// (columns, in rows padded to a multiple of 8, / across, C_out/BLOCK/BLOCKS /
// (WG/across), 1).

#import tile
#import elem
#import weight
#import processors/winograd_params
#import processors/weights_subgroup8
#import processors/multiply_loops
#import processors/winograd_outputs_unrolled
#import processors/products
#import processors/rows
#import processors/accumulate

// Near is what an invocation loads: its own column, the pixels left and right of the
// subgroup in the row with its lane's number, and one such pixel of a row beyond the
// eighth.
alias Near = array<vec4<f32>, INPUTS + 3u>;

// end returns the pixel left (tap 0) or right (tap 2) of the subgroup's in row q.
fn end(near: ptr<function, Near>, q: u32, tap: u32) -> vec4<f32> {
    if q < 8u { return subgroupShuffle(select((*near)[INPUTS + 1u], (*near)[INPUTS + 2u], tap == 2u), q); }
    return subgroupShuffle((*near)[0], q - 8u + tap);
}

// pixel returns four channels of a pixel of x.
fn pixel(at: u32, r: i32, column: i32) -> vec4<f32> {
    let r_at = clamp(r, 0, i32(params.H_in) - 1);
    let at_column = clamp(column, 0, i32(params.W_in) - 1);
    let inside = r == r_at && column == at_column;
    return select(vec4<f32>(), x0[at + (u32(r_at) * params.W_in + u32(at_column)) * params.C_in4], inside);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    ready();
    let segment = min(mine.segment, params.segments - 1u);
    let per_row = (params.W + 7u) & ~7u;
    let r = PIXELS * (segment / per_row);
    s = segment % per_row;
    let top = i32(r) + params.top;
    let left = i32(s & ~7u) + params.left;
    let own = i32(s) + params.left + 1;

    let weights = mine.block * params.weight_stride;
    var made = Made();
    begin(&made, mine.block);
    for (var k = 0u; k < params.products; k++) {
        var sums = Sums();
        for (var c = 0u; c < params.C_in4; c++) {
            let at = k * params.x_stride + c;
            var near = Near();
            for (var q = params.start; q < i32(INPUTS) + 2; q++) { // not unrolled, because a load is a kilobyte of code
                for (var p = 1u; p < INPUTS + 3u; p++) {
                    near[p - 1u] = near[p];
                }
                var r_in = q;
                var column = own;
                if q < 0 {
                    r_in = i32(8u + lane % 2u);
                    column = select(left, left + 9, lane % 4u > 1u);
                } else if q >= i32(INPUTS) {
                    r_in = i32(lane);
                    column = select(left, left + 9, q > i32(INPUTS));
                }
                near[INPUTS + 2u] = pixel(at, top + r_in, column);
            }
            for (var j = 0u; j < TAPS; j++) {
                let ends = lane == select(select(8u, 0u, j == 0u), 7u, j == 2u);
                var row = Row();
#unroll q INPUTS
                row[{q}] = select(subgroupShuffle(near[{q} + 1], (lane + j + 7u) & 7u), end(&near, {q}u, j), ends);
#end
                for (var i = 0u; i < TAPS; i++) {
                    let w = weights + (((k * TAPS + i) * params.C_in4 + c) * TAPS + j) * MATRIX;
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
        }
        give(&made, k, &sums);
    }
    if mine.segment < params.segments && WIDE * mine.block < params.C_out4 && s < params.W {
        finish(&made, params.frames, r, params.H, mine.block);
    }
}

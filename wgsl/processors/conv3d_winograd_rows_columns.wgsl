// conv3d_winograd_rows_columns: conv3d_winograd_rows.wgsl for CPU drivers whose compiler detects subgroup-uniform addresses
//
// Bindings and Params are those of conv3d_winograd_rows.wgsl. As in columns.wgsl, a sum
// takes the products of all three rows and four input channels at once.
//
// Sums are f32. Reference: ref/conv3d.go. Grid: (C_out/BLOCK/BLOCKS, columns, in rows
// padded to a multiple of 8, / WG, 1).

#import tile
#import elem
#import weight
#import processors/winograd_params
#import processors/weights_invocation
#import processors/winograd_outputs_loops
#import processors/products
#import processors/fused
#import processors/accumulate

// find returns the offset of the sums of a row's four pixels, or NOWHERE.
fn find(r: i32, four: u32) -> u32 {
    let r_in = clamp(r, 0, i32(params.H_in) - 1);
    return select(NOWHERE, (u32(r_in) * params.W_in + min(four, params.W_in - 1u)) * params.C_in4, r == r_in);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) own: u32) {
    let group = workgroup + params.first.xyz;
    let block = BLOCKS * group.x;
    let per_row = (params.W_in + 7u) & ~7u;
    let r = PIXELS * (group.y * WG / per_row);
    let four = group.y * WG % per_row + own;
    s = 4u * four;
    let top = i32(r) + params.top;
    var at = array<u32, INPUTS>();
#unroll q INPUTS
    at[{q}] = find(top + {q}, four);
#end
    let size = params.C_in4 * MATRIX; // weights of a row
    var made = Made();
    begin(&made, block);
    for (var k = 0u; k < params.products; k++) {
        var sums = Sums();
        let weights = block * params.weight_stride + k * TAPS * size;
        for (var c = 0u; c < params.C_in4; c++) {
            var row = array<vec4<f32>, INPUTS>();
#unroll q INPUTS
            row[{q}] = select(x0[k * params.x_stride + c + at[{q}]], vec4<f32>(), at[{q}] == NOWHERE);
#end
#unroll b BLOCKS
            {
                let w = weights + {b}u * params.weight_stride + c * MATRIX;
#unroll j TAPS
                let m{j} = matrix(w + {j}u * size);
#end
#unroll p PIXELS
#unroll h WIDE
                {
                    var sum = sums[({b}u * PIXELS + {p}u) * WIDE + {h}u];
#unroll j TAPS
                    sum = fused(sum, row[{p}u + {j}u], m{j}.a{h}, m{j}.b{h}, m{j}.c{h}, m{j}.d{h});
#end
                    sums[({b}u * PIXELS + {p}u) * WIDE + {h}u] = sum;
                }
#end
#end
            }
#end
        }
        give(&made, k, &sums);
    }
    if s < params.W {
        finish(&made, min(params.frames, params.W - s), r, params.H, block);
    }
}

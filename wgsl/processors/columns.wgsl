// Columns of PIXELS pixels, and their products with TAPS rows and columns of taps in
// BLOCKS blocks of BLOCK output channels; pixels are STRIDE apart in x. The invocations
// of a subgroup of eight, which is a workgroup, have adjacent columns, so each gets the
// pixels left and right of these from the others. A sum takes the fused products of
// all rows of taps and four input channels at once: sums are in memory, and in a loop
// each is written through a mask.
//
// The kernel declares params, SOURCES inputs x0 and so on, four(), which converts their
// elements, and SCALE, the factor by which x is enlarged by nearest neighbour. WG,
// PIXELS, BLOCK and BLOCKS are in kernels.go. Shuffles assume that a lane is the number
// of the invocation.

enable subgroups;
diagnostic(off, subgroup_uniformity); // loops are subgroup-uniform, which the text doesn't show

#import processors/products
#import processors/fused
#import processors/accumulate

const LEFT: u32 = TAPS - 1u - STRIDE;              // pixels that taps reach to the left; to the right it is one
const SIDES: u32 = LEFT + 1u;                      // pixels beside a row of the subgroup
const OWN: u32 = STRIDE * INPUTS;                  // pixels under it that belong to no other column
const ENDS: u32 = (SIDES * INPUTS + 7u) / 8u;      // loads of the pixels beside the subgroup
const_assert WG == 8u && (TAPS == STRIDE + 1u || TAPS == STRIDE + 2u) && TAPS <= 3u;

// Near is what an invocation loads: its own pixels, STRIDE per row, and for each 8 /
// SIDES rows one pixel beside the subgroup's.
alias Near = array<vec4<f32>, OWN + ENDS>;

// Places are the offsets of these pixels in a frame.
alias Places = array<u32, OWN + ENDS>;

// column returns the first row and column of a subgroup; the output is `width` pixels
// wide.
fn column(group: u32, width: u32) -> vec2<u32> {
    let per_row = (width + 7u) & ~7u;
    return vec2<u32>(PIXELS * (group * WG / per_row), group * WG % per_row);
}

// find returns the offset of a pixel, or NOWHERE.
fn find(r: i32, s: i32) -> u32 {
    let r_in = clamp(r, 0, i32(SCALE * params.H_in) - 1);
    let s_in = clamp(s, 0, i32(SCALE * params.W_in) - 1);
    return select(NOWHERE, (u32(r_in) / SCALE * params.W_in + u32(s_in) / SCALE) * params.C_in4, r == r_in && s == s_in);
}

// places returns the offsets for rows from `top` on; the subgroup's first column reads
// from `left` on.
fn places(top: i32, left: i32, own: u32) -> Places {
    var all = Places();
#unroll q INPUTS
    all[STRIDE * {q}u] = find(top + {q}, left + i32(STRIDE * own + LEFT));
    if STRIDE == 2u { all[STRIDE * {q}u + STRIDE - 1u] = find(top + {q}, left + i32(STRIDE * own + 1u)); }
#end
    for (var e = 0u; e < ENDS; e++) {
        let side = 8u * e + own;
        all[OWN + e] = find(top + i32(side / SIDES), left + select(0, i32(8u * STRIDE + LEFT), side % SIDES == LEFT));
    }
    return all;
}

// beside returns row q's pixel under tap j.
fn beside(near: ptr<function, Near>, q: u32, j: u32, own: u32) -> vec4<f32> {
    let end = subgroupShuffle((*near)[OWN + SIDES * q / 8u], SIDES * q % 8u + select(0u, LEFT, j == 2u));
    let ends = own == select(select(8u, 0u, LEFT == 1u && j == 0u), 7u, j == TAPS - 1u);
    let first = select(subgroupShuffle((*near)[STRIDE * q], (own + j / STRIDE + 8u - LEFT) % 8u), end, ends);
    return select(first, (*near)[STRIDE * q + STRIDE - 1u], STRIDE == 2u && j == 1u);
}

// sweep{k} adds the products of x{k}, of a frame from `line` on, with the weights of a
// temporal tap; `weights` is the offset for the first block.
#unroll k SOURCES
fn sweep{k}(sums: ptr<function, Sums>, all: Places, line: u32, weights: u32, own: u32) {
    let size = params.C_in4 * TAPS * MATRIX; // weights of a row of taps
    for (var c = 0u; c < params.C_in4; c++) {
        var near = Near();
#unroll q INPUTS
        near[STRIDE * {q}u] = select(four(x{k}[line + c + all[STRIDE * {q}u]]), vec4<f32>(), all[STRIDE * {q}u] == NOWHERE);
        if STRIDE == 2u { near[STRIDE * {q}u + STRIDE - 1u] = select(four(x{k}[line + c + all[STRIDE * {q}u + STRIDE - 1u]]), vec4<f32>(), all[STRIDE * {q}u + STRIDE - 1u] == NOWHERE); }
#end
        for (var e = OWN; e < OWN + ENDS; e++) {
            near[e] = select(four(x{k}[line + c + all[e]]), vec4<f32>(), all[e] == NOWHERE);
        }
        for (var j = 0u; j < TAPS; j++) {
            var row = array<vec4<f32>, INPUTS>();
#unroll q INPUTS
            row[{q}] = beside(&near, {q}u, j, own);
#end
#unroll b BLOCKS
            {
                let w = weights + {b}u * params.weight_stride + (c * TAPS + j) * MATRIX;
#unroll j TAPS
                let m{j} = matrix(w + {j}u * size);
#end
#unroll p PIXELS
#unroll h WIDE
                {
                    var sum = (*sums)[({b}u * PIXELS + {p}u) * WIDE + {h}u];
#unroll j TAPS
                    sum = fused(sum, row[{p}u * STRIDE + {j}u], m{j}.a{h}, m{j}.b{h}, m{j}.c{h}, m{j}.d{h});
#end
                    (*sums)[({b}u * PIXELS + {p}u) * WIDE + {h}u] = sum;
                }
#end
#end
            }
#end
        }
    }
}
#end

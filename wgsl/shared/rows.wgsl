// Rows of x under taps that lie side by side, and their products. The kernel
// declares params and SCALE, how often x is read as if enlarged by nearest neighbour.
// Where it is WRITTEN out, no loop indexes what registers hold: SwiftShader takes an
// array whose index is no constant for memory, and each of its invocations by itself.

const INPUTS: u32 = (PIXELS - 1u) * STRIDE + TAPS; // pixels under a row's taps

alias Row = array<vec4<f32>, INPUTS>; // of these pixels, four channels

// Columns are their offsets, clamped into the row, and whether they are inside of it.
struct Columns {
    at: array<u32, INPUTS>,
    inside: array<bool, INPUTS>,
}

fn columns(first: i32) -> Columns {
    var all = Columns();
    var s = first;
    var clamped = 0;
#each q
    clamped = clamp(s, 0, i32(SCALE * params.W_in) - 1);
    all.at[{q}] = u32(clamped) / SCALE * params.C_in4;
    all.inside[{q}] = s == clamped;
    s++;
#end
    return all;
}

// multiply adds the products of a row with its taps. For many sums that is a loop
// which moves the row along: its code fits a processor's cache of instructions.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, at: u32) {
    if WRITTEN {
        var m = Matrix();
#each j
        m = matrix(at + {j}u * MATRIX);
#each p
        add{p}(sums, (*row)[STRIDE * {p}u + {j}u], m);
#end
#end
        return;
    }
    if BLOCKS == 1u {
        for (var j = 0u; j < TAPS; j++) {
            let m = matrix(at + j * MATRIX);
            for (var p = 0u; p < PIXELS; p++) {
                add(sums, p, (*row)[STRIDE * p + j], m);
            }
        }
        return;
    }
    for (var j = 0u; j < TAPS; j++) {
        for (var b = 0u; b < BLOCKS; b++) {
            let m = matrix(at + j * MATRIX + b * params.weight_stride);
            for (var p = 0u; p < PIXELS; p++) {
                add(sums, b * PIXELS + p, (*row)[STRIDE * p], m);
            }
        }
        for (var q = 1u; q < INPUTS; q++) {
            (*row)[q - 1u] = (*row)[q];
        }
    }
}

// Rows of x under taps that lie side by side, and their products. The kernel
// declares params and SCALE, how often x is read as if enlarged by nearest neighbour.

const INPUTS: u32 = (PIXELS - 1u) * STRIDE + TAPS; // pixels under a row's taps

// Columns are their offsets, clamped into the row, and whether they are inside of it.
struct Columns {
    first: i32,
    at: array<u32, INPUTS>,
    inside: array<bool, INPUTS>,
}

fn columns(first: i32) -> Columns {
    var all = Columns();
    all.first = first;
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

#import multiply

// The pixels under TAPS adjacent taps in a row of x. The kernel declares params and
// SCALE, the factor by which x is enlarged by nearest neighbour.

// Columns are the pixels' offsets, clamped into the row, and whether they are inside of it.
struct Columns {
    at: array<u32, INPUTS>,
    inside: array<bool, INPUTS>,
}

// columns returns those under a segment whose first tap reads column `first`.
fn columns(first: i32) -> Columns {
    var all = Columns();
    var s = first;
    var clamped = 0;
#unroll q INPUTS
    clamped = clamp(s, 0, i32(SCALE * params.W_in) - 1);
    all.at[{q}] = u32(clamped) / SCALE * params.C_in4;
    all.inside[{q}] = s == clamped;
    s++;
#end
    return all;
}

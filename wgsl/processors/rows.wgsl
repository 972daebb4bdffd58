// Rows of x under adjacent taps, and their products. The kernel declares params and
// SCALE, the factor by which x is enlarged by nearest neighbour, and imports
// processors/multiply_*.wgsl.

// Columns are the columns' offsets, clamped into the row, and whether they are inside
// of it.
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
#unroll q INPUTS
    clamped = clamp(s, 0, i32(SCALE * params.W_in) - 1);
    all.at[{q}] = u32(clamped) / SCALE * params.C_in4;
    all.inside[{q}] = s == clamped;
    s++;
#end
    return all;
}

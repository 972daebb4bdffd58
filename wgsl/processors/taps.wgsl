// The products of up to three temporal taps. The kernel binds x0, x1 and x2, declares
// params and KT, and imports processors/load_row_*.wgsl and what rows.wgsl needs.

#import processors/products
#import processors/accumulate
#import processors/rows

const APART: bool = BLOCKS > 1u; // one temporal tap after the other, in loops that fit the instruction cache

// tap{k} adds the products of temporal tap k in a row of x.
#unroll k 3
fn tap{k}(sums: ptr<function, Sums>, under: ptr<function, Row>, column: ptr<function, Columns>, at: u32, here: bool, w: u32) {
    under{k}(under, column, at, here);
    multiply(sums, under, w);
}
#end

// sweep{k} adds the products of tap k, or of all taps, for a block, from a row of x on.
#unroll k 3
fn sweep{k}(sums: ptr<function, Sums>, column: ptr<function, Columns>, row: i32, f: u32, block: u32) {
    let size = TAPS * params.C_in4 * TAPS * MATRIX; // weights of one temporal tap
    var under = Row();
    hold(&under);
    let weights = params.weight_at + block * params.weight_stride + {k}u * size;
    for (var i = 0u; i < TAPS; i++) {
        let r_in = row + i32(i);
        let r = clamp(r_in, 0, i32(SCALE * params.H_in) - 1);
        if !TOGETHER && r_in != r { continue; }
        let here = !TOGETHER || r_in == r;
        let line = f * params.x_stride + u32(r) / SCALE * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            let w = weights + (i * params.C_in4 + c) * TAPS * MATRIX;
            tap{k}(sums, &under, column, line + c, here, w);
            if !APART && KT > 1u { tap1(sums, &under, column, line + c, here, w + size); }
            if !APART && KT > 2u { tap2(sums, &under, column, line + c, here, w + 2u * size); }
        }
    }
}
#end

// taps adds the products of all temporal taps.
fn taps(sums: ptr<function, Sums>, column: ptr<function, Columns>, row: i32, f: u32, block: u32) {
    sweep0(sums, column, row, f, block);
    if APART && KT > 1u { sweep1(sums, column, row, f, block); }
    if APART && KT > 2u { sweep2(sums, column, row, f, block); }
}

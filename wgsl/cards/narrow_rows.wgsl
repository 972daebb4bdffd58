// Products of rows of x with the TAPS x TAPS taps over them. The kernel declares
// params, SCALE and the bindings.

#import cards/narrow
#import row_window

alias Row = array<elem4, INPUTS>; // of pixels under the taps, four channels

// multiply adds the products of a row with the matrices of its channels.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, d: u32) {
    var m = Matrix();
#unroll j TAPS
    m = matrices[d][{j}];
#unroll p PIXELS
    add(sums, {p}u, load4((*row)[STRIDE * {p}u + {j}u]), m);
#end
#end
}

// tap{k} adds the products of temporal tap {k} from row `top` of x on, with matrices
// from `at` on. The taps have separate loops, because with three in one loop Intel's
// compiler loads so far ahead that it spills. Dawn counts the iterations of a loop
// unless its bound is constant.
#unroll k 3
fn tap{k}(sums: ptr<function, Sums>, column: ptr<function, Columns>, top: i32, f: u32, at: u32, local: u32) {
    var row = Row();
    for (var i = 0u; i < TAPS; i++) {
        let r = clamp(top + i32(i), 0, i32(SCALE * params.H_in) - 1);
        let here = top + i32(i) == r;
        let line = params.x{k}_at + f * params.x_stride + u32(r) / SCALE * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c += DEPTH) {
            workgroupBarrier();
            stage(at + (i * params.C_in4 + c) * TAPS, local);
            workgroupBarrier();
            for (var d = 0u; d < DEPTH; d++) {
                if c + d >= params.C_in4 { break; }
#unroll q INPUTS
                row[{q}] = select(elem4(), x{k}[line + c + d + (*column).at[{q}]], here && (*column).inside[{q}]);
#end
                multiply(sums, &row, d);
            }
        }
    }
}
#end

// taps adds the products of all temporal taps for a block.
fn taps(sums: ptr<function, Sums>, column: ptr<function, Columns>, top: i32, f: u32, block: u32, local: u32) {
    let at = (params.weight_at + block * params.weight_stride) / 8u;
#unroll k 3
    if KT > {k}u { tap{k}(sums, column, top, f, at + {k}u * TAPS * TAPS * params.C_in4, local); }
#end
}

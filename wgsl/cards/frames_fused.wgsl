// frames() of winograd.wgsl with all four products in one pass, which reads each frame
// once.

// frames computes the two frames of a pair. Both start with `sums`.
fn frames(sums: ptr<function, Sums>, odd: ptr<function, Sums>, part: ptr<function, Part>) {
    *odd = *sums;      // less m3
    var m1 = Sums();
    var m2 = Sums();
    let tap = TAPS * params.C_in4 * TAPS * MATRIX; // weights of one of G0..G3
    for (var i = 0u; i < TAPS; i++) {
        let r_in = (*part).row + i32(i);
        let r = clamp(r_in, 0, i32(params.H_in) - 1);
        if r_in != r { continue; }
        let line = (*part).frame + u32(r) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            var a = Row();
            var b = Row();
            var d = Row();
            var e = Row();
#unroll q INPUTS
            if (*part).column.inside[{q}] {
                let at = line + (*part).column.at[{q}] + c;
                let d1 = load4(x1[params.x1_at + at]);
                let d2 = load4(x2[params.x2_at + at]);
                a[{q}] = load4(x0[params.x0_at + at]) - d2;
                b[{q}] = d1 + d2;
                d[{q}] = d2 - d1;
                e[{q}] = load4(x3[params.x3_at + at]) - d1;
            }
#end
            let w = (*part).weights + (i * params.C_in4 + c) * TAPS * MATRIX;
            multiply(sums, &a, w);
            multiply(&m1, &b, w + tap);
            multiply(&m2, &d, w + 2u * tap);
            multiply(odd, &e, w + 3u * tap);
        }
    }
#loop n PIXELS*WIDE
    (*sums)[{n}] += m1[{n}] + m2[{n}];
    (*odd)[{n}] += m1[{n}] - m2[{n}];
#end
}

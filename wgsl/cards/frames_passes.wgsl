// frames() of winograd.wgsl with one product after the other: m1 and m2, which are
// combined to their sum and difference, then m0 and -m3, which are added. Half as many
// sums are live as in frames_fused.wgsl, and two frames are read twice.

// inner adds m1 to `even` and m2 to `odd`.
fn inner(even: ptr<function, Sums>, odd: ptr<function, Sums>, part: ptr<function, Part>) {
    let tap = TAPS * params.C_in4 * TAPS * MATRIX; // weights of one of G0..G3
    for (var i = 0u; i < TAPS; i++) {
        let r_in = (*part).row + i32(i);
        let r = clamp(r_in, 0, i32(params.H_in) - 1);
        if r_in != r { continue; }
        let line = (*part).frame + u32(r) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            var row = Row();
            var other = Row();
#unroll q INPUTS
            if (*part).column.inside[{q}] {
                let at = line + (*part).column.at[{q}] + c;
                let d1 = load4(x1[params.x1_at + at]);
                let d2 = load4(x2[params.x2_at + at]);
                row[{q}] = d1 + d2;
                other[{q}] = d2 - d1;
            }
#end
            let w = (*part).weights + (i * params.C_in4 + c) * TAPS * MATRIX;
            multiply(even, &row, w + tap);
            multiply(odd, &other, w + 2u * tap);
        }
    }
}

// outer adds m0, or for the last frame -m3.
fn outer(sums: ptr<function, Sums>, last: bool, part: ptr<function, Part>) {
    let tap = select(0u, 3u, last) * TAPS * params.C_in4 * TAPS * MATRIX;
    for (var i = 0u; i < TAPS; i++) {
        let r_in = (*part).row + i32(i);
        let r = clamp(r_in, 0, i32(params.H_in) - 1);
        if r_in != r { continue; }
        let line = (*part).frame + u32(r) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            var row = Row();
#unroll q INPUTS
            if (*part).column.inside[{q}] {
                let at = line + (*part).column.at[{q}] + c;
                if last {
                    row[{q}] = load4(x3[params.x3_at + at]) - load4(x1[params.x1_at + at]);
                } else {
                    row[{q}] = load4(x0[params.x0_at + at]) - load4(x2[params.x2_at + at]);
                }
            }
#end
            multiply(sums, &row, (*part).weights + tap + (i * params.C_in4 + c) * TAPS * MATRIX);
        }
    }
}

// frames computes the two frames of a pair. Both start with `sums`.
fn frames(sums: ptr<function, Sums>, odd: ptr<function, Sums>, part: ptr<function, Part>) {
    var even = Sums(); // m1
    *odd = Sums();     // m2
    inner(&even, odd, part);
#loop n PIXELS*WIDE
    let m1 = even[{n}] + (*sums)[{n}];
    (*sums)[{n}] = m1 + (*odd)[{n}];
    (*odd)[{n}] = m1 - (*odd)[{n}];
#end
    outer(sums, false, part);
    outer(odd, true, part);
}

// frames_fused.wgsl for multiply_unrolled.wgsl. One loop loads all pixels: SwiftShader
// needs 5,000 bytes of code to load a vec4, and the code for a row must stay in the
// processor's cache.

// frames computes the two frames of a pair. Both start with `sums`.
fn frames(sums: ptr<function, Sums>, odd: ptr<function, Sums>, part: ptr<function, Part>) {
    *odd = *sums;      // less m3
    var m1 = Sums();
    var m2 = Sums();
    var a = Row();
    var b = Row();
    var d = Row();
    var e = Row();
    hold(&a);
    let tap = TAPS * params.C_in4 * TAPS * MATRIX; // weights of one of G0..G3
    for (var i = 0u; i < TAPS; i++) {
        let r_in = (*part).row + i32(i);
        let r = clamp(r_in, 0, i32(params.H_in) - 1);
        let line = (*part).frame + u32(r) * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            for (var q = 0u; q < INPUTS; q++) {
                var d0 = vec4<f32>();
                var d1 = vec4<f32>();
                var d2 = vec4<f32>();
                var d3 = vec4<f32>();
                let s_in = (*part).column.first + i32(q);
                let s = clamp(s_in, 0, i32(params.W_in) - 1);
                if s_in == s && r_in == r {
                    let at = line + u32(s) * params.C_in4 + c;
                    d0 = load4(x0[params.x0_at + at]);
                    d1 = load4(x1[params.x1_at + at]);
                    d2 = load4(x2[params.x2_at + at]);
                    d3 = load4(x3[params.x3_at + at]);
                }
                a[q] = d0 - d2;
                b[q] = d1 + d2;
                d[q] = d2 - d1;
                e[q] = d3 - d1;
            }
            let w = (*part).weights + (i * params.C_in4 + c) * TAPS * MATRIX;
            multiply(sums, &a, w);
            multiply(&m1, &b, w + tap);
            multiply(&m2, &d, w + 2u * tap);
            multiply(odd, &e, w + 3u * tap);
        }
    }
    for (var n = 0u; n < BLOCKS * PIXELS * WIDE; n++) {
        (*sums)[n] += m1[n] + m2[n];
        (*odd)[n] += m1[n] - m2[n];
    }
}

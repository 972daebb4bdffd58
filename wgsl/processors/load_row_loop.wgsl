// load_row_unrolled.wgsl as a loop, for multiply_unrolled.wgsl: SwiftShader needs 5,000
// bytes of code to load a vec4, and the code for a row must stay in the processor's
// cache.

#unroll k 3
fn under{k}(row: ptr<function, Row>, column: ptr<function, Columns>, at: u32, here: bool) {
    for (var q = 0u; q < INPUTS; q++) {
        let s_in = (*column).first + i32(q);
        let s = clamp(s_in, 0, i32(SCALE * params.W_in) - 1);
        var x = vec4<f32>();
        if s == s_in && here { x = load4(x{k}[params.x{k}_at + at + u32(s) / SCALE * params.C_in4]); }
        (*row)[q] = x;
    }
}
#end

// multiply() for compilers that unroll loops.

alias Row = array<vec4<f32>, INPUTS>; // of pixels under a row's taps, four channels

// hold does nothing here; multiply_unrolled.wgsl needs it.
fn hold(row: ptr<function, Row>) {}

// multiply adds the products of a row with its taps. For many sums it uses a loop that
// shifts the row: its code fits the instruction cache.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, at: u32) {
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

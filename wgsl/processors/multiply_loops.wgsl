// multiply() of kernels whose compilers unroll loops.

alias Row = array<vec4<f32>, INPUTS>; // of pixels under a row's taps, four channels

// hold is for multiply_unrolled.wgsl.
fn hold(row: ptr<function, Row>) {}

// multiply adds the products of a row with its taps. For many sums that is a loop
// which moves the row along: its code fits a processor's cache of instructions.
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

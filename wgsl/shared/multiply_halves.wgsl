// multiply() of products of halves: those of a row of taps, in four input channels, are
// added up as halves.

alias Row = array<vec4<f16>, INPUTS>; // of pixels under a row's taps, four channels

// hold is for multiply_written.wgsl.
fn hold(row: ptr<function, Row>) {}

// multiply adds the products of a row with its taps.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, at: u32) {
    var parts = Parts();
    for (var j = 0u; j < TAPS; j++) {
        for (var i = 0u; i < 4u; i++) {
            let m = halves(weight[(at + j * MATRIX) / WIDE + i]);
            for (var p = 0u; p < PIXELS; p++) {
                add_halves(&parts, p, (*row)[STRIDE * p + j][i], m);
            }
        }
    }
    total(sums, &parts);
}

// Products of a row of x with the TAPS taps over it, summed as halves.

#import cards/f16
#import row_window

const MATRIX: u32 = 4u * WIDE; // vec4s of weights of four input channels and a block

alias Row = array<vec4<f16>, INPUTS>; // of pixels under the taps, four channels

// multiply adds the products with weights from `at` on.
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

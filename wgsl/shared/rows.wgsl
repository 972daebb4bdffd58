// Products of a row of x with the TAPS taps over it.

#import products
#import row_window

alias Row = array<vec4<f32>, INPUTS>; // of pixels under the taps, four channels

// multiply adds the products with weights from `at` on.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, at: u32) {
#loop j TAPS
    let m = matrix(at + {j} * MATRIX);
#loop p PIXELS
    add(sums, {p}, (*row)[STRIDE * {p} + {j}], m);
#end
#end
}
